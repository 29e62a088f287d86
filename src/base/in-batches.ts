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

/** The same for lists in another order: records behind this one in the list; undefined: from the beginning. */
export interface StepAfter<T> {
  readonly after: T | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** How a list is read. */
interface Steps {
  readonly stepRows: number;
  /** Resolves when the next piece of work may begin: a step is read, or made use of. */
  readonly turn: () => Promise<void>;
}

/** Reads all records of a page in order of creation. `read` returns the records of one step. */
export function inBatches<T extends { readonly key: number }>(
  read: (step: BatchRange) => Promise<readonly T[]>,
  page: Steps & { readonly limit?: number | undefined; readonly offset: number },
): AsyncGenerator<readonly T[]> {
  return inStepsAfter((step) => read({ ...step, after: step.after?.key ?? 0 }), page);
}

/**
 * Like `inBatches`, for lists in another order: `read` is given the last record of the step before, and returns those
 * behind it in the list. It goes by what the record says, not by its place, so that none is skipped where records are
 * removed meanwhile.
 */
export async function* inStepsAfter<T>(
  read: (step: StepAfter<T>) => Promise<readonly T[]>,
  page: Steps & { readonly limit?: number | undefined; readonly offset: number },
): AsyncGenerator<readonly T[]> {
  let left = page.limit ?? Number.POSITIVE_INFINITY;
  // Engines count rows in 64 bits, so a larger offset finds nothing anyway.
  let offset = Math.min(page.offset, Number.MAX_SAFE_INTEGER);
  let after: T | undefined;
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
    after = last;
    offset = 0;
  }
}
