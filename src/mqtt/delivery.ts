// Delivers from the feed to MQTT subscribers in one order, with one permission check for each message (I2, I3). Values
// of sensors and actuators are delivered by the feed alone; without subscribers nothing is published. Bounded: while
// too much is on its way, ingest waits.
import type { Json } from '../base/text/json.ts';
import { formatTimestamp } from '../base/time/timestamp.ts';
import { jsonValue } from '../domain/datapoints/datapoint.ts';
import type { Committed, CommittedPush, Feed } from '../domain/datapoints/feed.ts';
import type { Reading } from '../domain/datapoints/ingest/reading.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { UserKey } from '../domain/users/user.ts';
import { actuatorTopic, bothForms, sensorTopic } from './topics.ts';

export interface OutgoingPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Key of the device or gateway: messages kept for a removed one are not delivered to a new one with the same id. */
  readonly device?: number;
  /** Key of the sensor or actuator, for the same reason. */
  readonly part?: number;
  /** The publisher, who is charged for a retained message. */
  readonly user?: UserKey;
  /** Only changes the retained message; delivered to nobody. */
  readonly isSilent?: boolean;
}

/** What decides, beside the topic, whether a message has recipients. */
export interface MessageKind {
  readonly qos: number;
  readonly retain: boolean;
  readonly user?: UserKey | undefined;
}

/** What delivery needs of the broker. */
export interface PublishRouter {
  /** False when there are no subscriptions at all. */
  readonly isWatched: boolean;
  /** Whether any connected client or stored session is to get a message on this topic, or it is retained. */
  wants(topic: string, options: MessageKind): boolean;
  /** Routes the message; resolves when its subscribers have it, or it is queued for them. */
  route(message: OutgoingPublish): Promise<void>;
}

export interface DeliveryBounds {
  readonly deliveriesMax: number;
  readonly deliveryBytesMax: number;
  readonly deliveryTurnBytes: number;
}

interface PendingPublish {
  readonly deviceId?: string;
  readonly message: OutgoingPublish;
  readonly resolve?: () => void;
  readonly reject?: (error: unknown) => void;
}

export class Delivery {
  readonly #router: PublishRouter;
  readonly #directory: DeviceDirectory;
  readonly #bounds: DeliveryBounds;
  readonly #onRoom: () => void;
  readonly #unreadBytes: () => number;
  /** True once `isFull` was true, until `onRoom` has been called. */
  #wasFull = false;
  #waiting: PendingPublish[] = [];
  /** Messages taken from the feed and not sent yet, and their bytes. */
  #messages = 0;
  #bytes = 0;
  #running = false;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: {
    readonly router: PublishRouter;
    readonly directory: DeviceDirectory;
    readonly bounds: DeliveryBounds;
    /** Bytes that wait for subscribers whose sockets are full: ingest does not wait for these. */
    readonly unreadBytes: () => number;
    /** Called when `isFull` is no longer true. */
    readonly onRoom: () => void;
  }) {
    this.#router = parts.router;
    this.#directory = parts.directory;
    this.#bounds = parts.bounds;
    this.#onRoom = parts.onRoom;
    this.#unreadBytes = parts.unreadBytes;
  }

  /** Subscribes to the feed; returns the function that ends it. */
  follow(feed: Feed): () => void {
    return feed.subscribe((committed) => this.#take(committed));
  }

  /** True while so much is on its way that ingest has to wait. */
  get isFull(): boolean {
    const { deliveriesMax, deliveryBytesMax } = this.#bounds;
    const isFull =
      this.#messages > deliveriesMax ||
      (this.#bytes > deliveryBytesMax && this.#bytes - this.#unreadBytes() > deliveryBytesMax);
    if (isFull) this.#wasFull = true;
    return isFull;
  }

  /** Calls `onRoom` if `isFull` has ended. */
  lookForRoom(): void {
    if (!this.#wasFull || this.isFull) return;
    this.#wasFull = false;
    this.#onRoom();
  }

  /** Resolves when all messages taken have been sent. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#messages === 0 && !this.#running;
  }

  #take(committed: Committed): void {
    if (committed.kind === 'sensor' && committed.readings.length === 0) {
      if (committed.original?.payload.length === 0) this.clear(topicOf(committed)).catch(() => {});
      return;
    }
    const { qos = 0, retain = false, user } = committed.original ?? {};
    if (!retain && !this.#router.isWatched) return;
    const topics = bothForms(topicOf(committed)).filter((topic) => this.#router.wants(topic, { qos, retain }));
    if (topics.length === 0) return;
    const device = committed.device.key;
    const part = (committed.kind === 'actuator' ? committed.actuator : committed.sensor).key;
    for (const payload of payloadsOf(committed)) {
      for (const topic of topics)
        this.#put({
          deviceId: committed.device.id,
          message: { topic, payload, qos, retain, device, part, ...(user === undefined ? {} : { user }) },
        });
    }
    if (!this.#running) void this.#run();
  }

  /** Removes the retained message of a topic, after all messages taken before. */
  async clear(topic: string): Promise<void> {
    const message = { payload: Buffer.alloc(0), qos: 0 as const, retain: true, isSilent: true };
    const cleared = bothForms(topic).map(
      (form) =>
        new Promise<void>((resolve, reject) => this.#put({ message: { ...message, topic: form }, resolve, reject })),
    );
    if (!this.#running) void this.#run();
    await Promise.all(cleared);
  }

  #put(waiting: PendingPublish): void {
    this.#messages += 1;
    this.#bytes += bytesOf(waiting.message);
    this.#waiting.push(waiting);
  }

  /**
   * Hands messages to the broker in order, a bounded number of bytes in each turn of the event loop, so that sockets
   * can be written to.
   */
  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const turn = this.#waiting;
      this.#waiting = [];
      let bytes = 0;
      for (const waiting of turn) {
        const { deviceId, message } = waiting;
        // The permission check at delivery needs the device in memory.
        if (deviceId !== undefined && this.#directory.peek(deviceId) === undefined)
          await this.#directory.find(deviceId);
        this.#send(waiting);
        bytes += bytesOf(message);
        if (bytes < this.#bounds.deliveryTurnBytes) continue;
        bytes = 0;
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    }
    this.#running = false;
    this.#ended();
  }

  #send({ message, resolve, reject }: PendingPublish): void {
    const ended = () => {
      this.#messages -= 1;
      this.#bytes -= bytesOf(message);
      this.lookForRoom();
      this.#ended();
    };
    const routed = this.#router.route(message);
    routed.then(ended, ended);
    if (resolve !== undefined) routed.then(resolve, reject);
  }

  #ended(): void {
    if (this.#isIdle) for (const resume of this.#idleWaiters.splice(0)) resume();
  }
}

function bytesOf({ payload, topic }: OutgoingPublish): number {
  return messageBytes + payload.length + topic.length;
}

/** Estimated memory of a message beside its bytes. */
const messageBytes = 300;

function topicOf(committed: Committed): string {
  if (committed.kind === 'actuator') return actuatorTopic(committed.device.id, committed.actuator.id);
  return sensorTopic(committed.device.id, committed.sensor.id, { many: committed.many });
}

/** The payload as it was published; of a push by HTTP, `{value, timestamp?}` for each datapoint. */
function payloadsOf(committed: Committed): Buffer[] {
  if (committed.original !== undefined) {
    const { buffer, byteOffset, byteLength } = committed.original.payload;
    return [Buffer.from(buffer, byteOffset, byteLength)];
  }
  if (committed.kind === 'actuator') return [Buffer.from(committed.valueJson)];
  return (committed as CommittedPush).readings.map((reading) => Buffer.from(JSON.stringify(toMessage(reading))));
}

function toMessage(reading: Reading): { value: Json; timestamp?: string } {
  const value = jsonValue(reading.value);
  return Number.isNaN(reading.timestampMs) ? { value } : { value, timestamp: formatTimestamp(reading.timestampMs) };
}
