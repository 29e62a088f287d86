// The changes that store a session and its filters.
import type { SubscriptionOptions } from '../../../../domain/ports/mqtt-sessions.ts';
import type { MqttChange } from '../mqtt-tables.ts';
import type { StoredSession } from './mqtt-session.ts';

/** Changes that store the sessions that have no row yet. */
export function rowsOf(sessions: Iterable<StoredSession>): MqttChange[] {
  const rows: MqttChange[] = [];
  for (const session of sessions) if (!session.stored) rows.push(rowOf(session));
  return rows;
}

/** Stores the session, or replaces what is stored of it. */
export function rowOf({ key, clientId, user, awayMs, expiryS }: StoredSession): MqttChange {
  const row = { clientId, user: user ?? null, awayMs: awayMs ?? null, expiryS: expiryS ?? null };
  return { kind: 'session', session: key, ...row };
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
