// Hands all changes of MQTT state to the engine in the order of the calls. Those of one turn of the event loop, and those
// made while as many units are under way as the engine wants, become one unit, because each unit costs a message to the
// writer, or a commit. What may not be lost is kept in its place where the database is away, and sent again until it stands. Bounded (I4).
import { isTransient, Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { JoinedWrites } from '../../../domain/ports/mqtt-sessions.ts';
import { storageRefusal, unknownOutcome } from '../write-failure.ts';
import type { MqttChange, MqttTables } from './mqtt-tables.ts';

/** What is asked for at once, or by several who want it in one unit. */
interface Call {
  readonly parts: readonly CallPart[];
  readonly joined: JoinedWrites | undefined;
  /** Its place in the order of the calls. */
  readonly number: number;
  /** Sent again where the database was away. */
  readonly isKept: boolean;
  /** When it was asked for, by the monotonic clock. */
  readonly sinceMs: number;
  /** Rows that it writes, about. */
  readonly weight: number;
}

/** How changes are stored. */
export interface Writing {
  /** Stored, or refused, with those of other calls of this turn of the event loop that name the same. */
  readonly joined?: JoinedWrites | undefined;
  /** Where the database is away it is stored when it is back, before all that was asked for later. */
  readonly isKept?: boolean | undefined;
}

interface CallPart {
  readonly changes: readonly MqttChange[];
  readonly resolve: (counts: readonly number[]) => void;
  readonly reject: (error: unknown) => void;
}

type Tables = Pick<MqttTables, 'write' | 'unitsAtOnce' | 'countsRecipients' | 'mayPass'>;

export class MqttWrites {
  readonly #tables: Tables;
  readonly #onLost: (error: unknown) => void;
  #calls: Call[] = [];
  #lastCall = 0;
  #weight = 0;
  #unitsInFlight = 0;
  #scheduled = false;
  /** Set while nothing is sent, because the database was away just now. */
  #pause: NodeJS.Timeout | undefined;
  readonly #idle: (() => void)[] = [];
  /** True when the service closes: long reads take no further step. */
  closed = false;
  #isTrying = false;
  #refusesSoon = false;
  /** How often something was refused in the end that was to be kept: who has its session next has to read it again. */
  lost = 0;
  /** True when the service stops: what the database refuses is not sent again. */
  isLast = false;

  /** @param onLost called where something is refused in the end that was to be kept. */
  constructor(tables: Tables, onLost: (error: unknown) => void = () => {}) {
    this.#tables = tables;
    this.#onLost = onLost;
  }

  /**
   * Stores all changes or none; resolves after the commit, in the order of the calls.
   * @returns what each change counts as.
   * @throws Refusal `busy` when too many wait, `storage` when the disk refuses.
   */
  write(changes: readonly MqttChange[], { joined, isKept = false }: Writing = {}): Promise<readonly number[]> {
    const before = joined && this.#takeJoined(joined);
    // What is kept is bounded by what may be on its way to subscribers.
    if (!isKept && this.#weight + weightOf(changes) > waitingRowsMax) {
      const busy = new Refusal('busy', 'More MQTT messages arrive than can be stored.', {
        retryAfterS: limits.busyRetryAfterS,
      });
      for (const { reject } of before?.parts ?? []) reject(busy);
      return Promise.reject(busy);
    }
    return this.#put(changes, { joined, isKept, before });
  }

  /**
   * As `write`, for changes that remove something stored, such as acknowledgements: never refused as `busy`. There
   * cannot be more of these than stored messages.
   */
  finish(changes: readonly MqttChange[]): Promise<readonly number[]> {
    return this.#put(changes);
  }

  #put(
    changes: readonly MqttChange[],
    { joined, isKept = false, before }: Writing & { readonly before?: Call | undefined } = {},
  ): Promise<readonly number[]> {
    const weight = weightOf(changes) + (before?.weight ?? 0);
    this.#weight += weight;
    return new Promise((resolve, reject) => {
      const part = { changes, resolve, reject };
      const parts = before === undefined ? [part] : [...before.parts, part];
      this.#calls.push({
        ...{ parts, joined, weight, number: ++this.#lastCall },
        isKept: isKept || before?.isKept === true,
        sinceMs: before?.sinceMs ?? performance.now(),
      });
      if (this.#isStuck) this.#refuseSoon();
      else this.#schedule();
    });
  }

  /** Takes back what waits to be stored with others: it goes with the last of them, whose order is the one that matters. */
  #takeJoined(joined: JoinedWrites): Call | undefined {
    const at = this.#calls.findLastIndex((call) => call.joined === joined);
    if (at < 0) return undefined;
    const [call] = this.#calls.splice(at, 1);
    this.#weight -= call?.weight ?? 0;
    return call;
  }

  /** Resolves when no write is pending. */
  idle(): Promise<void> {
    if (this.#calls.length === 0 && this.#unitsInFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#pause !== undefined || this.#unitsInFlight >= this.#unitsAtOnce) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#calls.length > 0 && this.#unitsInFlight < this.#unitsAtOnce) this.#send(this.#takeUnit());
    });
  }

  /** One at a time is tried after something had to be sent again. */
  get #unitsAtOnce(): number {
    return this.#isTrying ? 1 : this.#tables.unitsAtOnce;
  }

  #takeUnit(): Call[] {
    let count = 0;
    let weight = 0;
    while (count < this.#calls.length && (count === 0 || weight < unitRowsMax)) {
      weight += this.#rowsOf(this.#calls[count++] as Call);
    }
    const unit = this.#calls.splice(0, count);
    for (const call of unit) this.#weight -= call.weight;
    return unit;
  }

  #rowsOf(call: Call): number {
    if (this.#tables.countsRecipients !== true) return call.weight;
    const recipients = (change: MqttChange) => (change.kind === 'message' ? change.recipients.size : 0);
    return changesOf(call).reduce((sum, change) => sum + recipients(change), call.weight);
  }

  #send(unit: readonly Call[]): void {
    this.#unitsInFlight += 1;
    const impatient = this.#refuseLate(unit);
    this.#write(unit).then(
      (counts) => {
        clearTimeout(impatient);
        this.#isTrying = false;
        answer(unit, counts);
        this.#finished();
      },
      async (error) => {
        // What is wrong with one call must not have the others refused.
        if (unit.length > 1 && !(error instanceof Refusal && isTransient(error))) await this.#sendEach(unit);
        else this.#refuse(unit, error);
        clearTimeout(impatient);
        this.#finished();
      },
    );
  }

  async #sendEach(unit: readonly Call[]): Promise<void> {
    for (const [n, call] of unit.entries()) {
      try {
        answer([call], await this.#write([call]));
        this.#isTrying = false;
      } catch (error) {
        if (!this.#mayStandLater(call, error)) refuse(call, error);
        else {
          // What comes behind it waits for it.
          this.#refuse(unit.slice(n), error);
          return;
        }
      }
    }
    this.#endTrying();
  }

  #endTrying(): void {
    if (!this.#calls.some(({ isKept }) => isKept)) this.#isTrying = false;
  }

  #write(unit: readonly Call[]): Promise<readonly number[]> {
    const isPatient = !this.isLast && unit.some(({ isKept }) => isKept);
    return this.#tables.write(unit.flatMap(changesOf), { isPatient });
  }

  #mayStandLater({ isKept, sinceMs }: Call, error: unknown): boolean {
    if (!isKept) return false;
    const isInTime = !this.isLast && performance.now() < sinceMs + limits.mqttWriteKeptMsMax;
    const may = isInTime && this.#tables.mayPass?.(error) === true;
    if (may) return true;
    this.lost += 1;
    if (!this.isLast) this.#onLost(error);
    return false;
  }

  /** Who is not kept need not wait for as long as what is kept beside it: nobody knows then what becomes of it. */
  #refuseLate(unit: readonly Call[]): NodeJS.Timeout | undefined {
    if (this.#tables.mayPass === undefined || !unit.some(({ isKept }) => isKept)) return undefined;
    const timer = setTimeout(() => {
      // It is slow, but there.
      if (!this.#isAway) {
        timer.refresh();
        return;
      }
      const error = unknownOutcome(new Error('The database does not answer.'));
      for (const call of unit) if (!call.isKept) refuse(call, error);
      this.#refuseOthers(error);
    }, limits.postgresOutcomeMs).unref();
    return timer;
  }

  /** Whether there is no connection to the database. */
  get #isAway(): boolean {
    return this.#tables.unitsAtOnce === Number.POSITIVE_INFINITY;
  }

  /** Whether nothing can be sent before what is kept. */
  get #isStuck(): boolean {
    return this.#isTrying && this.#isAway;
  }

  /** At the end of the turn: until then a call may be joined by one that is kept. */
  #refuseSoon(): void {
    if (this.#refusesSoon) return;
    this.#refusesSoon = true;
    setImmediate(() => {
      this.#refusesSoon = false;
      if (this.#isStuck) this.#refuseOthers(storageRefusal(new Error('There is no connection to the database.')));
      if (this.#calls.length > 0) this.#schedule();
      else this.#lookIdle();
    });
  }

  /** Without a connection, who is not kept is told so at once. */
  #refuseOthers(error: unknown): void {
    if (!this.#isAway) return;
    const others = this.#calls.filter(({ isKept }) => !isKept);
    this.#calls = this.#calls.filter(({ isKept }) => isKept);
    for (const call of others) {
      this.#weight -= call.weight;
      refuse(call, error);
    }
  }

  /** What is kept takes its place before all that was asked for later; the next try is a moment later. */
  #refuse(unit: readonly Call[], error: unknown): void {
    const kept = unit.filter((call) => this.#mayStandLater(call, error));
    const keptCalls = new Set(kept);
    for (const call of unit) if (!keptCalls.has(call)) refuse(call, error);
    if (kept.length === 0) {
      this.#endTrying();
      return;
    }
    for (const { weight } of kept) this.#weight += weight;
    // Units that are refused at once may be several, and their answers come in any order.
    this.#calls = [...kept, ...this.#calls].sort((one, other) => one.number - other.number);
    this.#isTrying = true;
    this.#refuseOthers(error);
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#schedule();
    }, limits.mqttWriteRetryMs);
  }

  #finished(): void {
    this.#unitsInFlight -= 1;
    if (this.#calls.length > 0) this.#schedule();
    else this.#lookIdle();
  }

  #lookIdle(): void {
    if (this.#unitsInFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function changesOf({ parts }: Call): readonly MqttChange[] {
  return parts.length === 1 ? (parts[0] as CallPart).changes : parts.flatMap(({ changes }) => changes);
}

function answer(unit: readonly Call[], counts: readonly number[]): void {
  let first = 0;
  for (const { parts } of unit) {
    for (const { changes, resolve } of parts) {
      resolve(counts.slice(first, first + changes.length));
      first += changes.length;
    }
  }
}

function refuse({ parts }: Call, error: unknown): void {
  for (const { reject } of parts) reject(error);
}

// At limits.deliveriesMax messages on their way to subscribers ingest waits; each of those is two rows here. The rest of
// this bound is for other writes.
const waitingRowsMax = 2 * limits.deliveriesMax + limits.queueStatementsMax;
// Units are small enough to leave room in the writer's queue for the registry.
const unitRowsMax = 5_000;

/** The statements that the changes take in the embedded engine, where they share a queue with the registry. */
function weightOf(changes: readonly MqttChange[]): number {
  let weight = 0;
  for (const { kind } of changes) weight += heavy[kind] ?? 1;
  return weight;
}

const heavy: { readonly [K in MqttChange['kind']]?: number } = { message: 2, retained: 2, 'session-ended': 4 };
