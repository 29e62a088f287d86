// Makes few statements of many changes of MQTT state: changes of one kind become one statement, with arrays as parameters. The kinds
// have an order in which all changes of a part may be made; where a change must come after one that is later in this order, a
// new part begins. Called by mqtt-tables.ts for each unit, which is one transaction.
import { limits } from '../../../config/limits.ts';
import type {
  IncomingChange,
  MessageChange,
  MqttChange,
  RetainedChange,
  SessionChange,
  WillChange,
} from '../../shared/mqtt/mqtt-tables.ts';
import { formats } from '../database/formats.ts';
import { LastChanges } from './last-changes.ts';
import {
  allAway,
  clearOverlong,
  clearQueue,
  clearRetained,
  deleteAcknowledged,
  deleteDropped,
  endSessions,
  putAway,
  putFilters,
  putIncoming,
  putMessages,
  putQueue,
  putRetained,
  putSessions,
  putUsage,
  putWills,
  removeFilters,
  removeIncoming,
  removeRetained,
  removeWills,
  updateReleased,
  updateRetained,
  updateSent,
} from './mqtt-sql.ts';
import { numbers, PacketBytes, truths } from './parameter-arrays.ts';

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

/** @param node the node that the sessions belong to. @param format in which every server reads what is put of a session. */
export function planUnit(
  changes: readonly MqttChange[],
  node: number,
  format: number = formats.session.oldest,
): PlannedUnit {
  const counts = new Array<number>(changes.length).fill(0);
  const statements: UnitStatement[] = [];
  let part = new UnitPart({ node, format }, counts);
  const end = () => {
    statements.push(...part.statements());
    part = new UnitPart({ node, format }, counts);
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

type Kind<K extends MqttChange['kind']> = Extract<MqttChange, { readonly kind: K }>;

const queueRow = ({ session, message }: { readonly session: number; readonly message: number }) =>
  `${session}/${message}`;

class UnitPart {
  readonly #node: number;
  readonly #format: number;
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

  constructor({ node, format }: { readonly node: number; readonly format: number }, counts: number[]) {
    this.#node = node;
    this.#format = format;
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
        numbers(sessions.map(({ expiryS }) => expiryS)),
      ];
      yield { sql: putSessions, parameters: [this.#node, ...columns, this.#format] };
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
        numbers(some.map(({ extra }) => extra)),
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
