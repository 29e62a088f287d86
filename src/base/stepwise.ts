// Reads a long list in bounded steps, each behind the last record of the one before, so that memory stays flat and
// other work comes between.

/** Where a step begins. */
export interface Step {
  /** Records behind this one, in order of creation. */
  readonly after: number;
  readonly limit: number;
  readonly offset: number;
}

/** All records of a page; `read` gives those of a step. */
export async function* inSteps<T extends { readonly key: number }>(
  read: (step: Step) => Promise<readonly T[]>,
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
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
