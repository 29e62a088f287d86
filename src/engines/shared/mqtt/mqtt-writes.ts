// Sends all writes of MQTT state to the writer thread in the order of the calls. Writes of one turn of the event loop,
// and those made while `unitsInFlightMax` units are under way, become one unit, because each unit costs a message between
// threads. Bounded (I4).
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { DatabaseWriter, Statement } from '../database/database-writer.ts';

interface Call {
  readonly statements: readonly Statement[];
  readonly resolve: (changes: readonly number[]) => void;
  readonly reject: (error: unknown) => void;
}

export class MqttWrites {
  readonly #writer: Pick<DatabaseWriter, 'write'>;
  #calls: Call[] = [];
  #statements = 0;
  #unitsInFlight = 0;
  #scheduled = false;
  readonly #idle: (() => void)[] = [];

  constructor(writer: Pick<DatabaseWriter, 'write'>) {
    this.#writer = writer;
  }

  /**
   * Writes all statements or none; resolves after the commit, in the order of the calls.
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
   * As `write`, for statements that remove something stored, such as acknowledgements: never refused as `busy`. There
   * cannot be more of these than stored messages.
   */
  finish(statements: readonly Statement[]): Promise<readonly number[]> {
    this.#statements += statements.length;
    return new Promise((resolve, reject) => {
      this.#calls.push({ statements, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when no write is pending. */
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
    // The writer's bound in bytes does not apply: `deliveryBytesMax` bounds the bytes, and removing must not be refused.
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

// At limits.deliveriesMax messages on their way to subscribers ingest waits; each of those is two statements here. The
// rest of this bound is for other writes.
const waitingStatementsMax = 2 * limits.deliveriesMax + limits.queueStatementsMax;
// Units under way at once, so that the writer never waits for the next. Units are small enough to leave room in the
// writer's queue for the registry.
const unitsInFlightMax = 4;
const unitStatementsMax = 5_000;
