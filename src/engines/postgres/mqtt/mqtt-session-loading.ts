// Loads the stored sessions of a node at start, in pages by their keys, so that nothing else is held in memory meanwhile. Called
// by mqtt-tables.ts alone.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import {
  type LoadedSessions,
  type LoadingParts,
  overQuotaRemovedMax,
  parseOptions,
} from '../../shared/mqtt/mqtt-tables.ts';
import { messageCostSql } from '../../shared/mqtt/mqtt-usage.ts';
import { StoredSession } from '../../shared/mqtt/sessions/mqtt-session.ts';
import { formats } from '../database/formats.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

type Database = Pick<PostgresDatabase, 'query'>;
type Sessions = ReadonlyMap<number, StoredSession>;

/** Keys of new sessions begin here for each node: sessions keep theirs where another node takes them over. */
const keysOfNode = 2 ** 32;

export async function loadSessions(database: Database, node: number, parts: LoadingParts): Promise<LoadedSessions> {
  const byKey = new Map<number, StoredSession>();
  const sessions = pages<SessionRow>(database, {
    sql: `SELECT key AS first, 0 AS second, client_id, "user", away, expiry, format FROM mqtt_session
      WHERE node = $2 AND key > $3 ORDER BY key LIMIT $1`,
    node,
  });
  for await (const { first: key, client_id, user, away, expiry, format } of sessions) {
    assertSessionFormat(client_id, format);
    const known = {
      ...{ user: user ?? undefined, awayMs: away ?? undefined, expiryS: expiry ?? undefined },
      stored: true,
    };
    const session = new StoredSession(key, client_id, known);
    byKey.set(key, session);
    parts.add(session);
  }
  const loaded = await loadSubscriptions(database, node, byKey, parts);
  await loadQueues(database, node, byKey, parts);
  await loadSent(database, node, byKey);
  await loadIncoming(database, node, byKey, parts);
  return { ...loaded, lastKey: await lastKeyOf(database, node) };
}

async function loadSubscriptions(
  database: Database,
  node: number,
  byKey: Sessions,
  { addFilter }: LoadingParts,
): Promise<Omit<LoadedSessions, 'lastKey'>> {
  const overQuota: { session: number; filter: string }[] = [];
  let overQuotaCount = 0;
  let overlong = 0;
  const filters = pages<SubscriptionRow>(database, {
    sql: `SELECT session AS first, filter AS second, qos, options FROM mqtt_subscription
      JOIN mqtt_session ON mqtt_session.key = session WHERE node = $2 AND (session, filter) > ($3, $4::text)
      ORDER BY session, filter LIMIT $1`,
    node,
    from: '',
  });
  for await (const { first: session, second: filter, qos, options } of filters) {
    const owner = byKey.get(session);
    if (Buffer.byteLength(filter) > limits.topicFilterBytesMax) overlong += 1;
    else if (owner !== undefined && !addFilter(owner, filter, { ...parseOptions(options), qos })) {
      overQuotaCount += 1;
      if (overQuota.length < overQuotaRemovedMax) overQuota.push({ session, filter });
    }
  }
  return { overlong, overQuota, overQuotaCount };
}

async function loadQueues(
  database: Database,
  node: number,
  byKey: Sessions,
  { addBytes, clearQueue }: LoadingParts,
): Promise<void> {
  const queues = pages<QueueRow>(database, {
    sql: `SELECT session AS first, 0 AS second, count(*) AS rows, sum(bytes) AS bytes FROM mqtt_queue
      WHERE node = $2 AND session > $3 GROUP BY session ORDER BY session LIMIT $1`,
    node,
  });
  for await (const { first: session, rows, bytes } of queues) {
    const owner = byKey.get(session);
    if (owner === undefined) {
      clearQueue(session);
      continue;
    }
    owner.queued = rows;
    owner.queuedBytes = bytes;
    addBytes(owner, bytes);
  }
}

async function loadSent(database: Database, node: number, byKey: Sessions): Promise<void> {
  const sent = pages<SentRow>(database, {
    sql: `SELECT session AS first, message AS second, packet_id, released, bytes FROM mqtt_queue
      WHERE node = $2 AND packet_id IS NOT NULL AND (session, message) > ($3, $4::bigint)
      ORDER BY session, message LIMIT $1`,
    node,
  });
  for await (const { first: session, second: message, packet_id, released, bytes } of sent) {
    const isReleased = released === 1 && { released: Promise.resolve() };
    byKey.get(session)?.putSent(packet_id, { message, bytes, ...isReleased });
  }
}

async function loadIncoming(
  database: Database,
  node: number,
  byKey: Sessions,
  { addBytes }: LoadingParts,
): Promise<void> {
  const incoming = pages<IncomingRow>(database, {
    sql: `SELECT session AS first, packet_id AS second, ${messageCostSql} AS bytes FROM mqtt_incoming
      JOIN mqtt_session ON mqtt_session.key = session WHERE node = $2 AND (session, packet_id) > ($3, $4::integer)
      ORDER BY session, packet_id LIMIT $1`,
    node,
  });
  for await (const { first: session, second: packetId, bytes } of incoming) {
    const owner = byKey.get(session);
    owner?.putIncoming(packetId, { stored: Promise.resolve(), bytes });
    if (owner !== undefined) addBytes(owner, bytes);
  }
}

/** @throws Refusal `conflict` where a later release has stored the session in a form that this one does not read. */
export function assertSessionFormat(clientId: string, format: number): void {
  const { oldest, newest } = formats.session;
  if (format >= oldest && format <= newest) return;
  throw new Refusal(
    'conflict',
    `The MQTT session of ${clientId} is of a newer Dundun (version ${format}). Use that release.`,
  );
}

/** Of the keys that this node gives, whoever has the sessions now. */
async function lastKeyOf(database: Database, node: number): Promise<number> {
  const [row] = await database.query<{ key: number }>(
    `SELECT greatest($1::bigint, (SELECT max(key) FROM mqtt_session WHERE key >= $1 AND key < $2),
      (SELECT max(session) FROM mqtt_queue WHERE session >= $1 AND session < $2)) AS key`,
    [node * keysOfNode, (node + 1) * keysOfNode],
  );
  return row?.key ?? node * keysOfNode;
}

interface Keyed {
  readonly first: number;
  readonly second: number | string;
}

/** The rows of a query that ends after `$1` rows of the node `$2`, and goes on behind the key `$3`, or `$3` and `$4`. */
async function* pages<Row extends Keyed>(
  database: Database,
  { sql, node, from = -1 }: { readonly sql: string; readonly node: number; readonly from?: number | string },
): AsyncGenerator<Row> {
  let last: Keyed = { first: -1, second: from };
  for (;;) {
    const keys = sql.includes('$4') ? [last.first, last.second] : [last.first];
    const rows = await database.query<Row>(sql, [pageRows, node, ...keys]);
    yield* rows;
    if (rows.length < pageRows) return;
    last = rows.at(-1) ?? last;
  }
}

const pageRows = 5_000;

interface SessionRow extends Keyed {
  readonly client_id: string;
  readonly user: number | null;
  readonly away: number | null;
  readonly expiry: number | null;
  readonly format: number;
}

interface SubscriptionRow extends Keyed {
  readonly second: string;
  readonly qos: number;
  readonly options: string | null;
}

interface QueueRow extends Keyed {
  readonly rows: number;
  readonly bytes: number;
}

interface SentRow extends Keyed {
  readonly second: number;
  readonly packet_id: number;
  readonly released: number;
  readonly bytes: number;
}

interface IncomingRow extends Keyed {
  readonly second: number;
  readonly bytes: number;
}
