// Runs passes of sealing from the writer thread, one at a time: starts the sealer thread with the first, stores its
// units one by one, and retries later where the disk refused.
import type { Worker } from 'node:worker_threads';
import { limits } from '../../../config/limits.ts';
import { sealingDebtOf } from '../../shared/sealing/sealing-debt.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import { writeFailureOf } from '../database/database-error.ts';
import type { DatapointWriter } from '../log/datapoint-writer.ts';
import type { SealerCommand, SealerMessage, SealUnit } from './seal-protocol.ts';
import type { SealWriter } from './seal-writer.ts';

interface SealControlParts {
  /** Starts the sealer thread. */
  readonly startSealer: () => Worker;
  readonly datapoints: DatapointWriter;
  readonly sealWriter: SealWriter;
  /** Counts all sensors: an estimate of the active ones, used until a pass has counted those. */
  readonly countSensors: () => number;
  /** Called when a unit was stored: chunks have been replaced. */
  readonly onUnit: () => void;
  /** Called when a pass has ended; the log is sealed up to this seq. */
  readonly onSealed: (seq: number) => void;
  /** Called when a pass was interrupted; it is continued later. */
  readonly onFailure: (failure: WriteFailure) => void;
  /** Called with a sentence about each log row that could not be read. */
  readonly onDamaged: (what: string) => void;
}

export class SealControl {
  readonly #parts: SealControlParts;
  #sealer: Worker | undefined;
  #isUnderWay = false;
  /** Number of the present pass. Messages of earlier passes are ignored, because they were planned before it. */
  #pass = 0;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #failure: WriteFailure | undefined;
  /** Passes interrupted in succession. */
  #cutOff = 0;
  /** The next pass begins when the log has this many datapoints. */
  #rowsMin: number = limits.sealRowsMin;
  #hasCounted = false;
  /**
   * Large batches wait while the log has more datapoints than this. Infinite after a start with a long log, until a
   * whole pass has counted the sensors.
   */
  #rowsBehind: number;

  constructor(parts: SealControlParts) {
    this.#parts = parts;
    const isShort = parts.datapoints.logRows <= limits.sealRowsMin;
    this.#rowsBehind = isShort ? limits.sealRowsMin * limits.sealBehindFactor : Number.POSITIVE_INFINITY;
  }

  /** True while a pass may store datapoints that it has read from the log before. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** Why the last pass was interrupted; undefined once the next one begins. */
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

  /** True when the log, all of which is in memory, has grown so far that large batches should wait. */
  get isBehind(): boolean {
    return this.#parts.datapoints.logRows > this.#rowsBehind;
  }

  /** How far it is behind, from 0 to 1. */
  get debt(): number {
    return sealingDebtOf({
      rows: this.#parts.datapoints.logRows,
      textChars: this.#parts.datapoints.textChars,
      rowsMin: this.#rowsMin,
      rowsBehind: this.#rowsBehind,
    });
  }

  /**
   * Begins a pass over the log, unless one is under way. Of a log that has grown long only a part goes into the pass,
   * because the sealer holds a whole pass in memory.
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
    const sealer = this.#parts.startSealer();
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
      if (!this.#parts.sealWriter.take(unit)) {
        // Retention or a purge has deleted a chunk meanwhile: the pass is planned again from here.
        this.#beginPass(unit.upTo);
        return;
      }
    } catch (error) {
      this.#fail(writeFailureOf(error));
      return;
    }
    this.#parts.onUnit();
    for (const what of unit.damage?.descriptions ?? []) this.#parts.onDamaged(what);
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

  /** Where counting fails, the next pass counts. */
  #countSensors(): void {
    try {
      this.#expect(this.#parts.countSensors());
    } catch {
      this.#hasCounted = true;
    }
  }

  /** Sets when the next pass begins from the number of sensors that send: some datapoints of each. */
  #expect(sensors: number): void {
    this.#hasCounted = true;
    const wanted = sensors * limits.sealRowsPerSensor;
    this.#rowsMin = Math.min(limits.sealRowsMax, Math.max(limits.sealRowsMin, wanted));
    this.#rowsBehind = Math.max(this.#rowsBehind, this.#rowsMin * limits.sealBehindFactor);
  }

  /** All units of the pass are stored: deletes the sealed log rows in steps, between which commits have their turn. */
  #clear(upTo: number): void {
    if (this.#isClosed) return;
    const { datapoints, sealWriter } = this.#parts;
    try {
      if (!sealWriter.clearSome(upTo)) {
        setImmediate(() => this.#clear(upTo));
        return;
      }
    } catch (error) {
      // The rest is kept for the watcher, and deleted at the end of the next pass.
      if (datapoints.sealedSeq < upTo) {
        this.#fail(writeFailureOf(error));
        return;
      }
    }
    this.#isUnderWay = false;
    this.#cutOff = 0;
    this.#parts.onSealed(upTo);
  }

  /** Units already stored stay; the rest of the log stays too, and reads use it. */
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
