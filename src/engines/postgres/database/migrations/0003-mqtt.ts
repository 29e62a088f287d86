// What MQTT stores: sessions with their filters and queues, QoS 2 publishes without PUBREL, wills and retained messages. A session
// belongs to a node, a number that a process serves under an epoch (docs/decisions/0045); the rows of its queue and their
// messages are numbered by that node.
import { type Kysely, sql } from 'kysely';
import { trigger } from './triggers.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = 'text COLLATE "C"';
const packet = `topic ${text} NOT NULL, payload bytea NOT NULL, rest bytea`;

/** As messageCost of engines/shared/mqtt/mqtt-usage.ts counts it. */
const bytes = 'CAST(octet_length(topic) + octet_length(payload) + 64 AS bigint)';

/** A trigger that runs once a statement, with its rows in the tables `before` and `after`. */
function statementTrigger(name: string, event: string, referencing: string, body: string): string[] {
  return [
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NULL; END $$`,
    `CREATE TRIGGER ${name} AFTER ${event} REFERENCING ${referencing} FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`,
  ];
}

/** Adds to columns of `usage` what rows of a statement have more than before. */
export function count(
  columns: Readonly<Record<string, string>>,
  { plus, minus }: { plus?: string; minus?: string },
): string {
  const sums = Object.entries(columns);
  const select = (table: string, sign: string) =>
    `SELECT "user", ${sums.map(([column, amount]) => `${sign}${amount} AS ${column}`).join(', ')} FROM ${table}`;
  const rows = [plus && select(plus, ''), minus && select(minus, '-')].filter((each) => each !== undefined);
  const sets = sums.map(([column]) => `${column} = usage.${column} + change.${column}`);
  // In the order of users, so that two statements do not wait for each other.
  return `UPDATE usage SET ${sets.join(', ')} FROM (
      SELECT "user", ${sums.map(([column]) => `CAST(sum(${column}) AS bigint) AS ${column}`).join(', ')}
      FROM (${rows.join(' UNION ALL ')}) AS rows WHERE "user" IS NOT NULL GROUP BY "user" ORDER BY "user") AS change
    WHERE usage."user" = change."user" AND (${sums.map(([column]) => `change.${column} <> 0`).join(' OR ')});`;
}

function counted(table: string, columns: Readonly<Record<string, string>>): string[] {
  const [after, before] = ['NEW TABLE AS after', 'OLD TABLE AS before'];
  const on = (event: string, referencing: string, tables: { plus?: string; minus?: string }) =>
    statementTrigger(
      `${table}_counted_${event.toLowerCase()}`,
      `${event} ON ${table}`,
      referencing,
      count(columns, tables),
    );
  return [
    ...on('INSERT', after, { plus: 'after' }),
    ...on('UPDATE', `${before} ${after}`, { plus: 'after', minus: 'before' }),
    ...on('DELETE', before, { minus: 'before' }),
  ];
}

const statements = [
  // Who serves a node's sessions writes its epoch and the number of each commit here, in the commit: a process that another
  // has taken over from finds another epoch, and one whose connection broke finds what became of its last commit.
  `CREATE TABLE mqtt_node (
    node bigint PRIMARY KEY,
    epoch bigint NOT NULL,
    broker_id ${text} NOT NULL,
    unit bigint NOT NULL)
    WITH (fillfactor = 10)`,
  // away: when its client went away, in milliseconds since 1970 UTC; null while it is connected.
  `CREATE TABLE mqtt_session (
    key bigint PRIMARY KEY,
    node bigint NOT NULL,
    client_id ${text} NOT NULL UNIQUE,
    "user" bigint,
    away bigint)`,
  // options: fields of MQTT 5 (retain handling and others) in JSON; null where there are none.
  `CREATE TABLE mqtt_subscription (
    session bigint NOT NULL,
    filter ${text} NOT NULL,
    qos smallint NOT NULL,
    options ${text},
    PRIMARY KEY (session, filter))`,
  // A message is stored once, however many sessions wait for it, and deleted with the last of them.
  `CREATE TABLE mqtt_message (node bigint NOT NULL, id bigint NOT NULL, ${packet}, PRIMARY KEY (node, id))`,
  'ALTER TABLE mqtt_message ALTER COLUMN payload SET STORAGE EXTERNAL',
  // bytes: charged to the session's user. The packet id is updated in place (fillfactor).
  `CREATE TABLE mqtt_queue (
    session bigint NOT NULL,
    message bigint NOT NULL,
    node bigint NOT NULL,
    qos smallint NOT NULL,
    packet_id integer,
    released boolean NOT NULL DEFAULT false,
    bytes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (session, message))
    WITH (fillfactor = 70)`,
  'CREATE INDEX mqtt_queue_message ON mqtt_queue (node, message)',
  ...statementTrigger(
    'mqtt_queue_gone',
    'DELETE ON mqtt_queue',
    'OLD TABLE AS before',
    `DELETE FROM mqtt_message USING (SELECT DISTINCT node, message FROM before) AS gone
      WHERE mqtt_message.node = gone.node AND mqtt_message.id = gone.message AND NOT EXISTS (
        SELECT 1 FROM mqtt_queue WHERE mqtt_queue.node = gone.node AND mqtt_queue.message = gone.message);`,
  ),
  `CREATE TABLE mqtt_incoming (
    session bigint NOT NULL,
    packet_id integer NOT NULL,
    ${packet},
    qos smallint NOT NULL,
    retain boolean NOT NULL,
    PRIMARY KEY (session, packet_id))`,
  'ALTER TABLE mqtt_incoming ALTER COLUMN payload SET STORAGE EXTERNAL',
  // The broker id differs in each run of the service: a will with another id was not sent.
  `CREATE TABLE mqtt_will (
    client_id ${text} NOT NULL,
    broker_id ${text} NOT NULL,
    "user" bigint,
    ${packet},
    qos smallint NOT NULL,
    retain boolean NOT NULL,
    PRIMARY KEY (client_id, broker_id))`,
  'CREATE INDEX mqtt_will_user ON mqtt_will ("user")',
  // user: the publisher, whose quota the message is charged to.
  `CREATE TABLE mqtt_retained (
    topic ${text} PRIMARY KEY,
    payload bytea NOT NULL,
    rest bytea,
    qos smallint NOT NULL,
    "user" bigint)
    WITH (fillfactor = 80)`,
  'ALTER TABLE mqtt_retained ALTER COLUMN payload SET STORAGE EXTERNAL',
  'CREATE INDEX mqtt_retained_user ON mqtt_retained ("user", topic)',
  ...counted('mqtt_retained', { retained_bytes: bytes }),
  // What the sessions of a node take; the sum of all nodes is in the table usage.
  `CREATE TABLE mqtt_usage (
    node bigint NOT NULL,
    "user" bigint NOT NULL,
    mqtt_sessions bigint NOT NULL,
    mqtt_session_bytes bigint NOT NULL,
    PRIMARY KEY (node, "user"))
    WITH (fillfactor = 50)`,
  ...counted('mqtt_usage', { mqtt_sessions: 'mqtt_sessions', mqtt_session_bytes: 'mqtt_session_bytes' }),
  ...trigger('mqtt_usage_user_removed', 'AFTER DELETE ON "user"', 'DELETE FROM mqtt_usage WHERE "user" = old.key;'),
];
