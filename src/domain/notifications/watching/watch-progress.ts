// How far the watcher has come: the datapoints that wait in memory, whether it reads from the log instead, and up to
// which seq everything is evaluated, which it confirms to the log. Only the watcher changes it, in its turns.
import { limits } from '../../../config/limits.ts';
import type { CommitLog, LogPosition } from '../../ports/commit-log.ts';
import type { Fence } from '../../ports/coordination.ts';
import { lastSeqOf, type SeenPush, WatchQueue } from './watch-queue.ts';

export class WatchProgress {
  readonly #commitLog: CommitLog;
  readonly #queue = new WatchQueue({ datapointsMax: limits.watchQueueMax, bytesMax: limits.watchQueueBytesMax });
  #isBehind = true;
  #isFollowing = false;
  /** True from when pushes are taken from the queue until they were evaluated. */
  #isEvaluating = false;
  #seenSeq = 0;
  #feedSeq = 0;
  /** What was stored at the last look; and when that was, in milliseconds of the monotonic clock. */
  #awaitedSeq = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  /** The position last confirmed to the log. */
  #confirmedSeq = 0;

  constructor(commitLog: CommitLog) {
    this.#commitLog = commitLog;
  }

  /** True while this process evaluates datapoints: it holds the lease, and there are rules or have been since then. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** True while datapoints are read from the log instead of from the queue. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Datapoints up to this seq have been evaluated. Later ones that no rule concerns may have been passed, too. */
  get seenSeq(): LogPosition {
    return this.#seenSeq;
  }

  /** Seq of the last datapoint received from the feed. */
  get feedSeq(): LogPosition {
    return this.#feedSeq;
  }

  get isQueueEmpty(): boolean {
    return this.#queue.isEmpty;
  }

  /** Number of datapoints in the queue. */
  get waitingDatapoints(): number {
    return this.#queue.datapoints;
  }

  /** Number of datapoints stored after the last evaluated one, whether rules concern them or not. */
  get behindDatapoints(): number {
    return this.#isFollowing ? Math.max(this.#commitLog.lastPosition - this.position(), 0) : 0;
  }

  /** Whether datapoints wait to be evaluated. */
  get hasDatapoints(): boolean {
    return this.#isFollowing && (this.#isBehind || !this.#queue.isEmpty);
  }

  /** Datapoints up to this seq have been evaluated. */
  position(): LogPosition {
    const isDone = !this.#isBehind && this.#queue.isEmpty && !this.#isEvaluating;
    if (isDone) this.#seenSeq = Math.max(this.#seenSeq, this.#feedSeq);
    return this.#seenSeq;
  }

  /** Number of datapoints that the feed has brought since the position was confirmed. */
  get unconfirmed(): number {
    return this.#feedSeq - this.#confirmedSeq;
  }

  /** Notes that the feed brings what comes behind this seq. */
  startAt(seq: LogPosition): void {
    this.#feedSeq = Math.max(this.#feedSeq, seq);
  }

  /**
   * Notes that the feed has brought the datapoints between two seqs. Where it has left out some before them, all is read from the log.
   * Those of a commit whose outcome was unknown at first come behind later ones, and were read so: what was received stays received.
   */
  noteReceived(firstSeq: LogPosition, lastSeq: LogPosition): void {
    if (firstSeq > this.#feedSeq + 1 && this.#isFollowing) this.fallBehind();
    this.#feedSeq = Math.max(this.#feedSeq, lastSeq);
  }

  /**
   * Looks every `watchLookMs`: where the feed has not brought what was stored at the look before, all is read from the log. The last
   * datapoints may never come by it, for example those that another server stored for a sensor that was removed meanwhile.
   */
  lookForMissed(nowMs: number): void {
    if (nowMs - this.#lookedMs < limits.watchLookMs) return;
    this.#lookedMs = nowMs;
    const isMissing = Math.max(this.#feedSeq, this.#seenSeq) < this.#awaitedSeq;
    this.#awaitedSeq = this.#commitLog.lastPosition;
    if (isMissing) this.fallBehind();
  }

  /** Adds a push to the queue. If the queue is full, everything after `seenSeq` will be read from the log. */
  add(push: SeenPush): void {
    if (!this.#queue.add(push)) this.fallBehind();
  }

  /** Empties the queue; its datapoints will be read from the log. */
  fallBehind(): void {
    this.#isBehind = true;
    this.#isEvaluating = false;
    this.#queue.clear();
  }

  /** Takes the oldest pushes from the queue, until they have at least so many datapoints. */
  take(datapoints: number): SeenPush[] {
    this.#isEvaluating = true;
    return this.#queue.take(datapoints);
  }

  /** Notes that pushes of the queue were evaluated. */
  noteEvaluated(pushes: readonly SeenPush[]): void {
    this.#isEvaluating = false;
    this.#seenSeq = Math.max(this.#seenSeq, lastSeqOf(pushes));
  }

  /** Notes that datapoints of the log were evaluated up to this seq. */
  noteRead(seq: LogPosition, fence: Fence): void {
    this.#seenSeq = seq;
    this.#confirmedSeq = seq;
    this.#commitLog.confirm(seq, fence);
  }

  /**
   * Notes that a read reached the end of the log. Later datapoints are read next time.
   * @param endSeq when it began, this was stored.
   */
  noteEnd(endSeq: LogPosition): void {
    this.#seenSeq = Math.max(this.#seenSeq, endSeq);
    this.#isBehind = this.#feedSeq > this.#seenSeq;
  }

  /** Confirms the position to the log, where this process holds the lease. */
  confirm(fence: Fence | undefined): void {
    this.#confirmedSeq = this.position();
    if (fence !== undefined) this.#commitLog.confirm(this.#confirmedSeq, fence);
  }

  stopFollowing(): void {
    this.#isFollowing = false;
  }

  followFrom(seq: LogPosition, fence: Fence): void {
    this.#seenSeq = seq;
    this.#feedSeq = Math.max(this.#feedSeq, seq);
    this.#confirmedSeq = seq;
    this.#isFollowing = true;
    // The feed may have published datapoints after `seq` that are not in the queue: they will be read from the log.
    this.fallBehind();
    this.#commitLog.confirm(seq, fence);
  }
}
