// Loads the stored sessions at start, row by row, so that nothing else is held in memory meanwhile. Called by
// mqtt-tables.ts alone.

import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import {
  type LoadedSessions,
  type LoadingParts,
  overQuotaRemovedMax,
  parseOptions,
} from '../../shared/mqtt/mqtt-tables.ts';
import { messageCostSql } from '../../shared/mqtt/mqtt-usage.ts';
import { StoredSession } from '../../shared/mqtt/sessions/mqtt-session.ts';

/** Reads sessions, filters, queues and inbound messages; returns the filters that do not fit. */
export function loadSessions(reader: DatabaseSync, parts: LoadingParts): LoadedSessions {
  const byKey = new Map<number, StoredSession>();
  for (const row of reader.prepare('SELECT key, client_id, user, away, expiry FROM mqtt_session').iterate()) {
    const { key, client_id, user, away, expiry } = row as unknown as SessionRow;
    const session = new StoredSession(key, client_id, {
      user: user ?? undefined,
      awayMs: away ?? undefined,
      expiryS: expiry ?? undefined,
      stored: true,
    });
    byKey.set(key, session);
    parts.add(session);
  }
  const loaded = loadSubscriptions(reader, byKey, parts);
  loadQueues(reader, byKey, parts);
  loadIncoming(reader, byKey, parts);
  const last = `SELECT max(coalesce((SELECT max(key) FROM mqtt_session), 0),
    coalesce((SELECT max(session) FROM mqtt_queue), 0)) AS n`;
  return { ...loaded, lastKey: (reader.prepare(last).get() as { n: number }).n };
}

function loadSubscriptions(
  reader: DatabaseSync,
  byKey: ReadonlyMap<number, StoredSession>,
  { addFilter }: LoadingParts,
): Omit<LoadedSessions, 'lastKey'> {
  const overQuota: { session: number; filter: string }[] = [];
  let overQuotaCount = 0;
  const columns = 'SELECT session, filter, qos, options FROM mqtt_subscription';
  const rows = reader.prepare(`${columns} WHERE octet_length(filter) <= ?`).iterate(limits.topicFilterBytesMax);
  for (const row of rows) {
    const { session, filter, qos, options } = row as unknown as SubscriptionRow;
    const owner = byKey.get(session);
    if (owner === undefined || addFilter(owner, filter, { ...parseOptions(options), qos })) continue;
    overQuotaCount += 1;
    if (overQuota.length < overQuotaRemovedMax) overQuota.push({ session, filter });
  }
  const overlong = reader
    .prepare('SELECT count(*) AS n FROM mqtt_subscription WHERE octet_length(filter) > ?')
    .get(limits.topicFilterBytesMax) as { n: number };
  return { overlong: overlong.n, overQuota, overQuotaCount };
}

function loadQueues(
  reader: DatabaseSync,
  byKey: ReadonlyMap<number, StoredSession>,
  { addBytes, clearQueue }: LoadingParts,
): void {
  const sums = 'SELECT session, count(*) AS rows, sum(bytes) AS bytes FROM mqtt_queue GROUP BY session';
  for (const row of reader.prepare(sums).iterate()) {
    const { session, rows, bytes } = row as { session: number; rows: number; bytes: number };
    const owner = byKey.get(session);
    if (owner === undefined) {
      clearQueue(session);
      continue;
    }
    owner.queued = rows;
    owner.queuedBytes = bytes;
    addBytes(owner, bytes);
  }
  const sent = 'SELECT session, message, packet_id, released, bytes FROM mqtt_queue WHERE packet_id IS NOT NULL';
  for (const row of reader.prepare(sent).iterate()) {
    const { session, message, packet_id, released, bytes } = row as unknown as SentRow;
    const isReleased = released === 1 && { released: Promise.resolve() };
    byKey.get(session)?.putSent(packet_id, { message, bytes, ...isReleased });
  }
}

function loadIncoming(
  reader: DatabaseSync,
  byKey: ReadonlyMap<number, StoredSession>,
  { addBytes }: LoadingParts,
): void {
  const incoming = `SELECT session, packet_id, ${messageCostSql} AS bytes FROM mqtt_incoming`;
  for (const row of reader.prepare(incoming).iterate()) {
    const { session, packet_id, bytes } = row as unknown as { session: number; packet_id: number; bytes: number };
    const owner = byKey.get(session);
    owner?.putIncoming(packet_id, { stored: Promise.resolve(), bytes });
    if (owner !== undefined) addBytes(owner, bytes);
  }
}

interface SessionRow {
  readonly key: number;
  readonly client_id: string;
  readonly user: number | null;
  readonly away: number | null;
  readonly expiry: number | null;
}

interface SubscriptionRow {
  readonly session: number;
  readonly filter: string;
  readonly qos: number;
  readonly options: string | null;
}

interface SentRow {
  readonly session: number;
  readonly message: number;
  readonly packet_id: number;
  readonly released: number;
  readonly bytes: number;
}
