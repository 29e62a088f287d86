// What goes to MQTT subscribers: the datapoints of the feed, which delivers values of sensors and actuators alone, and messages
// between clients. Each becomes messages under all its topics, in one order (I2, I3), which delivery-queue.ts sends; without
// subscribers nothing does. While too much that a caller published is on its way, its pushes wait (delivery-share.ts).
import type { Json } from '../../base/text/json.ts';
import type { Clock } from '../../base/time/clock.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { jsonValue } from '../../domain/datapoints/datapoint.ts';
import type { Committed, CommittedPush, Feed } from '../../domain/datapoints/feed.ts';
import type { FanOut } from '../../domain/datapoints/ingest/fan-out.ts';
import type { Push } from '../../domain/datapoints/ingest/push.ts';
import type { Reading } from '../../domain/datapoints/ingest/reading.ts';
import { serviceCaller } from '../../domain/datapoints/ingest/writer-queue.ts';
import type { Device } from '../../domain/devices/device.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';
import type { ClientMessage } from '../../domain/ports/commit-log.ts';
import type { Actor } from '../../domain/users/user.ts';
import { bothForms, relayKeyOf } from '../topics.ts';
import { DeliveryQueue, type DeliveryQueueBounds, type OnUnreadable, type PendingPublish } from './delivery-queue.ts';
import {
  DeliveryShare,
  type DeliveryShareBounds,
  type DeliveryShareParts,
  messageBytes,
  publishBytes,
} from './delivery-share.ts';
import { type MessageTopic, presentTopicOf, topicsOf } from './message-topics.ts';
import type { OutgoingPublish, PublishRouter } from './publish-router.ts';
import type { Receipt } from './receipt.ts';

/** A message of a client to other clients. */
export interface RelayedPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties?: Buffer | undefined;
  readonly expiresMs?: number | undefined;
  readonly publisherId?: string | undefined;
}

export interface RelayedFor {
  /** Of a message of QoS 2. */
  readonly receipt?: Receipt | undefined;
  /** Key of the gateway that the topic belongs to. */
  readonly gateway: number | undefined;
  /** Undefined: the service. */
  readonly publisher: Actor | undefined;
}

interface DeliveryBounds extends DeliveryQueueBounds, DeliveryShareBounds {
  readonly deliveryBytesEach: number;
}

interface DeliveryParts extends DeliveryShareParts {
  readonly router: PublishRouter;
  readonly directory: DeviceDirectory;
  /** The clock by which former ids end. */
  readonly ages: Clock;
  readonly bounds: DeliveryBounds;
  readonly onUnreadable: OnUnreadable;
}

export class Delivery implements FanOut {
  readonly #router: PublishRouter;
  readonly #directory: DeviceDirectory;
  readonly #nowMs: () => number;
  readonly #bytesEach: number;
  readonly share: DeliveryShare;
  readonly queue: DeliveryQueue;

  constructor(parts: DeliveryParts) {
    this.#router = parts.router;
    this.#directory = parts.directory;
    this.#nowMs = () => parts.ages.now();
    this.#bytesEach = parts.bounds.deliveryBytesEach;
    this.share = new DeliveryShare(parts);
    this.queue = new DeliveryQueue({ ...parts, share: this.share });
  }

  /** Subscribes to the feed; returns the function that ends it. */
  follow(feed: Feed): () => void {
    return feed.subscribe((committed) => this.#take(committed));
  }

  bytesOf(pushes: readonly Push[]): number {
    if (!this.#router.isWatched) return 0;
    let sum = 0;
    for (const push of pushes) {
      const messages = push.original === undefined ? push.readings.length : 1;
      for (const { topic, exactLevels } of topicsOf(push, push.device, this.#nowMs)) {
        const subscribers = this.#router.subscribersOf(topic, exactLevels);
        if (subscribers > 0) sum += messages * (messageBytes + subscribers * this.#bytesEach);
      }
    }
    return sum;
  }

  get isHeldUp(): boolean {
    return this.#router.isHeldUp;
  }

  isFullFor(caller: Caller, more: number): boolean {
    return this.share.isFullFor(caller, more);
  }

  reserve(caller: Caller, bytes: number): void {
    this.share.reserve(caller, bytes);
  }

  release(caller: Caller, bytes: number): void {
    this.share.release(caller, bytes);
  }

  #take(committed: Committed): void {
    if (committed.kind === 'sensor' && committed.readings.length === 0) {
      if (committed.original?.payload.length === 0)
        this.clear(presentTopicOf(committed, committed.device.id), committed.device, { isPromised: true }).catch(
          () => {},
        );
      return;
    }
    const { qos = 0, retain = false } = committed.original ?? {};
    if (!retain && !this.#router.isWatched) return;
    const present = this.#presentOf(committed.device);
    // The same whatever the id, so that messages keep their order while the device is given another.
    const order = { caller: committed.caller ?? serviceCaller, orderKey: orderKeyOf(present) };
    const topics = topicsOf(committed, present, this.#nowMs).filter(({ topic, exactLevels }) =>
      this.#router.wants(topic, { qos, retain: retain && exactLevels === undefined, exactLevels }),
    );
    for (const { deviceId, message } of messagesOf(committed, present, topics))
      this.queue.put(this.#weighed({ ...order, deviceId }, message));
  }

  /** The messages of a push under all its topics, whether or not there is a subscriber. */
  messagesOf(committed: CommittedPush): OutgoingPublish[] {
    const present = this.#presentOf(committed.device);
    const topics = topicsOf(committed, present, this.#nowMs);
    return messagesOf(committed, present, topics).map(({ message }) => message);
  }

  /** The device may have got another id since the push was accepted. */
  #presentOf(device: Device): Device {
    const known = this.#directory.peek(device.id);
    return known?.key === device.key ? known : device;
  }

  /**
   * Routes a client's message in both forms of its topic, when it is its publisher's turn. Resolves when its subscribers
   * have it, or it is queued for them; callers wait for that, which bounds what waits here. Its receipt is stored in the same
   * commit; not where a group may get the message, which stores it for one of its members when that is chosen: whoever made the
   * receipt stores it then behind that, so that a crash between the two has the message come again.
   * @throws Refusal when it could not be stored.
   */
  async relay(relayed: RelayedPublish, { gateway, publisher, receipt }: RelayedFor): Promise<void> {
    const { topic, payload, qos, retain, properties, expiresMs, publisherId } = relayed;
    const message = {
      ...{ payload: Buffer.from(payload), qos, retain, properties, expiresMs, publisherId },
      ...(gateway === undefined ? {} : { device: gateway }),
      ...(publisher === undefined ? {} : { user: publisher.key }),
    };
    const order = { caller: publisher?.caller ?? serviceCaller, orderKey: relayKeyOf(topic) };
    const [bare, slashed] = bothForms(topic);
    const first = this.#weighed(order, { ...message, topic: bare });
    const second = this.#weighed(order, { ...message, topic: slashed });
    const both = { subscribers: first.subscribers + second.subscribers, bytes: first.bytes + second.bytes };
    await this.queue.putAndWait([{ ...first, ...both, twin: second.message, receipt }]);
  }

  /** Routes a message of a client of another process, which has charged its publisher for it. Nobody waits for that. */
  relayed(relayed: ClientMessage): void {
    const order = { caller: serviceCaller, orderKey: relayKeyOf(relayed.topic) };
    for (const message of formsOf(relayed))
      if (this.#router.wants(message.topic, message)) this.queue.put(this.#weighed(order, message));
  }

  /** Removes the retained message of a device's topic, after all messages of that device taken before. */
  async clear(
    topic: string,
    device: { readonly key: number },
    { isPromised = false }: { readonly isPromised?: boolean } = {},
  ): Promise<void> {
    const message = { payload: Buffer.alloc(0), qos: 0 as const, retain: true, isSilent: true, isPromised };
    const order = { caller: serviceCaller, orderKey: orderKeyOf(device), subscribers: 0, bytes: 0 };
    await this.queue.putAndWait(bothForms(topic).map((form) => ({ ...order, message: { ...message, topic: form } })));
  }

  /** Adds how many bytes the message counts for its publisher. */
  #weighed(order: Pick<PendingPublish, 'caller' | 'orderKey' | 'deviceId'>, message: OutgoingPublish): PendingPublish {
    const subscribers = this.#router.subscribersOf(message.topic, message.exactLevels);
    const bytes = publishBytes(message) + subscribers * this.#bytesEach;
    return { ...order, subscribers, bytes, message };
  }
}

/** A message of a client of another process in both forms of its topic. */
export function formsOf({ gateway, ...message }: ClientMessage): OutgoingPublish[] {
  const { payload, properties } = message;
  const bytes = { payload: asBuffer(payload), properties: properties && asBuffer(properties) };
  const own = gateway === undefined ? {} : { device: gateway };
  return bothForms(message.topic).map((topic) => ({ ...message, ...bytes, ...own, topic, isPromised: true }));
}

/** In the order of the payloads, each under all topics. */
function messagesOf(
  committed: Committed,
  present: Device,
  topics: readonly MessageTopic[],
): { readonly deviceId: string; readonly message: OutgoingPublish }[] {
  if (topics.length === 0) return [];
  const { qos = 0, retain = false, user, properties, expiresMs, publisherId } = committed.original ?? {};
  const common = {
    ...{ qos, user, expiresMs, publisherId },
    device: present.key,
    part: (committed.kind === 'actuator' ? committed.actuator : committed.sensor).key,
    setting: committed.kind === 'actuator' ? committed.setting : undefined,
    isOfGuest: committed.caller?.isGuest ? (true as const) : undefined,
    properties: properties && asBuffer(properties),
    isPromised: true,
  };
  return payloadsOf(committed).flatMap((payload) =>
    topics.map(({ topic, id, exactLevels }) => ({
      deviceId: id,
      // Retained under the present ids alone.
      message: { ...common, topic, payload, exactLevels, retain: retain && exactLevels === undefined },
    })),
  );
}

/** Never equal to that of a message between clients, which has a slash. */
function orderKeyOf({ key }: { readonly key: number }): string {
  return String(key);
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

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function toMessage(reading: Reading): { value: Json; timestamp?: string } {
  const value = jsonValue(reading.value);
  return Number.isNaN(reading.timestampMs) ? { value } : { value, timestamp: formatTimestamp(reading.timestampMs) };
}
