// The changes that store a session and its filters.
import type { SubscriptionOptions } from '../../../../domain/ports/mqtt-sessions.ts';
import type { MqttChange } from '../mqtt-tables.ts';
import type { StoredSession } from './mqtt-session.ts';

/** Changes that store the sessions that have no row yet. */
export function rowsOf(sessions: Iterable<StoredSession>): MqttChange[] {
  const rows: MqttChange[] = [];
  for (const { stored, key, clientId, user, awayMs } of sessions) {
    if (stored) continue;
    rows.push({ kind: 'session', session: key, clientId, user: user ?? null, awayMs: awayMs ?? null });
  }
  return rows;
}

/** Stores when the session's client went away. */
export function putAway({ key, awayMs }: StoredSession): MqttChange {
  return { kind: 'away', session: key, awayMs: awayMs ?? null };
}

/** Stores a filter of a session with its options. */
export function putSubscription(session: number, filter: string, { qos, ...options }: SubscriptionOptions): MqttChange {
  const json = JSON.stringify(options);
  return { kind: 'filter', session, filter, qos, options: json === '{}' ? null : json };
}
