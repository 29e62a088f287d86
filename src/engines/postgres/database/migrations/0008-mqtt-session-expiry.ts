// How long a session of MQTT 5 is kept after its connection, in seconds, as its client asked; NULL: as long as may be.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE mqtt_session ADD COLUMN expiry bigint`.execute(db);
}
