// The main thread's end of the writer thread. Every write of the service goes through here: datapoints, registry
// and MQTT sessions share its commits. Bounded (I4); resolves after the commit (I1).
import { Worker } from 'node:worker_threads';
import { Refusal } from '../../base/refusal.ts';
import { UnderWay } from '../../base/under-way.ts';
import { limits } from '../../config/limits.ts';
import type { DatapointBatch } from '../../domain/datapoints/datapoint-batch.ts';
import type { Failure, Outcome, Report, Statement, Work, WriterOptions } from './writer-protocol.ts';

interface Waiting {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
  readonly statements: number;
  readonly committed?: ((firstSeq: number) => void) | undefined;
}

export class SqliteWriter {
  readonly #worker: Worker;
  readonly #waiting = new UnderWay<Waiting>();
  readonly #closed: Promise<void>;
  #statements = 0;
  #failed: Error | undefined;
  #closing = false;
  #refusesBecause: string | undefined;
  #refused = 0;
  /** Called when datapoints have left the log, with the seq up to which they have. */
  onSealed: (seq: number) => void = () => {};
  /** Called with the duration of each commit, for the metrics. */
  onCommit: (durationMs: number) => void = () => {};
  /** Called when something that is stored turned out to be damaged. */
  onDamaged: (what: string) => void = () => {};
  /** Called when the thread died or housekeeping failed. */
  onTrouble: (error: Error, options: { readonly fatal: boolean }) => void = () => {};

  constructor(options: WriterOptions) {
    this.#worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      workerData: options,
      resourceLimits: { maxYoungGenerationSizeMb: limits.threadYoungMib },
    });
    this.#worker.on('message', (report: Report) => this.#take(report));
    this.#worker.on('error', (error) => this.#die(error as Error));
    this.#closed = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#end(new Error('The writer has ended.'));
        resolve();
      });
    });
  }

  /** Why writes are refused, or datapoints among them, for people; undefined while they are not. */
  get refusesBecause(): string | undefined {
    return this.#refusesBecause;
  }

  /** Units of writes refused since the start because of that. */
  get refusedUnits(): number {
    return this.#refused;
  }

  /**
   * Stores datapoints, and what belongs into their commit; returns the seq of the first. `committed` is called at
   * once when the commit is known, before any later report of the thread is looked at.
   */
  async append(batch: DatapointBatch, committed: (firstSeq: number) => void): Promise<number> {
    const outcome = await this.#send({ id: 0, kind: 'datapoints', batch }, 1, committed);
    return outcome.firstSeq ?? 0;
  }

  /**
   * Runs the statements as one unit: all of them or none. `purge` says that sensors were marked for purging.
   * @returns how many rows each statement changed.
   * @throws Refusal `exists` where an id is taken, `busy` when too many wait, `storage` when the disk refuses.
   */
  async write(
    statements: readonly Statement[],
    options: { readonly purge?: boolean } = {},
  ): Promise<readonly number[]> {
    if (this.#statements + statements.length > limits.queueStatementsMax) {
      throw new Refusal('busy', 'More changes arrive than can be stored. Send the request again.', {
        retryAfterS: limits.busyRetryAfterS,
      });
    }
    const work: Work = { id: 0, kind: 'statements', statements, purge: options.purge === true };
    return (await this.#send(work, statements.length)).changes ?? [];
  }

  /** Moves all of the log into chunks now; for tests and measurements. */
  async seal(): Promise<void> {
    await this.#send({ id: 0, kind: 'seal' }, 1);
  }

  /** Finishes what was handed over, then closes the database; what comes now is refused. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#failed === undefined) this.#worker.postMessage({ id: 0, kind: 'close' } satisfies Work);
    await this.#closed;
  }

  #send(work: Work, statements: number, committed?: (firstSeq: number) => void): Promise<Outcome> {
    if (this.#failed !== undefined) return Promise.reject(storageRefusal(this.#failed));
    if (this.#closing) return Promise.reject(new Refusal('busy', 'The service is stopping. Send the request again.'));
    this.#statements += statements;
    return new Promise((resolve, reject) => {
      const id = this.#waiting.add({ resolve, reject, statements, committed });
      // The batch is copied, not handed over: the head takes it in after the commit.
      this.#worker.postMessage({ ...work, id });
    });
  }

  #take(report: Report): void {
    if (report.commitMs !== undefined) this.onCommit(report.commitMs);
    if (report.damaged !== undefined) this.onDamaged(report.damaged);
    if (report.refuses !== undefined) this.#refusesBecause = report.refuses ?? undefined;
    for (const outcome of report.outcomes) this.#answer(outcome);
    if (report.sealedSeq !== undefined) this.onSealed(report.sealedSeq);
  }

  #answer(outcome: Outcome): void {
    const waiting = this.#waiting.take(outcome.id);
    if (waiting === undefined) {
      if (outcome.failure !== undefined) this.onTrouble(new Error(outcome.failure.message), { fatal: false });
      return;
    }
    this.#statements -= waiting.statements;
    const { failure } = outcome;
    if (failure === undefined) {
      waiting.committed?.(outcome.firstSeq ?? 0);
      waiting.resolve(outcome);
    } else {
      if (failure.kind === 'storage' || failure.kind === 'unsealed') this.#refused += 1;
      waiting.reject(refusalOf(failure));
    }
  }

  #die(error: Error): void {
    this.#end(error);
    this.onTrouble(error, { fatal: true });
  }

  /** Nobody is left waiting for a thread that is gone, and nobody waits for it anew. */
  #end(cause: Error): void {
    this.#failed ??= cause;
    this.#refusesBecause = 'the writer has ended';
    for (const { reject } of this.#waiting.takeAll()) reject(storageRefusal(cause));
  }
}

function refusalOf({ kind, message }: Failure): Error {
  if (kind === 'exists') return new Refusal('exists', 'This id is taken.', { cause: message });
  if (kind === 'gone') return new Refusal('not-found', 'The record was removed meanwhile.', { cause: message });
  if (kind === 'unsealed') return unsealedRefusal(new Error(message));
  return kind === 'storage' ? storageRefusal(new Error(message)) : new Error(message);
}

function storageRefusal(cause: Error): Refusal {
  return new Refusal(
    'storage',
    'The storage refused to write. Nothing of this request was stored; send it again later.',
    { cause, retryAfterS: limits.storageRetryAfterS },
  );
}

function unsealedRefusal(cause: Error): Refusal {
  return new Refusal(
    'storage',
    'No more datapoints can be held until the storage can compress those it has, which fails. Nothing of this request was stored; send it again later.',
    { cause, retryAfterS: limits.storageRetryAfterS },
  );
}
