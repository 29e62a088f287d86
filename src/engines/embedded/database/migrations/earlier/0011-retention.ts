// Days for which datapoints are kept, of a device and of a sensor, which takes precedence. Null: as the service is set.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  'ALTER TABLE device ADD COLUMN retention_days INTEGER',
  'ALTER TABLE sensor ADD COLUMN retention_days INTEGER',
];
