// Changes of one kind in a unit, by the row that they change. Used by mqtt-statements.ts.

/** A change and its place in the unit. */
interface Placed<Change> {
  readonly change: Change;
  readonly place: number;
}

/**
 * Of several changes of one row the last holds; the earlier ones count as it does. A row of a queue is changed by its own
 * changes in their natural order alone: queued, sent, released, removed.
 */
export class LastChanges<Change> {
  readonly #last = new Map<string | number, Placed<Change>>();
  readonly #earlier = new Map<string | number, number[]>();

  get size(): number {
    return this.#last.size;
  }

  set(row: string | number, change: Change, place: number): void {
    const before = this.#last.get(row);
    if (before !== undefined) {
      const places = this.#earlier.get(row);
      if (places === undefined) this.#earlier.set(row, [before.place]);
      else places.push(before.place);
    }
    this.#last.set(row, { change, place });
  }

  delete(row: string | number): void {
    this.#last.delete(row);
  }

  /** Leaves what was noted of a row to other changes, whose count holds for it as well. */
  leaveTo(other: LastChanges<unknown>, row: string | number): void {
    const last = this.#last.get(row);
    if (last === undefined) return;
    other.#earlier.set(row, [last.place, ...(this.#earlier.get(row) ?? []), ...(other.#earlier.get(row) ?? [])]);
    this.#last.delete(row);
  }

  changes(): Change[] {
    return Array.from(this.#last.values(), ({ change }) => change);
  }

  /** Notes what each change counts as. */
  count(counts: number[], of: (row: string | number) => number): void {
    for (const [row, { place }] of this.#last) {
      counts[place] = of(row);
      for (const earlier of this.#earlier.get(row) ?? []) counts[earlier] = of(row);
    }
  }
}
