// Reads a long list in bounded steps, each continuing after the last record of the previous one, so that memory stays
// bounded. `turn` decides when the next step may begin, so that other work runs in between. Used by lists of the
// stores.

/** The start of a step. */
export interface BatchRange {
  /** Records after this one, in order of creation. */
  readonly after: number;
  readonly limit: number;
  readonly offset: number;
}

/** How a list is read. */
interface Steps {
  readonly stepRows: number;
  /** Resolves when the next piece of work may begin: a step is read, or made use of. */
  readonly turn: () => Promise<void>;
}

/** Reads all records of a page. `read` returns the records of one step. */
export async function* inBatches<T extends { readonly key: number }>(
  read: (step: BatchRange) => Promise<readonly T[]>,
  page: Steps & { readonly limit?: number | undefined; readonly offset: number },
): AsyncGenerator<readonly T[]> {
  let left = page.limit ?? Number.POSITIVE_INFINITY;
  // Engines count rows in 64 bits, so a larger offset finds nothing anyway.
  let offset = Math.min(page.offset, Number.MAX_SAFE_INTEGER);
  let after = 0;
  while (left > 0) {
    const limit = Math.min(page.stepRows, left);
    await page.turn();
    const records = await read({ after, limit, offset });
    const last = records.at(-1);
    if (last === undefined) return;
    await page.turn();
    yield records;
    if (records.length < limit) return;
    left -= records.length;
    after = last.key;
    offset = 0;
  }
}

/**
 * Like `inBatches`, for lists in another order than creation: each step skips the records before it by `offset`. If
 * records are removed meanwhile, later ones move up and may be skipped, as between two pages.
 */
export async function* inOffsetSteps<T>(
  read: (page: { readonly limit: number; readonly offset: number }) => Promise<readonly T[]>,
  page: Steps & { readonly limit: number; readonly offset: number },
): AsyncGenerator<readonly T[]> {
  for (let passed = 0; passed < page.limit; ) {
    const limit = Math.min(page.stepRows, page.limit - passed);
    await page.turn();
    const records = await read({ limit, offset: page.offset + passed });
    if (records.length === 0) return;
    await page.turn();
    yield records;
    if (records.length < limit) return;
    passed += limit;
  }
}
