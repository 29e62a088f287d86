// Up to which row of the log messages are kept for MQTT sessions, so that the server that has them next begins behind that. A release
// that does not know these columns leaves them as they are: they are forgotten with the node then.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // Of a session that was let go, or that its new node has not brought up to the present yet: kept_node is that node then.
  'ALTER TABLE mqtt_session ADD COLUMN kept_row bigint',
  'ALTER TABLE mqtt_session ADD COLUMN kept_node bigint',
  `CREATE FUNCTION forget_kept_row() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.kept_row := NULL;
      NEW.kept_node := NULL;
      RETURN NEW;
    END $$`,
  `CREATE TRIGGER forgets_kept_row BEFORE UPDATE OF node ON mqtt_session FOR EACH ROW
    WHEN (NEW.node <> OLD.node AND NEW.kept_row IS NOT DISTINCT FROM OLD.kept_row AND NEW.kept_node IS NOT DISTINCT FROM OLD.kept_node)
    EXECUTE FUNCTION forget_kept_row()`,
  // Of all other sessions of the node, while it has that epoch.
  'ALTER TABLE mqtt_node ADD COLUMN kept_row bigint',
  'ALTER TABLE mqtt_node ADD COLUMN kept_epoch bigint',
];
