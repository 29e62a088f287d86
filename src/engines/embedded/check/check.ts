// What a check of the database is, and what it reports. The checks are in the files beside this one; run-checks.ts
// lists and runs them.
import type { DatabaseSync } from 'node:sqlite';
import type { Finding } from '../../../domain/ports/maintenance.ts';

export interface Check {
  readonly name: string;
  /** What must be true, as a sentence for people. */
  readonly asks: string;
  /** True where the check also fits a database of an earlier release. */
  readonly isForAnyForm?: boolean;
  /**
   * Reports what is wrong in `database`. `example` is an empty database of this release, to compare the schema with.
   */
  run(database: DatabaseSync, example: DatabaseSync): Iterable<Finding>;
}

export const adviceOnDamage = 'Restore a backup, or save what the sqlite3 shell can still read with `.recover`.';
