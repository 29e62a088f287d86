// Makes few statements of many changes of MQTT state: changes of one kind become one statement, with arrays as parameters. The kinds
// have an order in which all changes of a part may be made; where a change must come after one that is later in this order, a
// new part begins. Called by mqtt-tables.ts for each unit, which is one transaction.
import { limits } from '../../../config/limits.ts';
import {
  clearRowsMax,
  type IncomingChange,
  type MessageChange,
  type MqttChange,
  type RetainedChange,
  retained,
  retainedPageRows,
  type SessionChange,
  type WillChange,
} from '../../shared/mqtt/mqtt-tables.ts';
import { numbers, PacketBytes, packetArrays, truths } from './parameter-arrays.ts';

export interface UnitStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** Called with the answer. */
  readonly take?: (rows: readonly Record<string, unknown>[], count: number) => void;
}

export interface PlannedUnit {
  readonly statements: readonly UnitStatement[];
  /** What each change counts as, once all answers were taken. */
  readonly counts: readonly number[];
}

/** @param node the node that the sessions belong to. */
export function planUnit(changes: readonly MqttChange[], node: number): PlannedUnit {
  const counts = new Array<number>(changes.length).fill(0);
  const statements: UnitStatement[] = [];
  let part = new UnitPart(node, counts);
  const end = () => {
    statements.push(...part.statements());
    part = new UnitPart(node, counts);
  };
  for (const [i, change] of changes.entries()) {
    const alone = aloneOf(change, node);
    if (alone !== undefined) {
      end();
      const take = (_: unknown, count: number) => {
        counts[i] = count;
      };
      statements.push({ ...alone, take });
    } else {
      if (part.mustEndBefore(change)) end();
      part.add(change, i);
    }
  }
  end();
  return { statements, counts };
}

/** Seldom ones, which concern rows that are not named: nothing is joined with them. */
function aloneOf(change: MqttChange, node: number): UnitStatement | undefined {
  switch (change.kind) {
    case 'all-away':
      return { sql: allAway, parameters: [node, change.awayMs] };
    case 'queue-cleared':
      return { sql: clearQueue, parameters: [change.session] };
    case 'overlong-filters-cleared':
      return { sql: clearOverlong, parameters: [node, limits.topicFilterBytesMax] };
    case 'wills-removed':
      return { sql: 'DELETE FROM mqtt_will WHERE "user" = $1', parameters: [change.user] };
    case 'retained-cleared':
      return { sql: clearRetained, parameters: [change.user, change.from, change.to] };
    default:
      return undefined;
  }
}

/** A change and its place in the unit. */
interface Placed<Change> {
  readonly change: Change;
  readonly place: number;
}

type Kind<K extends MqttChange['kind']> = Extract<MqttChange, { readonly kind: K }>;

/**
 * Of several changes of one row the last holds; the earlier ones count as it does. A row of a queue is changed by its own
 * changes in their natural order alone: queued, sent, released, removed.
 */
class LastChanges<Change> {
  readonly #last = new Map<string | number, Placed<Change>>();
  readonly #earlier = new Map<string | number, number[]>();

  get size(): number {
    return this.#last.size;
  }

  set(row: string | number, change: Change, place: number): void {
    const before = this.#last.get(row);
    if (before !== undefined) {
      const places = this.#earlier.get(row);
      if (places === undefined) this.#earlier.set(row, [before.place]);
      else places.push(before.place);
    }
    this.#last.set(row, { change, place });
  }

  delete(row: string | number): void {
    this.#last.delete(row);
  }

  /** Leaves what was noted of a row to other changes, whose count holds for it as well. */
  leaveTo(other: LastChanges<unknown>, row: string | number): void {
    const last = this.#last.get(row);
    if (last === undefined) return;
    other.#earlier.set(row, [last.place, ...(this.#earlier.get(row) ?? []), ...(other.#earlier.get(row) ?? [])]);
    this.#last.delete(row);
  }

  changes(): Change[] {
    return Array.from(this.#last.values(), ({ change }) => change);
  }

  /** Notes what each change counts as. */
  count(counts: number[], of: (row: string | number) => number): void {
    for (const [row, { place }] of this.#last) {
      counts[place] = of(row);
      for (const earlier of this.#earlier.get(row) ?? []) counts[earlier] = of(row);
    }
  }
}

const queueRow = ({ session, message }: { readonly session: number; readonly message: number }) =>
  `${session}/${message}`;

class UnitPart {
  readonly #node: number;
  readonly #counts: number[];
  readonly #sessions = new LastChanges<SessionChange>();
  readonly #away = new LastChanges<Kind<'away'>>();
  readonly #filters = new LastChanges<Kind<'filter'> | Kind<'filter-removed'>>();
  readonly #messages: MessageChange[] = [];
  readonly #sent = new LastChanges<Kind<'sent'>>();
  readonly #released = new LastChanges<Kind<'released'>>();
  readonly #acknowledged = new LastChanges<Kind<'acknowledged'>>();
  readonly #dropped = new LastChanges<Kind<'dropped'>>();
  readonly #incoming = new LastChanges<IncomingChange | Kind<'incoming-removed'>>();
  readonly #wills = new LastChanges<WillChange | Kind<'will-removed'>>();
  readonly #retained = new LastChanges<RetainedChange | Kind<'retained-removed'>>();
  readonly #usage = new LastChanges<Kind<'usage'>>();
  readonly #ended = new LastChanges<Kind<'session-ended'>>();
  readonly #endedClients = new Set<string>();

  constructor(node: number, counts: number[]) {
    this.#node = node;
    this.#counts = counts;
  }

  /** Sessions end behind all else of theirs, so one that begins under a client id that has ended is for the next. */
  mustEndBefore(change: MqttChange): boolean {
    return change.kind === 'session' && this.#endedClients.has(change.clientId);
  }

  add(change: MqttChange, place: number): void {
    switch (change.kind) {
      case 'session':
        this.#away.delete(change.session);
        this.#sessions.set(change.session, change, place);
        break;
      case 'away':
        this.#away.set(change.session, change, place);
        break;
      case 'filter':
      case 'filter-removed':
        this.#filters.set(`${change.session}/${change.filter}`, change, place);
        break;
      case 'message':
        this.#messages.push(change);
        break;
      case 'sent':
        this.#sent.set(queueRow(change), change, place);
        break;
      case 'released':
        this.#released.set(queueRow(change), change, place);
        break;
      case 'acknowledged':
        this.#sent.leaveTo(this.#acknowledged, queueRow(change));
        this.#acknowledged.set(queueRow(change), change, place);
        break;
      case 'dropped':
        this.#dropped.set(queueRow(change), change, place);
        break;
      case 'incoming':
      case 'incoming-removed':
        this.#incoming.set(`${change.session}/${change.packetId}`, change, place);
        break;
      case 'will':
      case 'will-removed':
        this.#wills.set(`${change.brokerId}/${change.clientId}`, change, place);
        break;
      case 'retained':
      case 'retained-removed':
        this.#retained.set(change.topic, change, place);
        break;
      case 'usage':
        this.#usage.set(change.user, change, place);
        break;
      case 'session-ended':
        this.#endedClients.add(change.clientId);
        this.#ended.set(change.session, change, place);
        break;
    }
  }

  *statements(): Generator<UnitStatement> {
    yield* this.#sessionStatements();
    yield* this.#messageStatements();
    yield* this.#queueStatements();
    yield* this.#incomingStatements();
    yield* this.#willStatements();
    if (this.#ended.size > 0) {
      const keys = numbers(this.#ended.changes().map(({ session }) => session));
      yield { sql: endSessions, parameters: [keys], take: (rows) => this.#countEnded(rows) };
    }
    // Last, because they change rows of the table usage, as the registry does.
    yield* this.#retainedStatements();
    yield* this.#usageStatements();
  }

  *#sessionStatements(): Generator<UnitStatement> {
    const sessions = this.#sessions.changes();
    if (sessions.length > 0) {
      const columns = [
        numbers(sessions.map(({ session }) => session)),
        sessions.map(({ clientId }) => clientId),
        numbers(sessions.map(({ user }) => user)),
        numbers(sessions.map(({ awayMs }) => awayMs)),
      ];
      yield { sql: putSessions, parameters: [this.#node, ...columns] };
    }
    const away = this.#away.changes();
    if (away.length > 0) {
      const columns = [numbers(away.map(({ session }) => session)), numbers(away.map(({ awayMs }) => awayMs))];
      yield { sql: putAway, parameters: columns };
    }
    const put = this.#filters.changes().filter((change) => change.kind === 'filter');
    if (put.length > 0) {
      const columns = [
        numbers(put.map(({ session }) => session)),
        put.map(({ filter }) => filter),
        numbers(put.map(({ qos }) => qos)),
        put.map(({ options }) => options),
      ];
      yield { sql: putFilters, parameters: columns };
    }
    const removed = this.#filters.changes().filter((change) => change.kind === 'filter-removed');
    if (removed.length > 0) {
      const columns = [numbers(removed.map(({ session }) => session)), removed.map(({ filter }) => filter)];
      yield { sql: removeFilters, parameters: columns };
    }
  }

  *#messageStatements(): Generator<UnitStatement> {
    const messages = this.#messages;
    if (messages.length === 0) return;
    const bytes = new PacketBytes();
    const [session, message, qos, cost]: number[][] = [[], [], [], []];
    for (const change of messages) {
      bytes.add(change);
      for (const [{ key }, qosOfIt] of change.recipients) {
        session?.push(key);
        message?.push(change.message);
        qos?.push(qosOfIt);
        cost?.push(change.bytes);
      }
    }
    const ids = numbers(messages.map((change) => change.message));
    const topics = messages.map(({ topic }) => topic);
    yield { sql: putMessages, parameters: [...bytes.parameters, this.#node, ids, topics] };
    const columns = [session, message, qos, cost].map((column = []) => numbers(column));
    yield { sql: putQueue, parameters: [this.#node, ...columns] };
  }

  *#queueStatements(): Generator<UnitStatement> {
    if (this.#sent.size > 0) {
      const packetIds = numbers(this.#sent.changes().map(({ packetId }) => packetId));
      yield this.#ofQueue(updateSent, this.#sent, packetIds);
    }
    if (this.#released.size > 0) yield this.#ofQueue(updateReleased, this.#released);
    if (this.#acknowledged.size > 0) yield this.#ofQueue(deleteAcknowledged, this.#acknowledged);
    if (this.#dropped.size > 0) yield this.#ofQueue(deleteDropped, this.#dropped);
  }

  #ofQueue(
    sql: string,
    rows: LastChanges<{ readonly session: number; readonly message: number }>,
    ...further: readonly string[]
  ): UnitStatement {
    const changes = rows.changes();
    const columns = [changes.map(({ session }) => session), changes.map(({ message }) => message)].map(numbers);
    return {
      sql,
      parameters: [...columns, ...further],
      take: (changed) => {
        const found = new Set(changed.map((row) => `${row['session']}/${row['message']}`));
        rows.count(this.#counts, (row) => (found.has(String(row)) ? 1 : 0));
      },
    };
  }

  *#incomingStatements(): Generator<UnitStatement> {
    const put = this.#incoming.changes().filter((change) => change.kind === 'incoming');
    if (put.length > 0) {
      const bytes = new PacketBytes();
      for (const change of put) bytes.add(change);
      const columns = [
        numbers(put.map(({ session }) => session)),
        numbers(put.map(({ packetId }) => packetId)),
        put.map(({ topic }) => topic),
        numbers(put.map(({ qos }) => qos)),
        truths(put.map(({ retain }) => retain)),
      ];
      yield { sql: putIncoming, parameters: [...bytes.parameters, ...columns] };
    }
    const removed = this.#incoming.changes().filter((change) => change.kind === 'incoming-removed');
    if (removed.length > 0) {
      const columns = [removed.map(({ session }) => session), removed.map(({ packetId }) => packetId)];
      yield { sql: removeIncoming, parameters: columns.map(numbers) };
    }
  }

  *#willStatements(): Generator<UnitStatement> {
    const put = this.#wills.changes().filter((change) => change.kind === 'will');
    if (put.length > 0) {
      const bytes = new PacketBytes();
      for (const change of put) bytes.add(change);
      const columns = [
        put.map(({ clientId }) => clientId),
        put.map(({ brokerId }) => brokerId),
        numbers(put.map(({ user }) => user)),
        put.map(({ topic }) => topic),
        numbers(put.map(({ qos }) => qos)),
        truths(put.map(({ retain }) => retain)),
      ];
      yield { sql: putWills, parameters: [...bytes.parameters, ...columns] };
    }
    const removed = this.#wills.changes().filter((change) => change.kind === 'will-removed');
    if (removed.length > 0) {
      const columns = [removed.map(({ clientId }) => clientId), removed.map(({ brokerId }) => brokerId)];
      yield { sql: removeWills, parameters: columns };
    }
  }

  *#retainedStatements(): Generator<UnitStatement> {
    if (this.#retained.size === 0) return;
    const outcomes = new Map<string, number>();
    const take = (rows: readonly Record<string, unknown>[]) => {
      for (const { topic, outcome } of rows) outcomes.set(String(topic), Number(outcome));
      this.#retained.count(this.#counts, (topic) => outcomes.get(String(topic)) ?? 0);
    };
    const put = this.#retained.changes().filter((change) => change.kind === 'retained');
    for (const mayAdd of [true, false]) {
      const some = put.filter((change) => change.mayAdd === mayAdd);
      if (some.length === 0) continue;
      const bytes = new PacketBytes();
      for (const change of some) bytes.add(change);
      const columns = [
        some.map(({ topic }) => topic),
        numbers(some.map(({ qos }) => qos)),
        numbers(some.map(({ user }) => user)),
      ];
      yield { sql: mayAdd ? putRetained : updateRetained, parameters: [...bytes.parameters, ...columns], take };
    }
    const removed = this.#retained.changes().filter((change) => change.kind === 'retained-removed');
    if (removed.length > 0) yield { sql: removeRetained, parameters: [removed.map(({ topic }) => topic)], take };
  }

  *#usageStatements(): Generator<UnitStatement> {
    const usage = this.#usage.changes();
    if (usage.length === 0) return;
    const columns = [
      usage.map(({ user }) => user),
      usage.map(({ sessions }) => sessions),
      usage.map(({ bytes }) => bytes),
    ];
    yield { sql: putUsage, parameters: [this.#node, ...columns.map(numbers)] };
  }

  #countEnded(rows: readonly Record<string, unknown>[]): void {
    const cleared = new Map(rows.map(({ session, n }) => [Number(session), Number(n)]));
    this.#ended.count(this.#counts, (session) => cleared.get(Number(session)) ?? 0);
  }
}

const allAway = 'UPDATE mqtt_session SET away = $2 WHERE node = $1 AND away IS NULL';

const putSessions = `INSERT INTO mqtt_session (key, node, client_id, "user", away)
  SELECT x.key, $1::bigint, x.client_id, x."user", x.away
  FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) AS x (key, client_id, "user", away)
  ON CONFLICT (key) DO UPDATE SET
    node = excluded.node, client_id = excluded.client_id, "user" = excluded."user", away = excluded.away`;

const putAway = `UPDATE mqtt_session SET away = x.away FROM unnest($1::bigint[], $2::bigint[]) AS x (key, away)
  WHERE mqtt_session.key = x.key`;

const putFilters = `INSERT INTO mqtt_subscription (session, filter, qos, options)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::smallint[], $4::text[])
  ON CONFLICT (session, filter) DO UPDATE SET qos = excluded.qos, options = excluded.options`;

const removeFilters = `DELETE FROM mqtt_subscription USING unnest($1::bigint[], $2::text[]) AS x (session, filter)
  WHERE mqtt_subscription.session = x.session AND mqtt_subscription.filter = x.filter`;

/** Filters that are longer than is allowed now, some at a time. */
const clearOverlong = `DELETE FROM mqtt_subscription WHERE (session, filter) IN (
  SELECT session, filter FROM mqtt_subscription JOIN mqtt_session ON mqtt_session.key = session
  WHERE node = $1 AND octet_length(filter) > $2 LIMIT ${clearRowsMax})`;

const { unnest, names, payload, rest } = packetArrays;

const putMessages = `INSERT INTO mqtt_message (node, id, topic, payload, rest)
  SELECT $5::bigint, x.id, x.topic, ${payload}, ${rest}
  FROM unnest(${unnest}, $6::bigint[], $7::text[]) AS x (${names}, id, topic)`;

const putQueue = `INSERT INTO mqtt_queue (node, session, message, qos, bytes)
  SELECT $1::bigint, x.* FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bigint[]) AS x`;

const ofQueue = 'mqtt_queue.session = x.session AND mqtt_queue.message = x.message';
const changed = 'RETURNING mqtt_queue.session, mqtt_queue.message';

const updateSent = `UPDATE mqtt_queue SET packet_id = x.packet_id
  FROM unnest($1::bigint[], $2::bigint[], $3::integer[]) AS x (session, message, packet_id) WHERE ${ofQueue} ${changed}`;

const updateReleased = `UPDATE mqtt_queue SET released = true
  FROM unnest($1::bigint[], $2::bigint[]) AS x (session, message) WHERE ${ofQueue} ${changed}`;

const deleteAcknowledged = `DELETE FROM mqtt_queue
  USING unnest($1::bigint[], $2::bigint[]) AS x (session, message) WHERE ${ofQueue} ${changed}`;

const deleteDropped = `DELETE FROM mqtt_queue
  USING unnest($1::bigint[], $2::bigint[]) AS x (session, message) WHERE ${ofQueue} AND packet_id IS NULL ${changed}`;

const clearQueue = `DELETE FROM mqtt_queue WHERE session = $1 AND message IN (
  SELECT message FROM mqtt_queue WHERE session = $1 ORDER BY message LIMIT ${clearRowsMax})`;

const endSessions = `WITH ended AS (DELETE FROM mqtt_session WHERE key = ANY ($1::bigint[])),
  filters AS (DELETE FROM mqtt_subscription WHERE session = ANY ($1::bigint[])),
  incoming AS (DELETE FROM mqtt_incoming WHERE session = ANY ($1::bigint[])),
  slice AS (
    SELECT x.session, first.message FROM unnest($1::bigint[]) AS x (session) CROSS JOIN LATERAL (
      SELECT message FROM mqtt_queue WHERE mqtt_queue.session = x.session ORDER BY message LIMIT ${clearRowsMax}) AS first),
  gone AS (DELETE FROM mqtt_queue USING slice AS x WHERE ${ofQueue} RETURNING mqtt_queue.session)
  SELECT session, count(*) AS n FROM gone GROUP BY session`;

const putIncoming = `INSERT INTO mqtt_incoming (session, packet_id, topic, qos, retain, payload, rest)
  SELECT x.session, x.packet_id, x.topic, x.qos, x.retain, ${payload}, ${rest}
  FROM unnest(${unnest}, $5::bigint[], $6::integer[], $7::text[], $8::smallint[], $9::boolean[])
    AS x (${names}, session, packet_id, topic, qos, retain)
  ON CONFLICT (session, packet_id) DO UPDATE SET topic = excluded.topic, qos = excluded.qos, retain = excluded.retain,
    payload = excluded.payload, rest = excluded.rest`;

const removeIncoming = `DELETE FROM mqtt_incoming USING unnest($1::bigint[], $2::integer[]) AS x (session, packet_id)
  WHERE mqtt_incoming.session = x.session AND mqtt_incoming.packet_id = x.packet_id`;

const putWills = `INSERT INTO mqtt_will (client_id, broker_id, "user", topic, qos, retain, payload, rest)
  SELECT x.client_id, x.broker_id, x."user", x.topic, x.qos, x.retain, ${payload}, ${rest}
  FROM unnest(${unnest}, $5::text[], $6::text[], $7::bigint[], $8::text[], $9::smallint[], $10::boolean[])
    AS x (${names}, client_id, broker_id, "user", topic, qos, retain)
  ON CONFLICT (client_id, broker_id) DO UPDATE SET "user" = excluded."user", topic = excluded.topic, qos = excluded.qos,
    retain = excluded.retain, payload = excluded.payload, rest = excluded.rest`;

const removeWills = `DELETE FROM mqtt_will USING unnest($1::text[], $2::text[]) AS x (client_id, broker_id)
  WHERE mqtt_will.client_id = x.client_id AND mqtt_will.broker_id = x.broker_id`;

const retainedRows = `unnest(${unnest}, $5::text[], $6::smallint[], $7::bigint[]) AS x (${names}, topic, qos, "user")`;

// xmax is 0 in a row that is new. In the order of topics, so that two processes do not wait for each other.
const putRetained = `INSERT INTO mqtt_retained (topic, qos, "user", payload, rest)
  SELECT x.topic, x.qos, x."user", ${payload}, ${rest} FROM ${retainedRows} ORDER BY x.topic COLLATE "C"
  ON CONFLICT (topic) DO UPDATE SET qos = excluded.qos, "user" = excluded."user",
    payload = excluded.payload, rest = excluded.rest
  RETURNING topic, CASE WHEN xmax = 0 THEN ${retained.added} ELSE ${retained.replaced} END AS outcome`;

const updateRetained = `UPDATE mqtt_retained SET qos = x.qos, "user" = x."user", payload = ${payload}, rest = ${rest}
  FROM ${retainedRows} WHERE mqtt_retained.topic = x.topic RETURNING mqtt_retained.topic, ${retained.replaced} AS outcome`;

/** A removal counts as one row. */
const removeRetained = 'DELETE FROM mqtt_retained WHERE topic = ANY ($1::text[]) RETURNING topic, 1 AS outcome';

const clearRetained = `DELETE FROM mqtt_retained WHERE topic IN (
  SELECT topic FROM mqtt_retained WHERE "user" = $1 AND topic >= $2 AND topic < $3 LIMIT ${retainedPageRows})`;

const putUsage = `INSERT INTO mqtt_usage (node, "user", mqtt_sessions, mqtt_session_bytes)
  SELECT $1::bigint, x.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS x ("user", sessions, bytes)
  WHERE EXISTS (SELECT 1 FROM "user" WHERE "user".key = x."user")
  ON CONFLICT (node, "user") DO UPDATE SET
    mqtt_sessions = excluded.mqtt_sessions, mqtt_session_bytes = excluded.mqtt_session_bytes`;
