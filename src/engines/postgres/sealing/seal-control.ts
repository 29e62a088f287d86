// Runs passes of sealing from the main thread, one at a time, and retries later where the database refused. Edits of the log
// and passes exclude each other, in this process and among servers: what a pass has read of the log must not be changed before it is
// in chunks. Of several servers one makes the passes.
import { limits } from '../../../config/limits.ts';
import { sealingDebtOf } from '../../shared/sealing/sealing-debt.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import { writeFailureOf } from '../database/database-error.ts';
import { type Store, StoreFailure } from '../log/store.ts';
import type { PassOrder } from '../log/store-protocol.ts';

/** What there is to seal. */
export interface Sealable {
  /** Number of datapoints in the log that are not sealed, characters of their texts, and the seq of the last one. */
  readonly rows: number;
  readonly textChars: number;
  readonly lastSeq: number;
  readonly sealedSeq: number;
  /** Rows without datapoints since the last pass, and their bytes. */
  readonly without: { readonly rows: number; readonly bytes: number };
  /** True where the log has rows that are not sealed, with or without datapoints. */
  readonly hasRows: boolean;
  /** Whether a pass has broken off, as far as the database knows. */
  readonly isCutOff: boolean;
  /** The order for a pass over so many datapoints, about, the oldest; undefined where there is nothing. */
  nextPass(rows: number): PassOrder | undefined;
  /** A pass has ended. */
  sealed(order: PassOrder): void;
}

interface SealControlParts {
  readonly store: Store;
  readonly log: Sealable;
  /** Whether this server makes the passes. */
  readonly isOurs: () => boolean;
  /** Runs work in the turn of all servers, when what was done in turns before is known here. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Counts all sensors: an estimate of the active ones, used until a pass has counted those. */
  readonly countSensors: () => Promise<number>;
  /** Called when a pass was interrupted; it is continued later. */
  readonly onFailure: (error: Error) => void;
  /** Called with a sentence about each log row that could not be read. */
  readonly onDamaged: (what: string) => void;
  /** Called when a pass is stored as a whole. */
  readonly afterPass: () => Promise<void>;
  /** Called when a pass has ended, whole or not: what waits for it may go on. */
  readonly onEnded: () => void;
}

export class SealControl {
  readonly #parts: SealControlParts;
  #underWay: Promise<void> | undefined;
  /** Edits wait for each other, and passes for them. */
  #exclusive: Promise<unknown> = Promise.resolve();
  #exclusiveCount = 0;
  /** A pass was to begin while others had the log: it begins before the next of them, so that it never waits for long. */
  #isWanted = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;
  #hourly: NodeJS.Timeout | undefined;
  #failure: WriteFailure | undefined;
  /** Passes interrupted in succession. */
  #cutOff = 0;
  /** The next pass begins when the log has this many datapoints. */
  #rowsMin: number = limits.sealRowsMin;
  #hasCounted = false;
  /** Large batches wait while the log has more datapoints than this; any, until a whole pass has counted the sensors. */
  #rowsBehind: number = Number.POSITIVE_INFINITY;

  constructor(parts: SealControlParts) {
    this.#parts = parts;
  }

  start(): void {
    const { log } = this.#parts;
    if (log.rows <= limits.sealRowsMin) this.#rowsBehind = limits.sealRowsMin * limits.sealBehindFactor;
    this.#hourly = setInterval(() => this.begin(), limits.sealEveryMs);
    this.#hourly.unref();
    this.resume();
  }

  /** This server makes the passes from now on: one that has broken off is gone on with. */
  resume(): void {
    if (this.#parts.log.isCutOff) this.begin();
    this.committed();
  }

  /** Why the last pass was interrupted; undefined once the next one begins. */
  get failure(): WriteFailure | undefined {
    return this.#failure;
  }

  /** True when the log, all of which is in memory, has grown so far that large batches should wait. */
  get isBehind(): boolean {
    return this.#parts.log.rows > this.#rowsBehind;
  }

  /** How far it is behind, from 0 to 1. A server that does not seal does not know when the next pass begins: at the latest, it takes. */
  get debt(): number {
    const { log, isOurs } = this.#parts;
    const { rows, textChars } = log;
    return isOurs()
      ? sealingDebtOf({ rows, textChars, rowsMin: this.#rowsMin, rowsBehind: this.#rowsBehind })
      : sealingDebtOf({ rows, textChars, rowsMin: limits.sealRowsMax, rowsBehind: Number.POSITIVE_INFINITY });
  }

  /** Called after each commit. */
  committed(): void {
    const { rows, textChars, without } = this.#parts.log;
    if (textChars >= limits.sealTextCharsMax || rows >= this.#rowsMin) this.begin();
    else if (without.rows >= limits.sealWithoutRows || without.bytes >= limits.sealWithoutBytes) this.begin();
    clearTimeout(this.#quiet);
    if (this.#isClosed) return;
    // When nothing more arrives, the part of the log that the last pass left is sealed too.
    this.#quiet = setTimeout(() => {
      if (this.#parts.log.rows >= limits.sealQuietRowsMin) this.begin();
    }, limits.sealQuietMs);
    this.#quiet.unref();
  }

  /** Begins a pass over the log, unless one is under way. */
  begin(): void {
    if (this.#isClosed || this.#failure !== undefined || !this.#parts.isOurs()) return;
    if (this.#exclusiveCount > 0) this.#isWanted = true;
    else this.#start();
  }

  /** Seals all of the log as it is now; does nothing where another server seals. @throws StoreFailure where a pass fails */
  async seal(): Promise<void> {
    const { log, isOurs } = this.#parts;
    if (!isOurs()) return;
    const upTo = log.lastSeq;
    if (!log.hasRows) return this.#underWay;
    while (!this.#isClosed && (log.sealedSeq < upTo || log.hasRows)) {
      const wasUnderWay = this.#underWay;
      if (wasUnderWay === undefined) {
        await this.#exclusive;
        this.begin();
      }
      await this.#underWay;
      if (this.#failure !== undefined) throw new StoreFailure(this.#failure);
      // One that began before may not have had all of it.
      if (log.sealedSeq >= upTo && wasUnderWay === undefined) return;
    }
  }

  /**
   * Runs `work` while no pass is under way, and none begins.
   * @throws StoreFailure where a pass was interrupted and `work` edits the log: some datapoints are in the log and in chunks then.
   */
  exclusively<T>(work: () => Promise<T>, { isEdit = false }: { readonly isEdit?: boolean } = {}): Promise<T> {
    this.#exclusiveCount += 1;
    const result = this.#exclusive.then(async () => {
      if (this.#isWanted && this.#failure === undefined) this.#start();
      while (this.#underWay !== undefined) await this.#underWay;
      return this.#parts.inTurn(() => {
        if (isEdit && (this.#cutOff > 0 || this.#parts.log.isCutOff))
          throw new StoreFailure(this.#failure ?? { kind: 'storage', message: 'sealing fails' });
        return work();
      });
    });
    this.#exclusive = result.then(
      () => this.#excluded(),
      () => this.#excluded(),
    );
    return result;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of [this.#retry, this.#quiet, this.#hourly]) clearTimeout(timer);
    await this.#underWay;
  }

  #start(): void {
    this.#isWanted = false;
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = undefined;
      this.#parts.onEnded();
      this.committed();
    });
  }

  #excluded(): void {
    this.#exclusiveCount -= 1;
    if (this.#exclusiveCount > 0) return;
    if (this.#isWanted) this.begin();
    this.committed();
  }

  async #run(): Promise<void> {
    try {
      if (!this.#hasCounted) await this.#countSensors();
      await this.#parts.inTurn(() => this.#pass());
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  async #pass(): Promise<void> {
    const { log, store } = this.#parts;
    const order = log.nextPass(Math.min(this.#rowsMin * limits.sealPassFactor, limits.sealRowsMax));
    if (order === undefined) {
      this.#cutOff = 0;
      return;
    }
    const { sensors, datapoints, damage } = await store.ask('pass', order);
    for (const what of damage) this.#parts.onDamaged(what);
    log.sealed(order);
    await this.#parts.afterPass();
    this.#cutOff = 0;
    const isWhole = datapoints >= this.#rowsMin;
    this.#expect(sensors);
    if (isWhole) this.#rowsBehind = this.#rowsMin * limits.sealBehindFactor;
  }

  async #countSensors(): Promise<void> {
    this.#hasCounted = true;
    if (this.#parts.log.rows >= limits.sealRowsMin) this.#expect(await this.#parts.countSensors());
  }

  /** Sets when the next pass begins from the number of sensors that send: some datapoints of each. */
  #expect(sensors: number): void {
    const wanted = sensors * limits.sealRowsPerSensor;
    this.#rowsMin = Math.min(limits.sealRowsMax, Math.max(limits.sealRowsMin, wanted));
    this.#rowsBehind = Math.max(this.#rowsBehind, this.#rowsMin * limits.sealBehindFactor);
  }

  /** Units already stored stay; the rest of the log stays too, and reads use it. */
  #fail(error: Error): void {
    if (this.#isClosed) return;
    this.#failure = error instanceof StoreFailure ? error.failure : writeFailureOf(error);
    this.#cutOff += 1;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(
      () => {
        this.#failure = undefined;
        this.begin();
      },
      limits.sealRetryMs * 2 ** Math.min(this.#cutOff - 1, limits.sealRetryDoublings),
    );
    this.#retry.unref();
    this.#parts.onFailure(error);
  }
}
