// A priority queue of entries by time (a binary heap). Entries cannot be removed: the code that takes an entry checks
// whether it is still valid.

interface ScheduledEntry<T> {
  readonly atMs: number;
  readonly what: T;
}

export class Schedule<T> {
  readonly #heap: ScheduledEntry<T>[] = [];

  /** When the earliest entry is due, in milliseconds since 1970 UTC. */
  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  add(atMs: number, what: T): void {
    const heap = this.#heap;
    let at = heap.push({ atMs, what }) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as ScheduledEntry<T>).atMs <= atMs) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Removes and returns the earliest entry if it is due. */
  take(nowMs: number): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.atMs > nowMs) return undefined;
    const last = heap.pop() as ScheduledEntry<T>;
    if (heap.length > 0) {
      heap[0] = last;
      this.#sink();
    }
    return first.what;
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && (heap[child] as ScheduledEntry<T>).atMs < (heap[least] as ScheduledEntry<T>).atMs)
          least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [heap[b] as ScheduledEntry<T>, heap[a] as ScheduledEntry<T>];
  }
}
