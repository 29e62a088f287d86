// What MQTT 5 adds to what is stored: how long a session is kept after its connection, in seconds, as its client asked (NULL: as
// long as may be), and the bytes of a retained message's properties, which count for the quota of its publisher.
import { type Kysely, sql } from 'kysely';
import { count } from './0003-mqtt.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const columns = { retained_bytes: 'CAST(octet_length(topic) + octet_length(payload) + 64 + extra AS bigint)' };

/** Replaces what a trigger of 0003 runs. */
function replaced(event: string, tables: { readonly plus?: string; readonly minus?: string }): string {
  return `CREATE OR REPLACE FUNCTION mqtt_retained_counted_${event}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN ${count(columns, tables)} RETURN NULL; END $$`;
}

const statements = [
  'ALTER TABLE mqtt_session ADD COLUMN expiry bigint',
  'ALTER TABLE mqtt_retained ADD COLUMN extra integer NOT NULL DEFAULT 0',
  replaced('insert', { plus: 'after' }),
  replaced('update', { plus: 'after', minus: 'before' }),
  replaced('delete', { minus: 'before' }),
];
