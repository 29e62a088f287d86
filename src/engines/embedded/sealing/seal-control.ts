// Leads passes of sealing from the writer thread: starts the sealer thread with the first one, takes its units in one by
// one, and begins anew after a while where the disk refused. One pass at a time.
import { Worker } from 'node:worker_threads';
import { limits } from '../../../config/limits.ts';
import { writeFailureOf } from '../database/database-error.ts';
import type { DatapointWriter } from '../log/datapoint-writer.ts';
import type { SealerCommand, SealerMessage, SealUnit } from '../threads/seal-protocol.ts';
import type { WriteFailure } from '../threads/writer-protocol.ts';

interface SealControlParts {
  readonly path: string;
  readonly datapoints: DatapointWriter;
  /** Sensors there are: all of them may send, until a pass tells how many do. */
  readonly countSensors: () => number;
  /** Called when a pass has ended, with the seq up to which the log is sealed. */
  readonly onSealed: (seq: number) => void;
  /** Called when a pass was cut off; it goes on after a while. */
  readonly onFailure: (failure: WriteFailure) => void;
  /** Called with what is to be said of rows of the log that could not be read. */
  readonly onDamaged: (what: string) => void;
}

export class SealControl {
  readonly #parts: SealControlParts;
  #sealer: Worker | undefined;
  #isUnderWay = false;
  /** Number of the pass under way: what comes of another was planned before this one, and is let be. */
  #pass = 0;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #failure: WriteFailure | undefined;
  /** Passes that were cut off since the last one that was not. */
  #cutOff = 0;
  /** Datapoints in the log at which the next pass begins. */
  #rowsMin: number = limits.sealRowsMin;
  #hasCounted = false;
  /** Datapoints in the log for which commits wait; with a long log from before, when a whole pass has told of its sensors. */
  #rowsBehind: number;

  constructor(parts: SealControlParts) {
    this.#parts = parts;
    const isShort = parts.datapoints.logRows <= limits.sealRowsMin;
    this.#rowsBehind = isShort ? limits.sealRowsMin * limits.sealBehindFactor : Number.POSITIVE_INFINITY;
  }

  /** Why the last pass was cut off, while the next one waits. */
  get failure(): WriteFailure | undefined {
    return this.#failure;
  }

  /** True when the log is long enough for a pass. */
  get isDue(): boolean {
    const { logRows, freshTextChars } = this.#parts.datapoints;
    if (freshTextChars >= limits.sealTextCharsMax) return true;
    if (logRows < this.#rowsMin) return false;
    if (!this.#hasCounted) this.#countSensors();
    return logRows >= this.#rowsMin;
  }

  /** True when the log has grown so much over what begins a pass that commits had better wait: it is all in memory. */
  get isBehind(): boolean {
    return this.#parts.datapoints.logRows > this.#rowsBehind;
  }

  /**
   * Begins a pass over what is in the log now, unless one is under way; of a log that has grown long over the last one,
   * over some of it, because the sealer has all of a pass in memory.
   */
  begin(): void {
    if (this.#isUnderWay || this.#failure !== undefined || this.#parts.datapoints.logRows === 0) return;
    this.#isUnderWay = true;
    const rows = Math.min(this.#rowsMin * limits.sealPassFactor, limits.sealRowsMax);
    try {
      const upTo = this.#parts.datapoints.beginPass(rows);
      this.#sealer ??= this.#start();
      this.#beginPass(upTo);
    } catch (error) {
      this.#fail(writeFailureOf(error));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#isUnderWay = true;
    await this.#sealer?.terminate();
  }

  #start(): Worker {
    const sealer = new Worker(new URL('../threads/sealer-thread.ts', import.meta.url), {
      workerData: { path: this.#parts.path },
      resourceLimits: { maxYoungGenerationSizeMb: limits.threadYoungMib },
    });
    sealer.on('message', (message: SealerMessage) => {
      if (message.pass !== this.#pass) return;
      if (message.kind === 'unit') this.#take(message.unit);
      else this.#fail(message.failure);
    });
    sealer.on('error', (error) => {
      this.#sealer = undefined;
      this.#fail(writeFailureOf(error));
    });
    sealer.unref();
    return sealer;
  }

  #take(unit: SealUnit): void {
    try {
      if (!this.#parts.datapoints.seal(unit)) {
        // Retention or a purge has taken a chunk meanwhile: the pass goes on from there with what there is now.
        this.#beginPass(unit.upTo);
        return;
      }
    } catch (error) {
      this.#fail(writeFailureOf(error));
      return;
    }
    for (const what of unit.damage?.told ?? []) this.#parts.onDamaged(what);
    if (unit.end === undefined) {
      this.#order({ kind: 'next' });
      return;
    }
    const { sensors, datapoints } = unit.end;
    const isWhole = datapoints >= this.#rowsMin;
    this.#expect(sensors);
    if (isWhole) this.#rowsBehind = this.#rowsMin * limits.sealBehindFactor;
    this.#clear(unit.upTo);
  }

  /** Where they cannot be counted now, a pass tells of them. */
  #countSensors(): void {
    try {
      this.#expect(this.#parts.countSensors());
    } catch {
      this.#hasCounted = true;
    }
  }

  /** So many sensors send: the next pass begins with some datapoints of each. */
  #expect(sensors: number): void {
    this.#hasCounted = true;
    const wanted = sensors * limits.sealRowsPerSensor;
    this.#rowsMin = Math.min(limits.sealRowsMax, Math.max(limits.sealRowsMin, wanted));
    this.#rowsBehind = Math.max(this.#rowsBehind, this.#rowsMin * limits.sealBehindFactor);
  }

  /** All of the pass is in chunks: the log goes, some at a time, so that commits come between. */
  #clear(upTo: number): void {
    if (this.#isClosed) return;
    const { datapoints } = this.#parts;
    try {
      if (!datapoints.clearSome(upTo)) {
        setImmediate(() => this.#clear(upTo));
        return;
      }
    } catch (error) {
      // What is left when the log has gone, the end of the next pass forgets too.
      if (datapoints.sealedSeq < upTo) {
        this.#fail(writeFailureOf(error));
        return;
      }
    }
    this.#isUnderWay = false;
    this.#cutOff = 0;
    this.#parts.onSealed(upTo);
  }

  /** What is done stays done; the rest of the log stays as it is, and reads go on from it. */
  #fail(failure: WriteFailure): void {
    this.#isUnderWay = false;
    this.#pass += 1;
    this.#failure = failure;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(
      () => {
        this.#failure = undefined;
        this.begin();
      },
      limits.sealRetryMs * 2 ** Math.min(this.#cutOff, limits.sealRetryDoublings),
    );
    this.#cutOff += 1;
    this.#retry.unref();
    this.#parts.onFailure(failure);
  }

  #beginPass(upTo: number): void {
    this.#pass += 1;
    this.#order({ kind: 'pass', pass: this.#pass, upTo });
  }

  #order(command: SealerCommand): void {
    this.#sealer?.postMessage(command);
  }
}
