// Merges sorted streams that come in steps. Holds one step of each, so that reading several sensors takes bounded
// memory. Equal rows come in the order of their streams.
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';

interface SortedRun<T> {
  readonly rank: number;
  readonly steps: AsyncGenerator<T[]>;
  rows: readonly T[];
  index: number;
}

/** Rows that the merged stream returns in one step. */
const stepRows = 500;
/** Streams opened before other work has its turn. */
const openedAtOnce = 50;

/**
 * The rows of all runs in the order of `compare`; each run must be in this order already. Closes the runs at the end.
 */
export async function* mergeRuns<T>(
  runs: readonly AsyncGenerator<T[]>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T[]> {
  const only = runs[0];
  if (runs.length === 1 && only !== undefined) {
    yield* only;
    return;
  }
  const heap = new Heap<T>(compare);
  try {
    for (const [rank, steps] of runs.entries()) {
      const run: SortedRun<T> = { rank, steps, rows: [], index: 0 };
      if (await advance(run)) heap.push(run);
      if (rank % openedAtOnce === openedAtOnce - 1) await nextLoopTurn();
    }
    let merged: T[] = [];
    for (let run = heap.top; run !== undefined; run = heap.top) {
      merged.push(run.rows[run.index] as T);
      run.index += 1;
      if (run.index === run.rows.length && !(await advance(run))) heap.dropTop();
      else heap.sinkTop();
      if (merged.length < stepRows) continue;
      yield merged;
      merged = [];
      await nextLoopTurn();
    }
    if (merged.length > 0) yield merged;
  } finally {
    for (const steps of runs) await steps.return(undefined);
  }
}

/** Reads the next non-empty step of a stream; false at its end. */
async function advance<T>(run: SortedRun<T>): Promise<boolean> {
  run.rows = [];
  run.index = 0;
  while (run.rows.length === 0) {
    const next = await run.steps.next();
    if (next.done === true) return false;
    run.rows = next.value;
  }
  return true;
}

/** A binary heap of streams, ordered by their next row. */
class Heap<T> {
  readonly #runs: SortedRun<T>[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get top(): SortedRun<T> | undefined {
    return this.#runs[0];
  }

  push(run: SortedRun<T>): void {
    let at = this.#runs.push(run) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  dropTop(): void {
    const last = this.#runs.pop();
    if (this.#runs.length === 0 || last === undefined) return;
    this.#runs[0] = last;
    this.sinkTop();
  }

  /** Restores the heap after the top's next row has changed. */
  sinkTop(): void {
    for (let at = 0; ; ) {
      let first = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#runs.length && this.#isBefore(child, first)) first = child;
      }
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const left = this.#runs[a] as SortedRun<T>;
    const right = this.#runs[b] as SortedRun<T>;
    const order = this.#compare(left.rows[left.index] as T, right.rows[right.index] as T);
    return order === 0 ? left.rank < right.rank : order < 0;
  }

  #swap(a: number, b: number): void {
    const left = this.#runs[a] as SortedRun<T>;
    this.#runs[a] = this.#runs[b] as SortedRun<T>;
    this.#runs[b] = left;
  }
}
