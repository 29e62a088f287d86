// The registry's two ends: reads through Kysely, writes as compiled statements that the engine runs as one unit in
// its next commit. One text for every engine.
import type { Compilable, Kysely } from 'kysely';
import type { Tables } from './tables.ts';

export interface Registry {
  /** Short reads, of rows that an index finds, on the main thread. */
  readonly read: Kysely<Tables>;
  /**
   * A read whose time grows with what is stored (lists, counts, filters), beside other work and with an end: its
   * conditions begin with `withinTime`. Callers take turns.
   * @throws Refusal `busy` when too many wait, or it takes too long.
   */
  search<Row>(query: Compilable<Row>, options: { readonly caller: string }): Promise<Row[]>;
  /**
   * Runs all statements or none; resolves after the commit with the rows each changed. `isWeighed: false` says that their
   * bytes are bounded where they come from, as those of the service's own work are: it must go on beside large changes.
   * @throws Refusal `exists` where a unique id is taken, `busy`, `storage`.
   */
  write(
    queries: readonly Compilable[],
    options?: { readonly purge?: boolean; readonly isWeighed?: boolean },
  ): Promise<readonly number[]>;
}
