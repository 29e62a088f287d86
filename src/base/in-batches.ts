// Reads a long list in bounded steps, each behind the last record of the one before, so that memory stays flat and
// other work comes between.

/** Where a step begins. */
export interface BatchRange {
  /** Records behind this one, in order of creation. */
  readonly after: number;
  readonly limit: number;
  readonly offset: number;
}

/** Resolves when what has come meanwhile has had its turn. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** All records of a page; `read` gives those of a step. */
export async function* inBatches<T extends { readonly key: number }>(
  read: (step: BatchRange) => Promise<readonly T[]>,
  page: { readonly limit?: number | undefined; readonly offset: number; readonly stepRows: number },
): AsyncGenerator<readonly T[]> {
  let left = page.limit ?? Number.POSITIVE_INFINITY;
  // Engines count rows in 64 bits; nothing is beyond that.
  let offset = Math.min(page.offset, Number.MAX_SAFE_INTEGER);
  let after = 0;
  while (left > 0) {
    const limit = Math.min(page.stepRows, left);
    const records = await read({ after, limit, offset });
    const last = records.at(-1);
    if (last === undefined) return;
    yield records;
    if (records.length < limit) return;
    left -= records.length;
    after = last.key;
    offset = 0;
    await yieldToEventLoop();
  }
}

/**
 * The same for lists that are not in order of creation: each step passes over those before it. What is removed meanwhile
 * moves the others up, as it does between pages.
 */
export async function* inOffsetSteps<T>(
  read: (page: { readonly limit: number; readonly offset: number }) => Promise<readonly T[]>,
  page: { readonly limit: number; readonly offset: number; readonly stepRows: number },
): AsyncGenerator<readonly T[]> {
  for (let passed = 0; passed < page.limit; ) {
    const limit = Math.min(page.stepRows, page.limit - passed);
    const records = await read({ limit, offset: page.offset + passed });
    if (records.length > 0) yield records;
    if (records.length < limit) return;
    passed += limit;
    await yieldToEventLoop();
  }
}
