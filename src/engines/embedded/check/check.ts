// What a check of a database is, and what it finds. The checks lie beside this file; run-checks.ts lists and runs them.
import type { DatabaseSync } from 'node:sqlite';

/** What is not as it must be. */
export interface Finding {
  readonly what: string;
  readonly where?: FindingLocation;
  /** What a person can do about it. */
  readonly advice: string;
}

/** Where it was found, as far as it can be said. */
export interface FindingLocation {
  readonly table?: string;
  /** The number under which datapoints of a sensor are kept; and the ids of device and sensor, where they are there. */
  readonly sensor?: number;
  readonly deviceId?: string;
  readonly sensorId?: string;
  /** Times of the datapoints concerned, milliseconds since 1970 UTC. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export interface Check {
  readonly name: string;
  /** What must be true, for people. */
  readonly asks: string;
  /** True where it makes sense of data in the form of an earlier version too. */
  readonly isForAnyForm?: boolean;
  /** Finds what is wrong in the database, with one in the present form to compare with. */
  run(database: DatabaseSync, example: DatabaseSync): Iterable<Finding>;
}

export const adviceOnDamage = 'Restore a backup, or save what the sqlite3 shell can still read with `.recover`.';
