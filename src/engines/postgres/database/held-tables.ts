// Commands, which are no members of the database, keep its tables as their release knows them until they end: no migration that closes is
// run meanwhile (coordination/upgrade.ts).
import { locks } from './advisory-locks.ts';
import { WrittenFormats } from './formats.ts';
import type { PostgresDatabase } from './postgres-database.ts';
import { assertReadable } from './readable.ts';

export interface HeldTables {
  /** The forms in which the command writes. */
  readonly formats: WrittenFormats;
  close(): Promise<void>;
}

/** @throws Refusal `conflict` where a newer release has written what this one does not read; errors of PostgreSQL. */
export async function holdTables(database: PostgresDatabase): Promise<HeldTables> {
  const connection = await database.connect('command');
  try {
    await connection.query(`SELECT pg_advisory_lock_shared(${locks.commands})`);
    const stored = await assertReadable(async <Row>(sql: string) => (await connection.query<Row>(sql)).rows);
    return { formats: new WrittenFormats(stored), close: () => connection.close() };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
