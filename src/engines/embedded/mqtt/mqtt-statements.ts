// The statements that store a change of MQTT state in SQLite, and what their counts of rows say of it. Called by
// mqtt-tables.ts.
import { limits } from '../../../config/limits.ts';
import {
  clearRowsMax,
  type IncomingChange,
  type MessageChange,
  type MqttChange,
  type RetainedChange,
  retained,
  retainedPageRows,
  type WillChange,
} from '../../shared/mqtt/mqtt-tables.ts';
import type { SqlValue, Statement } from '../database/database-writer.ts';

/** Appends the statements of a change. */
export function addStatements(change: MqttChange, to: Statement[]): void {
  const add = (sql: string, ...parameters: readonly SqlValue[]) => to.push({ sql, parameters });
  switch (change.kind) {
    case 'session':
      add(insertSession, change.session, change.clientId, change.user, change.awayMs, change.expiryS);
      break;
    case 'away':
      add('UPDATE mqtt_session SET away = ? WHERE key = ?', change.awayMs, change.session);
      break;
    case 'all-away':
      add('UPDATE mqtt_session SET away = ? WHERE away IS NULL', change.awayMs);
      break;
    case 'session-ended':
      add('DELETE FROM mqtt_session WHERE key = ?', change.session);
      add('DELETE FROM mqtt_subscription WHERE session = ?', change.session);
      add('DELETE FROM mqtt_incoming WHERE session = ?', change.session);
      add(clearQueue, change.session, change.session);
      break;
    case 'queue-cleared':
      add(clearQueue, change.session, change.session);
      break;
    case 'filter':
      add(insertFilter, change.session, change.filter, change.qos, change.options);
      break;
    case 'filter-removed':
      add('DELETE FROM mqtt_subscription WHERE session = ? AND filter = ?', change.session, change.filter);
      break;
    case 'overlong-filters-cleared':
      add(clearOverlong, limits.topicFilterBytesMax);
      break;
    case 'usage':
      add(updateUsage, change.sessions, change.bytes, change.user);
      break;
    default:
      addPacketStatements(change, add);
  }
}

/** What a change counts as, by the rows that its statements changed, from `first` on to before `end`. */
export function countOf(change: MqttChange, rows: readonly number[], first: number, end: number): number {
  if (change.kind !== 'retained') return rows[end - 1] ?? 0;
  if ((rows[first] ?? 0) > 0) return retained.replaced;
  return (rows[first + 1] ?? 0) > 0 ? retained.added : retained.full;
}

type Add = (sql: string, ...parameters: readonly SqlValue[]) => void;

function addPacketStatements(change: PacketChange, add: Add): void {
  switch (change.kind) {
    case 'message':
      addMessage(change, add);
      break;
    case 'sent':
      add(updateSent, change.packetId, change.session, change.message);
      break;
    case 'released':
      add('UPDATE mqtt_queue SET released = 1 WHERE session = ? AND message = ?', change.session, change.message);
      break;
    case 'acknowledged':
      add('DELETE FROM mqtt_queue WHERE session = ? AND message = ?', change.session, change.message);
      break;
    case 'dropped':
      add(deleteUnsent, change.session, change.message);
      break;
    case 'incoming':
      addIncoming(change, add);
      break;
    case 'incoming-removed':
      add('DELETE FROM mqtt_incoming WHERE session = ? AND packet_id = ?', change.session, change.packetId);
      break;
    case 'will':
      addWill(change, add);
      break;
    case 'will-removed':
      add('DELETE FROM mqtt_will WHERE client_id = ? AND broker_id = ?', change.clientId, change.brokerId);
      break;
    case 'wills-removed':
      add('DELETE FROM mqtt_will WHERE user = ?', change.user);
      break;
    case 'retained':
      addRetained(change, add);
      break;
    case 'retained-removed':
      add('DELETE FROM mqtt_retained WHERE topic = ?', change.topic);
      break;
    case 'retained-cleared':
      add(clearRetained, change.user, change.from, change.to);
  }
}

type PacketChange = Exclude<
  MqttChange,
  {
    readonly kind:
      | 'session'
      | 'away'
      | 'all-away'
      | 'session-ended'
      | 'queue-cleared'
      | 'filter'
      | 'filter-removed'
      | 'overlong-filters-cleared'
      | 'usage';
  }
>;

/** Sessions are grouped by QoS, which usually is the same for all. */
function addMessage({ message, topic, payload, rest, bytes, recipients }: MessageChange, add: Add): void {
  add('INSERT INTO mqtt_message (id, topic, payload, rest) VALUES (?, ?, ?, ?)', message, topic, payload, rest);
  const keysByQos = new Map<number, number[]>();
  for (const [session, qos] of recipients) {
    const keys = keysByQos.get(qos);
    if (keys === undefined) keysByQos.set(qos, [session.key]);
    else keys.push(session.key);
  }
  for (const [qos, keys] of keysByQos) add(insertQueue, message, qos, bytes, JSON.stringify(keys));
}

function addIncoming({ session, packetId, topic, payload, rest, qos, retain }: IncomingChange, add: Add): void {
  add(insertIncoming, session, packetId, topic, payload, rest, qos, retain ? 1 : 0);
}

function addWill({ clientId, brokerId, user, topic, payload, rest, qos, retain }: WillChange, add: Add): void {
  add(insertWill, clientId, brokerId, user, topic, payload, rest, qos, retain ? 1 : 0);
}

function addRetained({ topic, payload, rest, qos, user, extra, mayAdd }: RetainedChange, add: Add): void {
  const values = [payload, qos, rest, user, extra, topic];
  add('UPDATE mqtt_retained SET payload = ?, qos = ?, rest = ?, user = ?, extra = ? WHERE topic = ?', ...values);
  add(insertRetained, ...values, mayAdd ? 1 : 0, topic);
}

const insertSession = `INSERT OR REPLACE INTO mqtt_session (key, client_id, user, away, expiry)
  VALUES (?, ?, ?, ?, ?)`;
const insertFilter = 'INSERT OR REPLACE INTO mqtt_subscription (session, filter, qos, options) VALUES (?, ?, ?, ?)';
const updateUsage = 'UPDATE usage SET mqtt_sessions = ?, mqtt_session_bytes = ? WHERE user = ?';
const updateSent = 'UPDATE mqtt_queue SET packet_id = ? WHERE session = ? AND message = ?';
const deleteUnsent = 'DELETE FROM mqtt_queue WHERE session = ? AND message = ? AND packet_id IS NULL';
const insertQueue = 'INSERT INTO mqtt_queue (session, message, qos, bytes) SELECT value, ?, ?, ? FROM json_each(?)';
const insertIncoming = `INSERT OR REPLACE INTO mqtt_incoming (session, packet_id, topic, payload, rest, qos, retain)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;
const insertWill = `INSERT OR REPLACE INTO mqtt_will (client_id, broker_id, user, topic, payload, rest, qos, retain)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const insertRetained = `INSERT INTO mqtt_retained (payload, qos, rest, user, extra, topic) SELECT ?, ?, ?, ?, ?, ?
  WHERE ? = 1 AND NOT EXISTS (SELECT 1 FROM mqtt_retained WHERE topic = ?)`;
const clearRetained = `DELETE FROM mqtt_retained WHERE topic IN (
  SELECT topic FROM mqtt_retained WHERE user = ? AND topic >= ? AND topic < ? LIMIT ${retainedPageRows})`;
const clearQueue = `DELETE FROM mqtt_queue WHERE session = ? AND message IN (
  SELECT message FROM mqtt_queue WHERE session = ? ORDER BY message LIMIT ${clearRowsMax})`;
/** Filters that are longer than is allowed now, some at a time. */
const clearOverlong = `DELETE FROM mqtt_subscription WHERE (session, filter) IN
  (SELECT session, filter FROM mqtt_subscription WHERE octet_length(filter) > ? LIMIT ${clearRowsMax})`;
