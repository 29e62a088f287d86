// Hands all changes of MQTT state to the engine in the order of the calls. Those of one turn of the event loop, and those
// made while as many units are under way as the engine wants, become one unit, because each unit costs a message to the
// writer, or a commit. Bounded (I4).
import { isTransient, Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { JoinedWrites } from '../../../domain/ports/mqtt-sessions.ts';
import type { MqttChange, MqttTables } from './mqtt-tables.ts';

/** What is asked for at once, or by several who want it in one unit. */
interface Call {
  readonly parts: readonly CallPart[];
  readonly joined: JoinedWrites | undefined;
  /** Rows that it writes, about. */
  readonly weight: number;
}

interface CallPart {
  readonly changes: readonly MqttChange[];
  readonly resolve: (counts: readonly number[]) => void;
  readonly reject: (error: unknown) => void;
}

export class MqttWrites {
  readonly #tables: Pick<MqttTables, 'write' | 'unitsAtOnce'>;
  #calls: Call[] = [];
  #weight = 0;
  #unitsInFlight = 0;
  #scheduled = false;
  readonly #idle: (() => void)[] = [];
  /** True when the service closes: long reads take no further step. */
  closed = false;

  constructor(tables: Pick<MqttTables, 'write' | 'unitsAtOnce'>) {
    this.#tables = tables;
  }

  /**
   * Stores all changes or none; resolves after the commit, in the order of the calls.
   * @param joined stored, or refused, with those of other calls of this turn of the event loop that name the same.
   * @returns what each change counts as.
   * @throws Refusal `busy` when too many wait, `storage` when the disk refuses.
   */
  write(changes: readonly MqttChange[], joined?: JoinedWrites): Promise<readonly number[]> {
    const before = joined && this.#takeJoined(joined);
    if (this.#weight + weightOf(changes) > waitingRowsMax) {
      const busy = new Refusal('busy', 'More MQTT messages arrive than can be stored.', {
        retryAfterS: limits.busyRetryAfterS,
      });
      for (const { reject } of before?.parts ?? []) reject(busy);
      return Promise.reject(busy);
    }
    return this.#put(changes, joined, before);
  }

  /**
   * As `write`, for changes that remove something stored, such as acknowledgements: never refused as `busy`. There
   * cannot be more of these than stored messages.
   */
  finish(changes: readonly MqttChange[]): Promise<readonly number[]> {
    return this.#put(changes);
  }

  #put(changes: readonly MqttChange[], joined?: JoinedWrites, before?: Call): Promise<readonly number[]> {
    const weight = weightOf(changes) + (before?.weight ?? 0);
    this.#weight += weight;
    return new Promise((resolve, reject) => {
      const part = { changes, resolve, reject };
      this.#calls.push({ parts: before === undefined ? [part] : [...before.parts, part], joined, weight });
      this.#schedule();
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
    if (this.#scheduled || this.#unitsInFlight >= this.#tables.unitsAtOnce) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#calls.length > 0 && this.#unitsInFlight < this.#tables.unitsAtOnce) this.#send(this.#takeUnit());
    });
  }

  #takeUnit(): Call[] {
    let count = 0;
    let weight = 0;
    while (count < this.#calls.length && (count === 0 || weight < unitRowsMax)) {
      weight += this.#calls[count++]?.weight ?? 0;
    }
    this.#weight -= weight;
    return this.#calls.splice(0, count);
  }

  #send(unit: readonly Call[]): void {
    this.#unitsInFlight += 1;
    this.#tables.write(unit.flatMap(changesOf)).then(
      (counts) => {
        answer(unit, counts);
        this.#finished();
      },
      async (error) => {
        // What is wrong with one call must not have the others refused.
        if (unit.length > 1 && !(error instanceof Refusal && isTransient(error))) await this.#sendEach(unit);
        else refuse(unit, error);
        this.#finished();
      },
    );
  }

  async #sendEach(unit: readonly Call[]): Promise<void> {
    for (const call of unit) {
      await this.#tables.write(changesOf(call)).then(
        (counts) => answer([call], counts),
        (error: unknown) => refuse([call], error),
      );
    }
  }

  #finished(): void {
    this.#unitsInFlight -= 1;
    if (this.#calls.length > 0) this.#schedule();
    else if (this.#unitsInFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
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

function refuse(unit: readonly Call[], error: unknown): void {
  for (const { parts } of unit) for (const { reject } of parts) reject(error);
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
