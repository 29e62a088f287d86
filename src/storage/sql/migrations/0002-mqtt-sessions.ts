// MQTT sessions across a restart: who owns a client id, subscriptions, messages for who is away, QoS 2 under way,
// wills and retained messages.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements: string[] = [];
