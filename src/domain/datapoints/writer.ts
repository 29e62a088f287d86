// Gathers pushes into one commit: all that waits while a commit is under way goes into the next. Called by ingest
// alone. Keeps I1 (callers resume after the commit), I2 and I3 (the feed sees pushes after their commit, in its
// order) and I4 (a bounded queue that refuses with `busy`).
import { Refusal } from '../../base/refusal.ts';
import type { Device } from '../devices/device.ts';
import type { Sensor, SensorKey } from '../sensors/sensor.ts';
import type { StoredValue } from './datapoint.ts';
import type { DatapointStore, PublishMark, PushReceipt } from './datapoint-store.ts';
import type { Feed, OriginalMessage } from './feed.ts';
import type { Reading } from './reading.ts';

/** One push on its way into the store. */
export interface Push {
  readonly device: Device;
  readonly sensor: Sensor;
  readonly readings: readonly Reading[];
  readonly receivedMs: number;
  readonly original?: OriginalMessage | undefined;
  readonly many?: boolean | undefined;
}

/** Pushes that are stored together or not at all, and what is kept beside them. */
export interface Append {
  readonly pushes: readonly Push[];
  readonly receipt?: PushReceipt | undefined;
  readonly publish?: PublishMark | undefined;
}

interface Waiting {
  readonly append: Append;
  readonly datapoints: number;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface WriterBounds {
  readonly queueDatapointsMax: number;
  readonly queueBytesMax: number;
  readonly commitDatapointsMax: number;
  readonly roomWaitersMax: number;
  readonly busyRetryAfterS: number;
  readonly gatherMsMax: number;
}

export class Writer {
  readonly #store: DatapointStore;
  readonly #feed: Feed;
  readonly #bounds: WriterBounds;
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

  constructor(parts: { readonly store: DatapointStore; readonly feed: Feed; readonly bounds: WriterBounds }) {
    this.#store = parts.store;
    this.#feed = parts.feed;
    this.#bounds = parts.bounds;
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
   * @throws Refusal `busy` when the queue is full, `storage` when the disk refuses.
   */
  append(append: Append): Promise<void> {
    const datapoints = countDatapoints(append);
    const bytes = countBytes(append);
    const full =
      this.#datapoints + datapoints > this.#bounds.queueDatapointsMax ||
      this.#bytes + bytes > this.#bounds.queueBytesMax;
    if ((full && this.#datapoints > 0) || this.#isRefusing || this.#isHeldUp()) {
      // Until there is room again nothing else is taken: a small push must not overtake a large one that waits (I3).
      this.#isRefusing = true;
      return Promise.reject(
        new Refusal(
          'busy',
          'More datapoints arrive than can be stored. Nothing of this request was stored; send it again.',
          {
            retryAfterS: this.#bounds.busyRetryAfterS,
          },
        ),
      );
    }
    this.#datapoints += datapoints;
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ append, datapoints, bytes, resolve, reject });
      this.#wake();
    });
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
      datapoints += waiting.datapoints;
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
    try {
      const batch = toBatch(group);
      const firstSeq = await this.#store.append(batch);
      this.#stored += batch.sensors.length;
      this.#publish(group, firstSeq);
      for (const waiting of group) waiting.resolve();
    } catch (error) {
      for (const waiting of group) waiting.reject(error);
    }
    for (const waiting of group) {
      this.#datapoints -= waiting.datapoints;
      this.#bytes -= waiting.bytes;
    }
    this.roomAgain();
  }

  #publish(group: readonly Waiting[], firstSeq: number): void {
    let seq = firstSeq;
    for (const { append } of group) {
      for (const push of append.pushes) {
        this.#feed.publish({
          kind: 'sensor',
          device: push.device,
          sensor: push.sensor,
          readings: push.readings,
          receivedMs: push.receivedMs,
          firstSeq: seq,
          original: push.original,
          many: push.many === true,
        });
        seq += push.readings.length;
      }
    }
  }
}

function toBatch(group: readonly Waiting[]) {
  const sensors: SensorKey[] = [];
  const timestamps: number[] = [];
  const received: number[] = [];
  const values: StoredValue[] = [];
  const receipts: PushReceipt[] = [];
  const publishes: PublishMark[] = [];
  for (const { append } of group) {
    for (const push of append.pushes) {
      const key = push.sensor.key;
      for (const reading of push.readings) {
        sensors.push(key);
        timestamps.push(reading.timestampMs);
        received.push(push.receivedMs);
        values.push(reading.value);
      }
    }
    if (append.receipt !== undefined) receipts.push(append.receipt);
    if (append.publish !== undefined) publishes.push(append.publish);
  }
  return { sensors, timestamps, received, values, receipts, publishes };
}

function countDatapoints(append: Append): number {
  let count = 0;
  for (const push of append.pushes) count += push.readings.length;
  // A request without datapoints still takes a place in the queue.
  return Math.max(count, 1);
}

function countBytes(append: Append): number {
  let bytes = 0;
  for (const push of append.pushes) {
    bytes += push.original?.payload.length ?? 0;
    for (const reading of push.readings)
      bytes += typeof reading.value === 'number' ? 40 : 40 + reading.value.length * 2;
  }
  return bytes;
}
