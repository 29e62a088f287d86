// Every write of MQTT sessions goes through here, in the order of the calls: what is written within one turn of the
// event loop, or while earlier writes are on their way, goes to the writer as one unit. Bounded (I4).
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { SqliteWriter } from '../threads/writer.ts';
import type { Statement } from '../threads/writer-protocol.ts';

interface Call {
  readonly statements: readonly Statement[];
  readonly resolve: (changes: readonly number[]) => void;
  readonly reject: (error: unknown) => void;
}

export class MqttWrites {
  readonly #writer: Pick<SqliteWriter, 'write'>;
  #calls: Call[] = [];
  #statements = 0;
  #unitsInFlight = 0;
  #scheduled = false;
  readonly #idle: (() => void)[] = [];

  constructor(writer: Pick<SqliteWriter, 'write'>) {
    this.#writer = writer;
  }

  /**
   * Writes all of the statements or none; resolves after the commit, in the order of the calls.
   * @returns how many rows each statement changed.
   * @throws Refusal `busy` when too many wait, `storage` when the disk refuses.
   */
  write(statements: readonly Statement[]): Promise<readonly number[]> {
    if (this.#statements + statements.length > waitingStatementsMax) {
      return Promise.reject(
        new Refusal('busy', 'More MQTT messages arrive than can be stored.', { retryAfterS: limits.busyRetryAfterS }),
      );
    }
    return this.finish(statements);
  }

  /**
   * The same for what brings something stored nearer to its end, an acknowledgement above all: that is never refused
   * for want of room. There are no more of these than messages stored.
   */
  finish(statements: readonly Statement[]): Promise<readonly number[]> {
    this.#statements += statements.length;
    return new Promise((resolve, reject) => {
      this.#calls.push({ statements, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    if (this.#calls.length === 0 && this.#unitsInFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#unitsInFlight >= unitsInFlightMax) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#calls.length > 0 && this.#unitsInFlight < unitsInFlightMax) this.#send(this.#takeUnit());
    });
  }

  #takeUnit(): Call[] {
    let count = 0;
    let statements = 0;
    while (count < this.#calls.length && (count === 0 || statements < unitStatementsMax)) {
      statements += this.#calls[count++]?.statements.length ?? 0;
    }
    this.#statements -= statements;
    return this.#calls.splice(0, count);
  }

  #send(unit: readonly Call[]): void {
    this.#unitsInFlight += 1;
    const statements = unit.flatMap((call) => call.statements);
    // `deliveryBytesMax` bounds what they bring, and what ends something must not be refused.
    this.#writer.write(statements, { isWeighed: false }).then(
      (changes) => {
        let first = 0;
        for (const { statements: own, resolve } of unit) {
          resolve(changes.slice(first, first + own.length));
          first += own.length;
        }
        this.#finished();
      },
      (error) => {
        for (const call of unit) call.reject(error);
        this.#finished();
      },
    );
  }

  #finished(): void {
    this.#unitsInFlight -= 1;
    if (this.#calls.length > 0) this.#schedule();
    else if (this.#unitsInFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}

// Ingest is held up at limits.deliveriesMax messages on their way to subscribers, each of them two statements here; so
// this bound is for what does not come from there.
const waitingStatementsMax = 2 * limits.deliveriesMax + limits.queueStatementsMax;
// While units are on their way the next gathers; with this many the writer never waits for one, and with units of
// this size the sessions leave room in the writer's queue for the registry.
const unitsInFlightMax = 4;
const unitStatementsMax = 5_000;
