// What each server tells of itself with its signs of life (domain/ports/nodes.ts). NULL until it has.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of columns) await sql.raw(`ALTER TABLE node ADD COLUMN ${column}`).execute(db);
}

const columns = [
  'host text COLLATE "C"',
  'release text COLLATE "C"',
  'http_connections integer',
  'mqtt_connections integer',
  'datapoints_per_second double precision',
];
