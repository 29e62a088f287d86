// Commits what is appended, one commit after the other: all that waits goes into the next one, up to a bound. What is committed
// is in the head before anybody is answered. Commits wait where the head is full (I4).
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../../config/limits.ts';
import { countRows, type DatapointBatch } from '../../../domain/datapoints/datapoint-batch.ts';
import type { ClientMessage, FollowedPush, PushedAs } from '../../../domain/ports/commit-log.ts';
import {
  refusalOf,
  stoppingRefusal,
  storageRefusal,
  unknownOutcome,
  type WriteFailure,
} from '../../shared/write-failure.ts';
import { writeRefusalOf } from '../database/database-error.ts';
import type { LogEdit } from './log-edits.ts';
import { type CorrectionEntry, encodeBatch, encodeEdit, joinBatches, type RemovalEntry } from './log-row.ts';
import type { LogState } from './log-state.ts';
import { type Beside, type LogWriter, WriterFenced } from './log-writer.ts';
import { asPushed, encodePushes, followedPushes } from './push-section.ts';
import type { Receipts } from './receipts.ts';
import { decodeRelays, encodeRelays } from './relay-section.ts';

/** An edit of datapoints in the log. */
export interface AppendedEdit {
  readonly entry: { readonly removal: RemovalEntry } | { readonly correction: CorrectionEntry };
  /** Called just before it is appended: statements that belong into its commit. */
  readonly beside: (place: { readonly writer: number; readonly seq: number }) => Beside;
  /** The same, of what is numbered here. */
  readonly edit: (upToSeq: number) => LogEdit;
}

interface Queued {
  readonly batch?: DatapointBatch;
  readonly pushesOf?: (() => readonly PushedAs[]) | undefined;
  readonly message?: ClientMessage;
  readonly edit?: AppendedEdit;
  readonly resolve: (firstSeq: number) => void;
  readonly reject: (error: Error) => void;
}

/** What the appender asks of sealing. */
interface Sealing {
  readonly failure: WriteFailure | undefined;
  readonly isBehind: boolean;
  readonly debt: number;
  begin(): void;
  committed(): void;
}

/** What the appender asks of the other servers. */
interface Others {
  /** Whether other servers read what is appended, or may take up what one of them has left. */
  readonly isForOthers: () => boolean;
  /** Runs `add` when all rows before a number are in. */
  readonly before: <T>(number: number, add: () => T) => Promise<T>;
  /** Hints at new rows. */
  readonly hint: () => void;
  /** The version in which all of them read rows. */
  readonly version: () => number;
}

export class Appender {
  readonly #state: LogState;
  readonly #writer: LogWriter;
  readonly #receipts: Receipts;
  readonly #sealing: Sealing;
  readonly #others: Others;
  /** Bounded by those who append: the writer of ingest, and edits in turns. */
  readonly #queue: Queued[] = [];
  /** What is in the commit that is under way. */
  #underWay: readonly Queued[] = [];
  #running: Promise<void> | undefined;
  #isClosing = false;
  #isClosed = false;
  #wasCatchingUp = false;
  #refused = 0;
  /** Messages between clients that are not committed yet. */
  #relaying = 0;
  onCaughtUp: () => void = () => {};
  /** Called with the duration of each commit, for the metrics. */
  onCommit: (durationMs: number) => void = () => {};
  /** Called when nothing can be appended any more. */
  onFenced: (error: Error) => void = () => {};
  /**
   * Both are called with what was stored although its callers were told that nobody knows; what comes later waits for it. Called
   * again where they fail: then they have told nobody.
   */
  onFound: (pushes: readonly FollowedPush[]) => Promise<void> = async () => {};
  onFoundRelayed: (messages: readonly ClientMessage[]) => Promise<void> = async () => {};
  /** Resolves when they have been called with all that is in the head, a moment after it has come there. */
  told: Promise<void> = Promise.resolve();
  /** What is under way as it was pushed and published, where its callers were told so. */
  #unknown: { readonly pushes: Buffer | undefined; readonly relays: Buffer | undefined } | undefined;

  constructor(parts: {
    readonly state: LogState;
    readonly writer: LogWriter;
    readonly receipts: Receipts;
    readonly sealing: Sealing;
    readonly others: Others;
  }) {
    this.#state = parts.state;
    this.#writer = parts.writer;
    this.#receipts = parts.receipts;
    this.#sealing = parts.sealing;
    this.#others = parts.others;
    parts.writer.onAway = () => this.#refuseAll();
    parts.writer.onUnknown = () => this.#answerUnknown();
  }

  /** True while sealing is behind: batches of more than `catchUpDatapointsMax` datapoints wait. */
  get isCatchingUp(): boolean {
    const { isBehind, failure } = this.#sealing;
    return isBehind && failure === undefined && !this.#isClosed;
  }

  /** How far sealing is behind, from 0 to 1. */
  get sealingDebt(): number {
    const { debt, failure } = this.#sealing;
    return failure === undefined && !this.#isClosed ? debt : 0;
  }

  /** Commits refused since the start, because the database refused or sealing failed. */
  get refused(): number {
    return this.#refused;
  }

  /** @returns the seq of the first datapoint. @throws Refusal `storage`, `busy` */
  append(batch: DatapointBatch, pushesOf?: () => readonly PushedAs[]): Promise<number> {
    return this.#add({ batch, pushesOf });
  }

  /** undefined where no other server is there, nor was when those before it came. @throws Refusal `storage`, `busy` */
  relay(messageOf: () => ClientMessage): Promise<void> | undefined {
    if (!this.#others.isForOthers() && this.#relaying === 0) return undefined;
    return this.#relay(messageOf());
  }

  async #relay(message: ClientMessage): Promise<void> {
    this.#relaying += 1;
    try {
      await this.#add({ batch: noDatapoints, message });
    } finally {
      this.#relaying -= 1;
    }
  }

  /** @throws Refusal `storage`, `busy` */
  async appendEdit(edit: AppendedEdit): Promise<void> {
    await this.#add({ edit });
  }

  /** Sealing has ended a pass, whole or not: what waited for it may go on. */
  resume(): void {
    this.#tellCaughtUp();
    this.#run();
  }

  /** Finishes what is queued, as far as it need not wait. */
  async close(): Promise<void> {
    this.#isClosing = true;
    while (this.#running !== undefined) await this.#running;
    this.#isClosed = true;
    for (const { reject } of this.#queue.splice(0)) reject(stoppingRefusal());
    this.#tellCaughtUp();
  }

  #add(work: Pick<Queued, 'batch' | 'pushesOf' | 'message' | 'edit'>): Promise<number> {
    if (this.#isClosed) return Promise.reject(stoppingRefusal());
    if (this.#writer.isAway) return Promise.reject(this.#awayRefusal());
    return new Promise((resolve, reject) => {
      // An edit goes first: sealing, for which batches may wait, waits for it.
      if (work.edit === undefined) this.#queue.push({ ...work, resolve, reject });
      else this.#queue.unshift({ ...work, resolve, reject });
      this.#run();
    });
  }

  /** The database cannot be reached: what waits is refused, and what is under way waits until its outcome is known. */
  #refuseAll(): void {
    for (const { reject } of this.#queue.splice(0)) reject(this.#awayRefusal());
  }

  /** Nobody waits for ever: what becomes of the commit, the head hears all the same. */
  #answerUnknown(): void {
    const cause = new Error(this.#writer.refusesBecause ?? 'the database cannot be reached');
    // Now, because callers use the memory of their messages again.
    this.#unknown = { pushes: pushesOf(this.#underWay), relays: relaysOf(this.#underWay) };
    for (const { reject } of this.#underWay) reject(unknownOutcome(cause));
  }

  #awayRefusal(): Error {
    this.#refused += 1;
    return storageRefusal(new Error(this.#writer.refusesBecause ?? 'the database cannot be reached'));
  }

  #run(): void {
    if (this.#running !== undefined || this.#queue.length === 0) return;
    this.#running = this.#commitAll().finally(() => {
      this.#running = undefined;
      // What came in the meantime, unless it waits for sealing.
      if (!this.#mustWait()) this.#run();
    });
  }

  async #commitAll(): Promise<void> {
    // What is appended in the same turn goes into one commit.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      if (this.#mustWait()) {
        this.#sealing.begin();
        return;
      }
      const taken = this.#take();
      this.#underWay = taken;
      const startMs = performance.now();
      try {
        await this.#commit(taken);
        this.onCommit(performance.now() - startMs);
      } catch (error) {
        this.#fail(taken, error as Error);
      }
      this.#underWay = [];
      this.#unknown = undefined;
    }
  }

  /**
   * Work waits while the head is full, or while sealing is behind and a batch is large: this bounds the memory of the head
   * (I4). Where sealing fails nothing waits: callers get an error instead.
   */
  #mustWait(): boolean {
    const { failure, isBehind } = this.#sealing;
    const [first] = this.#queue;
    if (failure !== undefined || first === undefined || this.#isClosed) return false;
    // An edit may be what sealing waits for.
    if (first.batch === undefined) return false;
    return this.#state.isHeadFull || (isBehind && countRows(first.batch) > limits.catchUpDatapointsMax);
  }

  /** The next edit alone, or the next batches together. */
  #take(): Queued[] {
    let [count, datapoints, bytes] = [0, 0, 0];
    for (const { batch, message } of this.#queue) {
      if (batch === undefined) break;
      datapoints += countRows(batch);
      bytes += message === undefined ? 0 : message.topic.length + message.payload.length;
      if (count > 0 && (datapoints > limits.commitDatapointsMax || bytes > limits.commitRelayBytes)) break;
      count += 1;
    }
    return this.#queue.splice(0, Math.max(1, count));
  }

  async #commit(taken: readonly Queued[]): Promise<void> {
    const [first] = taken;
    if (first?.edit !== undefined) {
      await this.#commitEdit(first.edit);
      first.resolve(0);
      return;
    }
    const batches = taken.map(({ batch }) => batch as DatapointBatch);
    const batch = joinBatches(batches);
    const count = countRows(batch);
    const { failure } = this.#sealing;
    if (failure !== undefined && count > 0 && this.#state.isHeadFull)
      throw refusalOf({ kind: 'unsealed', message: failure.message });
    const place = this.#writer.next;
    const forOthers = this.#others.isForOthers() ? { pushes: pushesOf(taken), relays: relaysOf(taken) } : {};
    const bytes = encodeBatch(batch, place, { ...forOthers, version: this.#others.version() });
    const beside = this.#receipts.beside(batch.receipts);
    const { number, position } = await this.#writer.append({ seq: place.seq, count, bytes, beside });
    this.#others.hint();
    const firstSeq = await this.#others.before(number, () => {
      const first = this.#state.add({ ...place, number }, count, position);
      if (count > 0) this.#state.addDatapoints(batch, first);
      else this.#state.noteWithout(bytes.length);
      return first;
    });
    this.#receipts.stored(batch.receipts);
    let seq = firstSeq;
    for (const [n, { resolve }] of taken.entries()) {
      resolve(seq);
      seq += countRows(batches[n] as DatapointBatch);
    }
    this.#sealing.committed();
    this.#tellCaughtUp();
    if (this.#unknown === undefined) return;
    this.told = this.#tellFound(batch, { firstSeq, ...this.#unknown });
    await this.told;
  }

  /** Those who would have told of it were refused. */
  async #tellFound(
    batch: DatapointBatch,
    {
      firstSeq,
      pushes,
      relays,
    }: { readonly firstSeq: number; readonly pushes: Buffer | undefined; readonly relays: Buffer | undefined },
  ): Promise<void> {
    const found = followedPushes({ ...batch, pushes }, firstSeq);
    if (found.length > 0) await this.#untilTold(() => this.onFound(found));
    if (relays !== undefined) await this.#untilTold(() => this.onFoundRelayed(decodeRelays(relays)));
  }

  /** Tried again while the database is on its way back. */
  async #untilTold(tell: () => Promise<void>): Promise<void> {
    while (!this.#isClosing) {
      try {
        await tell();
        return;
      } catch {
        await delay(limits.postgresRetryMsMin, undefined, { ref: false });
      }
    }
  }

  async #commitEdit({ entry, beside, edit }: AppendedEdit): Promise<void> {
    const place = this.#writer.next;
    const bytes = encodeEdit(entry, place, { version: this.#others.version() });
    const { number, position } = await this.#writer.append({ seq: place.seq, count: 0, bytes, beside: beside(place) });
    this.#others.hint();
    await this.#others.before(number, () => {
      const firstSeq = this.#state.add({ ...place, number }, 0, position);
      this.#state.edit(edit(firstSeq - 1));
    });
  }

  #fail(taken: readonly Queued[], error: Error): void {
    this.#refused += 1;
    const isFenced = error instanceof WriterFenced;
    const refusal = isFenced ? refusalOf({ kind: 'storage', message: error.message }) : writeRefusalOf(error);
    for (const { reject } of taken) reject(refusal);
    if (isFenced) this.onFenced(error);
  }

  #tellCaughtUp(): void {
    const { isCatchingUp } = this;
    if (this.#wasCatchingUp && !isCatchingUp) this.onCaughtUp();
    this.#wasCatchingUp = isCatchingUp;
  }
}

/** How the datapoints of the commit were pushed, for other servers; undefined where there are none. */
function pushesOf(taken: readonly Queued[]): Buffer | undefined {
  const pushes = taken.flatMap(({ batch, pushesOf: of }) => of?.() ?? (batch === undefined ? [] : asPushed(batch)));
  return pushes.length === 0 ? undefined : encodePushes(pushes);
}

function relaysOf(taken: readonly Queued[]): Buffer | undefined {
  const messages = taken.flatMap(({ message }) => message ?? []);
  return messages.length === 0 ? undefined : encodeRelays(messages);
}

const noDatapoints: DatapointBatch = {
  ...{ rows: new Float64Array(0), texts: [], rulesSkipped: [], publishes: new Uint32Array(0), receipts: [] },
};
