// What a check of the database is, and what it reports. The checks are in the files beside this one; run-checks.ts
// lists and runs them.
import type { DatabaseSync } from 'node:sqlite';

/** One thing that is wrong. */
export interface Finding {
  readonly what: string;
  readonly where?: FindingLocation;
  /** What a person can do about it. */
  readonly advice: string;
}

/** Where the fault is, as precisely as is known. */
export interface FindingLocation {
  readonly table?: string;
  /**
   * `sensor` is the key under which datapoints are stored. `deviceId` and `sensorId` are missing where the sensor no
   * longer exists.
   */
  readonly sensor?: number;
  readonly deviceId?: string;
  readonly sensorId?: string;
  /** Times of the datapoints concerned, milliseconds since 1970 UTC. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

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
