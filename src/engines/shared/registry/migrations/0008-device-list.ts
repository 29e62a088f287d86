// What a page of devices needs to be counted and found, side by side in order of creation: of 100 000 devices a
// megabyte is read, not all their rows. Half of the devices share a visibility, so an index by it alone only misleads.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('DROP INDEX device_visibility').execute(db);
  await sql.raw('CREATE INDEX device_list ON device (key, owner, visibility)').execute(db);
}
