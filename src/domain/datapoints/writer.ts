// Gathers pushes into one commit: all that waits while a commit is under way goes into the next. Called by ingest
// alone. Keeps I1 (callers resume after the commit), I2 and I3 (the feed sees pushes after their commit, in its
// order) and I4 (a bounded queue that refuses with `busy`).
import { Refusal } from '../../base/refusal.ts';
import { BatchBuilder, countRows, type DatapointBatch, type PushReceipt } from './datapoint-batch.ts';
import type { DatapointStore } from './datapoint-store.ts';
import type { Feed } from './feed.ts';
import { Pacing, type PacingBounds } from './pacing.ts';
import { PlainReadings } from './plain-readings.ts';
import type { Push } from './push.ts';
import type { Room } from './room.ts';

/** Pushes that are stored together or not at all, and what is kept beside them. */
export interface Append {
  readonly pushes: readonly Push[];
  readonly receipt?: PushReceipt | undefined;
}

/** Called once: without an error after the commit, else with the reason why nothing was stored. */
export type Done = (error?: unknown) => void;

interface Waiting {
  readonly append: Append;
  /** Places in the queue: a request without datapoints still takes one. */
  readonly places: number;
  readonly bytes: number;
  readonly done: Done;
}

export interface WriterBounds {
  readonly queueDatapointsMax: number;
  readonly queueBytesMax: number;
  readonly commitDatapointsMax: number;
  readonly roomWaitersMax: number;
  readonly busyRetryAfterS: number;
  readonly gatherMsMax: number;
  readonly commitPacing: PacingBounds;
}

export class Writer {
  readonly #store: DatapointStore;
  readonly #feed: Feed;
  readonly #room: Pick<Room, 'refusalOf'>;
  readonly #bounds: WriterBounds;
  readonly #pacing: Pacing;
  #queue: Waiting[] = [];
  #datapoints = 0;
  #bytes = 0;
  #committing = false;
  #stored = 0;
  #roomWaiters: (() => void)[] = [];
  #idleWaiters: (() => void)[] = [];
  #isHeldUp: () => boolean = () => false;
  #isRefusing = false;
  /** Pushes that are enough for a commit. */
  #gatherMin = 1;

  constructor(parts: {
    readonly store: DatapointStore;
    readonly feed: Feed;
    readonly room: Pick<Room, 'refusalOf'>;
    readonly bounds: WriterBounds;
  }) {
    this.#store = parts.store;
    this.#room = parts.room;
    this.#feed = parts.feed;
    this.#bounds = parts.bounds;
    this.#pacing = new Pacing(parts.bounds.commitPacing);
  }

  /** Datapoints accepted and not yet committed. */
  get waitingDatapoints(): number {
    return this.#datapoints;
  }

  /** Datapoints committed since the start. */
  get storedDatapoints(): number {
    return this.#stored;
  }

  /**
   * Resolves after the commit.
   * @throws Refusal `busy` when the queue is full, `full` when there is no room on the disk, `storage` when it refuses.
   */
  append(append: Append): Promise<void> {
    return new Promise((resolve, reject) => {
      this.submit(append, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** As `append`, for those to whom a promise costs too much. */
  submit(append: Append, done: Done): void {
    const datapoints = countDatapoints(append);
    const refusal = datapoints === 0 ? undefined : this.#room.refusalOf(datapoints);
    if (refusal !== undefined) {
      done(refusal);
      return;
    }
    const places = Math.max(datapoints, 1);
    const bytes = countBytes(append);
    const full =
      this.#datapoints + places > this.#bounds.queueDatapointsMax || this.#bytes + bytes > this.#bounds.queueBytesMax;
    if ((full && this.#datapoints > 0) || this.#isRefusing || this.#isHeldUp()) {
      // Until there is room again nothing else is taken: a small push must not overtake a large one that waits (I3).
      this.#isRefusing = true;
      done(
        new Refusal(
          'busy',
          'More datapoints arrive than can be stored. Nothing of this request was stored; send it again.',
          { retryAfterS: this.#bounds.busyRetryAfterS },
        ),
      );
      return;
    }
    this.#datapoints += places;
    this.#bytes += bytes;
    this.#queue.push({ append, places, bytes, done });
    this.#wake();
  }

  /**
   * Resolves when the queue has room again: the back-pressure of MQTT.
   * @throws Refusal `busy` when too many wait already.
   */
  room(): Promise<void> {
    if (this.#roomWaiters.length >= this.#bounds.roomWaitersMax) {
      return Promise.reject(new Refusal('busy', 'Too many messages wait to be stored.'));
    }
    return new Promise((resolve) => this.#roomWaiters.push(resolve));
  }

  /** Refuses new datapoints while `isHeldUp` says so; who makes it so calls `roomAgain` when it is over. */
  holdUpWhile(isHeldUp: () => boolean): void {
    this.#isHeldUp = isHeldUp;
  }

  /** Wakes who waits for room. */
  roomAgain(): void {
    this.#isRefusing = false;
    if (this.#roomWaiters.length > 0) for (const resume of this.#roomWaiters.splice(0)) resume();
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    if (this.#datapoints === 0 && !this.#committing) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  #wake(): void {
    if (this.#committing) return;
    this.#committing = true;
    // The commit starts after all input of this turn of the event loop has been taken in, so that it gathers it.
    setImmediate(() => void this.#commitAll());
  }

  async #commitAll(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      await this.#pacing.wait(this.#datapoints);
      const group = this.#take();
      this.#gatherMin = group.length * 2;
      await this.#commit(group);
    }
    this.#committing = false;
    if (this.#datapoints === 0) for (const resume of this.#idleWaiters.splice(0)) resume();
  }

  /**
   * Waits while more comes in, because a commit costs as much as dozens of datapoints: until twice what the last
   * commit held, or a turn of the event loop that brought nothing, or `gatherMsMax`. Who comes alone waits one turn.
   */
  async #gather(): Promise<void> {
    const untilMs = performance.now() + this.#bounds.gatherMsMax;
    let before = -1;
    while (this.#queue.length !== before && this.#queue.length < this.#gatherMin && performance.now() < untilMs) {
      before = this.#queue.length;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #take(): Waiting[] {
    let count = 0;
    let datapoints = 0;
    for (const waiting of this.#queue) {
      datapoints += waiting.places;
      if (count > 0 && datapoints > this.#bounds.commitDatapointsMax) break;
      count += 1;
    }
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    let failure: unknown;
    try {
      const batch = toBatch(group);
      this.#pacing.commitBegins(countRows(batch));
      this.#publish(group, await this.#store.append(batch));
    } catch (error) {
      failure = error;
    }
    for (const { places, bytes, done } of group) {
      this.#datapoints -= places;
      this.#bytes -= bytes;
      done(failure);
    }
    this.roomAgain();
  }

  #publish(group: readonly Waiting[], firstSeq: number): void {
    let seq = firstSeq;
    for (const { append } of group) {
      for (const push of append.pushes) {
        push.firstSeq = seq;
        seq += push.readings.length;
        this.#feed.publish(push);
      }
    }
    this.#stored += seq - firstSeq;
  }
}

function toBatch(group: readonly Waiting[]): DatapointBatch {
  let datapoints = 0;
  for (const { append } of group) datapoints += countDatapoints(append);
  const batch = new BatchBuilder(datapoints);
  for (const { append } of group) {
    for (const { sensor, readings, receivedMs, publish, isQuiet } of append.pushes) {
      if (readings instanceof PlainReadings) batch.addPlain(sensor.key, receivedMs, readings);
      else for (const reading of readings) batch.add(sensor.key, reading.timestampMs, receivedMs, reading.value);
      if (publish !== undefined) batch.addPublish(publish, receivedMs);
      if (isQuiet) batch.addQuiet(readings.length);
    }
    if (append.receipt !== undefined) batch.addReceipt(append.receipt);
  }
  return batch.build();
}

function countDatapoints(append: Append): number {
  let count = 0;
  for (const push of append.pushes) count += push.readings.length;
  return count;
}

function countBytes(append: Append): number {
  let bytes = 0;
  for (const push of append.pushes) {
    if (push.readings instanceof PlainReadings) {
      bytes += push.readings.length * 40;
      continue;
    }
    bytes += push.original?.bytes ?? 0;
    for (const { value } of push.readings) bytes += typeof value === 'number' ? 40 : 40 + value.length * 2;
  }
  return bytes;
}
