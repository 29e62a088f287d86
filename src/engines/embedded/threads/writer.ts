// The main thread's side of the writer thread. Every write of the service passes here: datapoints, the registry and
// MQTT sessions share its commits. Bounded (I4); resolves after the commit (I1).

import { Worker } from 'node:worker_threads';
import { threadHeap } from '../../../base/threads/thread-heap.ts';
import type { DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import { assertQueueHasRoom, bytesOf } from '../../shared/registry/statement-queue.ts';
import type { EditOrder, EditResult } from '../../shared/sealing/edit-order.ts';
import { PendingRequests } from '../../shared/threads/pending-requests.ts';
import { refusalOf, stoppingRefusal, storageRefusal } from '../../shared/write-failure.ts';
import type { DatabaseWriter, Statement } from '../database/database-writer.ts';
import type { CommitOutcome, CommitReport, ReserveState, WriteRequest, WriterOptions } from './writer-protocol.ts';

interface QueuedWrite {
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
  readonly statements: number;
  /** Bytes of the statements. */
  readonly bytes: number;
  readonly committed?: ((outcome: CommitOutcome) => void) | undefined;
}

/** How work that has no statements counts against the bounds of the queue. */
const oneStatement = { statements: 1, bytes: 0 };

export class SqliteWriter implements DatabaseWriter {
  readonly #worker: Worker;
  readonly #waiting = new PendingRequests<QueuedWrite>();
  readonly #closed: Promise<void>;
  #statements = 0;
  #statementBytes = 0;
  #failed: Error | undefined;
  #closing = false;
  #refusesBecause: string | undefined;
  #refused = 0;
  #isCatchingUp = false;
  #sealingDebt = 0;
  #reserve: ReserveState | undefined;
  /** Called when datapoints up to a seq have been moved from the log into chunks. */
  onSealed: (seq: number) => void = () => {};
  onCaughtUp: () => void = () => {};
  /** Called with the duration of each commit, for the metrics. */
  onCommit: (durationMs: number) => void = () => {};
  /** Called with a sentence about data that turned out to be damaged. */
  onDamaged: (what: string) => void = () => {};
  /** Called when the reserve on the disk was given up, taken, or cannot be taken. */
  onReserve: (state: ReserveState, before: ReserveState | undefined) => void = () => {};
  /** Called when the thread died (`fatal`) or background work failed. */
  onFailure: (error: Error, options: { readonly fatal: boolean }) => void = () => {};

  constructor(options: WriterOptions) {
    this.#worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      workerData: options,
      resourceLimits: threadHeap(),
    });
    this.#worker.on('message', (report: CommitReport) => this.#take(report));
    this.#worker.on('error', (error) => this.#fail(error as Error));
    this.#closed = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#end(new Error('The writer has ended.'));
        resolve();
      });
    });
  }

  /** Why writes, or datapoints alone, are refused; undefined while they are accepted. */
  get refusesBecause(): string | undefined {
    return this.#refusesBecause;
  }

  get isCatchingUp(): boolean {
    return this.#isCatchingUp;
  }

  get sealingDebt(): number {
    return this.#sealingDebt;
  }

  /** True while the disk is so full that its reserve is in use, and no datapoints are taken. */
  get isReserveInUse(): boolean {
    return this.#reserve === 'in use';
  }

  /** Units refused since the start because the disk refused or sealing failed. */
  get refusedUnits(): number {
    return this.#refused;
  }

  async append(batch: DatapointBatch, committed: (firstSeq: number) => void): Promise<number> {
    const work: WriteRequest = { id: 0, kind: 'datapoints', batch };
    const outcome = await this.#send(work, oneStatement, ({ firstSeq = 0 }) => committed(firstSeq));
    return outcome.firstSeq ?? 0;
  }

  async edit(order: EditOrder, done: (result: EditResult) => void): Promise<EditResult> {
    const work: WriteRequest = { id: 0, kind: 'edit', order };
    const outcome = await this.#send(work, oneStatement, ({ edited }) => edited && done(edited));
    return outcome.edited ?? [0, 0];
  }

  async write(
    statements: readonly Statement[],
    options: { readonly purge?: boolean; readonly isWeighed?: boolean; readonly fence?: Fence | undefined } = {},
  ): Promise<readonly number[]> {
    const bytes = options.isWeighed === false ? 0 : bytesOf(statements);
    assertQueueHasRoom(
      { statements: this.#statements, bytes: this.#statementBytes },
      { statements: statements.length, bytes },
    );
    const { purge = false } = options;
    const fence = options.fence && { name: options.fence.name, epoch: options.fence.epoch };
    const work: WriteRequest = { id: 0, kind: 'statements', statements, purge, fence };
    return (await this.#send(work, { statements: statements.length, bytes })).changes ?? [];
  }

  /** Moves all of the log into chunks now. Used while the storage quota is reached, by tests and by benchmarks. */
  async seal(): Promise<void> {
    await this.#send({ id: 0, kind: 'seal' }, oneStatement);
  }

  /** Finishes the queued work, then closes the database; new work is refused. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#failed === undefined) this.#worker.postMessage({ id: 0, kind: 'close' } satisfies WriteRequest);
    await this.#closed;
  }

  #send(
    work: WriteRequest,
    { statements, bytes }: Pick<QueuedWrite, 'statements' | 'bytes'>,
    committed?: (outcome: CommitOutcome) => void,
  ): Promise<CommitOutcome> {
    if (this.#failed !== undefined) return Promise.reject(storageRefusal(this.#failed));
    if (this.#closing) return Promise.reject(stoppingRefusal());
    this.#statements += statements;
    this.#statementBytes += bytes;
    return new Promise((resolve, reject) => {
      const id = this.#waiting.add({ resolve, reject, statements, bytes, committed });
      // The batch is copied, not transferred: the head needs it after the commit.
      this.#worker.postMessage({ ...work, id });
    });
  }

  #take(report: CommitReport): void {
    if (report.commitMs !== undefined) this.onCommit(report.commitMs);
    if (report.damaged !== undefined) this.onDamaged(report.damaged);
    if (report.refuses !== undefined) this.#refusesBecause = report.refuses ?? undefined;
    if (report.reserve !== undefined) {
      this.onReserve(report.reserve, this.#reserve);
      this.#reserve = report.reserve;
    }
    const wasCatchingUp = this.#isCatchingUp;
    if (report.isCatchingUp !== undefined) this.#isCatchingUp = report.isCatchingUp;
    if (report.sealingDebt !== undefined) this.#sealingDebt = report.sealingDebt;
    for (const outcome of report.outcomes) this.#answer(outcome);
    if (report.sealedSeq !== undefined) this.onSealed(report.sealedSeq);
    if (wasCatchingUp && !this.#isCatchingUp) this.onCaughtUp();
  }

  #answer(outcome: CommitOutcome): void {
    const waiting = this.#waiting.take(outcome.id);
    if (waiting === undefined) {
      if (outcome.failure !== undefined) this.onFailure(new Error(outcome.failure.message), { fatal: false });
      return;
    }
    this.#statements -= waiting.statements;
    this.#statementBytes -= waiting.bytes;
    const { failure } = outcome;
    if (failure === undefined) {
      waiting.committed?.(outcome);
      waiting.resolve(outcome);
    } else {
      // What an edit has removed before it failed is gone.
      if (outcome.edited !== undefined) waiting.committed?.(outcome);
      if (failure.kind === 'storage' || failure.kind === 'unsealed') this.#refused += 1;
      waiting.reject(refusalOf(failure));
    }
  }

  #fail(error: Error): void {
    this.#end(error);
    this.onFailure(error, { fatal: true });
  }

  /** Rejects all waiting requests when the thread has ended; later ones are rejected at once. */
  #end(cause: Error): void {
    this.#failed ??= cause;
    this.#refusesBecause = 'the writer has ended';
    // Wakes the domain's writer, which waits for sealing to catch up, so that it gets the error.
    this.#isCatchingUp = false;
    this.#sealingDebt = 0;
    this.onCaughtUp();
    for (const { reject } of this.#waiting.takeAll()) reject(storageRefusal(cause));
  }
}
