// Gathers pushes into commits: everything that waits while a commit is in progress goes into the next. Called by
// ingest, bulk and imports. Keeps I1 (callers resume after the commit), I2 and I3 (the feed gets pushes after their
// commit, in commit order) and I4 (a bounded queue that refuses with `busy`). The queue is shared among callers: a
// caller that floods it is refused while others are accepted. Pushes of one caller never overtake each other.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Caller } from '../../callers/caller.ts';
import { FairShare } from '../../callers/fair-share.ts';
import type { CommitLog, PushedAs } from '../../ports/commit-log.ts';
import { BatchBuilder, countRows, type DatapointBatch } from '../datapoint-batch.ts';
import type { Feed } from '../feed.ts';
import type { AppendCallback, AppendRequest } from './append.ts';
import { CapacityWaiters, type ConnectionWaiter } from './capacity-waiters.ts';
import { CommitPacing, type CommitPacingBounds } from './commit-pacing.ts';
import { type FanOut, noFanOut } from './fan-out.ts';
import { PlainReadings } from './plain-readings.ts';
import { countedBytesOf } from './push.ts';
import { QueueDelay, type QueueDelayBounds } from './queue-delay.ts';
import { SealingPause } from './sealing-pause.ts';
import { SingleReading } from './single-reading.ts';
import type { StorageQuota } from './storage-quota.ts';
import { type QueuedAppend, serviceCaller, takeFairShare } from './writer-queue.ts';

export interface WriterBounds extends QueueDelayBounds {
  readonly queueDatapointsMax: number;
  readonly queueDatapointsReserve: number;
  readonly queueBytesMax: number;
  readonly queueBytesReserve: number;
  readonly commitDatapointsMax: number;
  readonly catchUpDatapointsMax: number;
  readonly commitBytesMax: number;
  readonly capacityWaiterBytesMax: number;
  readonly capacityWaiterBytesReserve: number;
  readonly capacityWaiterBytes: number;
  /** Bytes that a push takes in the queue beside its datapoints. */
  readonly queuedPushBytes: number;
  readonly capacityWokenMax: number;
  readonly capacityWakeMsMax: number;
  readonly busyRetryAfterS: number;
  readonly gatherMsMax: number;
  readonly sealingPauseMsMax: number;
  readonly commitPacing: CommitPacingBounds;
}

type WrittenLog = Pick<CommitLog, 'append' | 'isCatchingUp' | 'sealingDebt' | 'onCaughtUp'>;

export class Writer {
  readonly #commitLog: WrittenLog;
  readonly #feed: Feed;
  readonly #storageQuota: Pick<StorageQuota, 'refusalOf' | 'accepted'>;
  readonly #bounds: WriterBounds;
  readonly #pacing: CommitPacing;
  readonly #sealingPause: SealingPause;
  readonly #delay: QueueDelay;
  /** When the last commit ended, if datapoints waited then. */
  #busySinceMs = Number.NaN;
  readonly #datapointShare: FairShare;
  readonly #byteShare: FairShare;
  readonly #waiterShare: FairShare;
  #queue: QueuedAppend[] = [];
  #committing = false;
  #stored = 0;
  readonly #capacityWaiters: CapacityWaiters;
  #idleWaiters: (() => void)[] = [];
  #moreCame: (() => void) | undefined;
  #fanOut: FanOut = noFanOut;
  /** Increases each time that capacity may have been freed. */
  #round = 1;
  /** Number of waiting requests that is enough for a commit. */
  #gatherMin = 1;

  constructor(parts: {
    readonly commitLog: WrittenLog;
    readonly feed: Feed;
    readonly storageQuota: Pick<StorageQuota, 'refusalOf' | 'accepted'>;
    readonly bounds: WriterBounds;
    /** The memory for all data on its way in or out. */
    readonly passing?: FairShare;
  }) {
    this.#commitLog = parts.commitLog;
    this.#storageQuota = parts.storageQuota;
    this.#feed = parts.feed;
    this.#bounds = parts.bounds;
    this.#pacing = new CommitPacing(parts.bounds.commitPacing);
    this.#sealingPause = new SealingPause(parts.bounds.sealingPauseMsMax);
    this.#delay = new QueueDelay(parts.bounds);
    const { bounds } = parts;
    this.#datapointShare = new FairShare('queuedDatapoints', {
      aloneMax: bounds.queueDatapointsMax,
      reserve: bounds.queueDatapointsReserve,
    });
    this.#byteShare = new FairShare('queuedBytes', {
      aloneMax: bounds.queueBytesMax,
      reserve: bounds.queueBytesReserve,
      within: parts.passing,
    });
    this.#waiterShare = new FairShare('capacityWaiterBytes', {
      aloneMax: bounds.capacityWaiterBytesMax,
      reserve: bounds.capacityWaiterBytesReserve,
      within: parts.passing,
    });
    this.#capacityWaiters = new CapacityWaiters({
      wokenMax: bounds.capacityWokenMax,
      wakeMsMax: bounds.capacityWakeMsMax,
      isRefused: (caller) => caller.refusedInRound === this.#round,
      release: (caller, bytes) => this.#waiterShare.release(caller, bytes),
    });
  }

  /** Datapoints accepted and not yet committed. */
  get waitingDatapoints(): number {
    return this.#datapointShare.held;
  }

  /** Bytes of these, about. */
  get waitingBytes(): number {
    return this.#byteShare.held;
  }

  /** Datapoints committed since the start. */
  get storedDatapoints(): number {
    return this.#stored;
  }

  /**
   * Stores the pushes; resolves after the commit.
   * @throws Refusal `busy` when the caller's share of the queue is full, `full` when the storage quota is reached,
   * `storage` when the disk refuses.
   */
  append(append: AppendRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.submit(append, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** Like `append`, with a callback, for hot paths where a promise would cost too much. */
  submit(append: AppendRequest, done: AppendCallback): void {
    const datapoints = countDatapoints(append);
    const refusal = datapoints === 0 ? undefined : this.#storageQuota.refusalOf(datapoints);
    if (refusal !== undefined) {
      done(refusal);
      return;
    }
    const slots = Math.max(datapoints, 1);
    const bytes = countBytes(append);
    const heldBytes = bytes + append.pushes.length * this.#bounds.queuedPushBytes;
    const caller = append.caller ?? serviceCaller;
    const outgoing = this.#fanOut.bytesOf(append.pushes);
    const isBusy = caller.refusedInRound === this.#round || this.#fanOut.isFullFor(caller, outgoing);
    if (isBusy || !this.#admit(caller, slots, heldBytes)) {
      // Until capacity is freed, all further pushes of this caller are refused, because a small one must not overtake
      // a large one of the same client (I3).
      if (caller !== serviceCaller) caller.refusedInRound = this.#round;
      done(
        new Refusal(
          'busy',
          'More datapoints arrive than can be stored. Nothing of this request was stored; send it again.',
          { retryAfterS: this.#bounds.busyRetryAfterS },
        ),
      );
      return;
    }
    const { commitDatapointsMax, commitBytesMax } = this.#bounds;
    const load = Math.max(slots, Math.ceil((bytes / commitBytesMax) * commitDatapointsMax));
    this.#storageQuota.accepted(bytes);
    this.#fanOut.reserve(caller, outgoing);
    this.#queue.push({ append, caller, slots, load, heldBytes, outgoing, done });
    this.#moreCame?.();
    this.#wake();
  }

  #admit(caller: Caller, slots: number, bytes: number): boolean {
    const isAllowed =
      this.#datapointShare.allows(caller, slots) &&
      this.#byteShare.allows(caller, bytes) &&
      this.#datapointShare.isBelow(caller, this.#delay.datapointsMax);
    // An empty queue accepts one push of any size, because otherwise it could never be stored.
    if (!isAllowed && this.#datapointShare.held > 0 && caller !== serviceCaller) return false;
    this.#datapointShare.force(caller, slots);
    this.#byteShare.force(caller, bytes);
    return true;
  }

  /**
   * Resolves when the queue may have room again: back-pressure for MQTT.
   * @param message `bytes`: size of the message that waits; `wasResumed`: it has waited before, and keeps its place.
   * @throws Refusal `busy` when too many messages of the caller wait already.
   */
  waitForCapacity(
    caller: Caller,
    message: { readonly bytes?: number; readonly wasResumed?: boolean } = {},
  ): Promise<void> {
    const bytes = this.#bounds.capacityWaiterBytes + (message.bytes ?? 0);
    if (!this.#waiterShare.take(caller, bytes)) {
      return Promise.reject(new Refusal('busy', 'Too many messages wait to be stored.'));
    }
    return new Promise((resume) => {
      this.#capacityWaiters.wait(caller, { bytes, wasResumed: message.wasResumed === true, resume });
    });
  }

  /**
   * Whether the queue may have capacity for the caller: not while it has been refused and no capacity was returned, nor
   * while others of it wait in line. Costs nothing, so that a door asks before it makes objects of what it received.
   */
  mayHaveCapacity(caller: Caller): boolean {
    return caller.refusedInRound !== this.#round && !this.#capacityWaiters.isWaiting(caller);
  }

  /**
   * Calls `resume` when the queue may have capacity. For a connection, whose messages stay unread until then.
   * @returns what takes it out of the line, for when it ends.
   */
  onceCapacity(caller: Caller, connection: ConnectionWaiter): () => void {
    return this.#capacityWaiters.wait(caller, connection);
  }

  /**
   * Makes callers wait whose share of outgoing messages is used up. `capacityReturned` must be called when there is
   * room.
   */
  setFanOut(fanOut: FanOut): void {
    this.#fanOut = fanOut;
  }

  /**
   * Resolves when there is room on the way to subscribers for what other processes have committed. Where what is on its way cannot be
   * stored now, and is as much as may be, that waits.
   * @throws Refusal `busy` after a moment: whoever asks looks whether this process may go on, and asks again.
   */
  async roomForOthers(): Promise<void> {
    const endMs = performance.now() + limits.followedRoomMsMax;
    while (this.#fanOut.isHeldUp && this.#fanOut.isFullFor(serviceCaller, 1)) {
      if (performance.now() > endMs) throw new Refusal('busy', 'What waits for MQTT sessions cannot be stored now.');
      await new Promise((resolve) => setTimeout(resolve, limits.followedRoomMs));
    }
  }

  /** Resumes messages that wait for capacity, in order. */
  capacityReturned(): void {
    this.#round += 1;
    this.#capacityWaiters.wake();
  }

  /** Resolves when no write is pending. */
  idle(): Promise<void> {
    if (this.waitingDatapoints === 0 && !this.#committing) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  #wake(): void {
    if (this.#committing) return;
    this.#committing = true;
    // In the next phase of the event loop, so that the commit gathers all input of this turn.
    setImmediate(() => void this.#commitAll());
  }

  async #commitAll(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      await this.#pacing.wait(this.waitingDatapoints);
      await this.#sealingPause.wait(this.#commitLog.sealingDebt);
      const group = this.#take();
      if (group.length === 0) {
        await this.#moreOrCaughtUp();
        continue;
      }
      this.#gatherMin = group.length * 2;
      await this.#commit(group);
    }
    this.#committing = false;
    if (this.waitingDatapoints === 0) for (const resume of this.#idleWaiters.splice(0)) resume();
  }

  /**
   * Waits for more pushes, because a commit costs as much as dozens of datapoints. Ends when there are twice as many
   * as in the last commit, when a turn of the event loop brings none, or after `gatherMsMax`. A single client waits
   * one turn.
   */
  async #gather(): Promise<void> {
    const untilMs = performance.now() + this.#bounds.gatherMsMax;
    let before = -1;
    while (this.#queue.length !== before && this.#queue.length < this.#gatherMin && performance.now() < untilMs) {
      before = this.#queue.length;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #take(): QueuedAppend[] {
    const { commitDatapointsMax, catchUpDatapointsMax } = this.#bounds;
    const room = this.#commitLog.isCatchingUp
      ? { loadMax: catchUpDatapointsMax, takesLarge: false }
      : { loadMax: commitDatapointsMax, takesLarge: true };
    const { group, rest } = takeFairShare(this.#queue, room);
    this.#queue = rest;
    return group;
  }

  /**
   * Called when all waiting pushes are too large while sealing catches up. Resolves with the next push, which may be
   * small, or when sealing has caught up.
   */
  async #moreOrCaughtUp(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#moreCame = resolve;
      this.#commitLog.onCaughtUp = resolve;
    });
    this.#moreCame = undefined;
  }

  async #commit(group: readonly QueuedAppend[]): Promise<void> {
    let failure: unknown;
    const sinceMs = Number.isNaN(this.#busySinceMs) ? performance.now() : this.#busySinceMs;
    try {
      const batch = toBatch(group);
      this.#pacing.commitBegins(countRows(batch));
      const append = () => this.#commitLog.append(batch, () => pushesOf(group));
      this.#publish(group, await this.#sealingPause.storing(append));
      this.#delay.committed(countRows(batch), performance.now() - sinceMs);
    } catch (error) {
      failure = error;
    }
    for (const { caller, slots, heldBytes, outgoing, done } of group) {
      this.#datapointShare.release(caller, slots);
      this.#byteShare.release(caller, heldBytes);
      this.#fanOut.release(caller, outgoing);
      done(failure);
    }
    this.#busySinceMs = this.#queue.length > 0 ? performance.now() : Number.NaN;
    this.capacityReturned();
  }

  #publish(group: readonly QueuedAppend[], firstSeq: number): void {
    let seq = firstSeq;
    for (const { append, caller } of group) {
      for (const push of append.pushes) {
        push.firstSeq = seq;
        push.caller = caller;
        seq += push.readings.length;
        const { readings } = push;
        push.charge?.add({ datapoints: readings.length, bytes: countedBytesOf(readings) }, caller);
        this.#feed.publish(push);
      }
    }
    this.#stored += seq - firstSeq;
  }
}

function toBatch(group: readonly QueuedAppend[]): DatapointBatch {
  let datapoints = 0;
  for (const { append } of group) datapoints += countDatapoints(append);
  const batch = new BatchBuilder(datapoints);
  for (const { append } of group) {
    for (const { sensor, readings, receivedMs, publish, skipsRules } of append.pushes) {
      if (readings instanceof SingleReading) batch.add(sensor.key, readings.timestampMs, receivedMs, readings.value);
      else if (readings instanceof PlainReadings) batch.addPlain(sensor.key, receivedMs, readings);
      else for (const reading of readings) batch.add(sensor.key, reading.timestampMs, receivedMs, reading.value);
      if (publish !== undefined) batch.addPublish(publish);
      if (skipsRules) batch.addRulesSkipped(readings.length);
    }
    if (append.receipt !== undefined) batch.addReceipt(append.receipt);
  }
  return batch.build();
}

function pushesOf(group: readonly QueuedAppend[]): PushedAs[] {
  return group.flatMap(({ append }) =>
    append.pushes.map(({ sensor, readings, receivedMs, original, many }) => ({
      ...{ sensor: sensor.key, count: readings.length },
      ...{ receivedMs, original, many },
    })),
  );
}

function countDatapoints(append: AppendRequest): number {
  let count = 0;
  for (const push of append.pushes) count += push.readings.length;
  return count;
}

function countBytes(append: AppendRequest): number {
  // The answer stored in the receipt may be far larger than the datapoints.
  let bytes = 2 * (append.receipt?.answer.length ?? 0);
  for (const { readings, original } of append.pushes) {
    bytes += original?.bytes ?? 0;
    if (readings instanceof SingleReading || readings instanceof PlainReadings) bytes += readings.length * 40;
    else for (const { value } of readings) bytes += typeof value === 'number' ? 40 : 40 + value.length * 2;
  }
  return bytes;
}
