// The registry's two ends: reads through Kysely, writes as compiled statements that the engine runs as one unit in
// its next commit. One text for every engine.
import type { Compilable, Kysely } from 'kysely';
import type { Tables } from './tables.ts';

export interface Registry {
  readonly read: Kysely<Tables>;
  /**
   * Runs all statements or none; resolves after the commit with the rows each changed.
   * @throws Refusal `exists` where a unique id is taken, `busy`, `storage`.
   */
  write(queries: readonly Compilable[], options?: { readonly purge?: boolean }): Promise<readonly number[]>;
}
