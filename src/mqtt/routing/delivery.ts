// Delivers from the feed to MQTT subscribers in one order, with one permission check for each message (I2, I3). Values
// of sensors and actuators are delivered by the feed alone; without subscribers nothing is published. Bounded: while
// too much of what a caller published is on its way, that caller's pushes wait; and in each turn of the event loop only so
// much goes out, however many subscribers a message has (I4).
import type { Json } from '../../base/text/json.ts';
import type { Clock } from '../../base/time/clock.ts';
import { nextLoopTurn } from '../../base/time/next-loop-turn.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { FairShare } from '../../domain/callers/fair-share.ts';
import { jsonValue } from '../../domain/datapoints/datapoint.ts';
import type { Committed, CommittedPush, Feed } from '../../domain/datapoints/feed.ts';
import type { FanOut } from '../../domain/datapoints/ingest/fan-out.ts';
import type { Push } from '../../domain/datapoints/ingest/push.ts';
import type { Reading } from '../../domain/datapoints/ingest/reading.ts';
import { serviceCaller } from '../../domain/datapoints/ingest/writer-queue.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';
import type { SettingId } from '../../domain/devices/setting.ts';
import type { Actor, UserKey } from '../../domain/users/user.ts';
import { bothForms, relayKeyOf } from '../topics.ts';
import { DeliveryOrder, type OrderedMessage } from './delivery-order.ts';
import { presentTopicOf, topicsOf } from './message-topics.ts';
import type { OutgoingPublish, PublishRouter, Routed } from './publish-router.ts';
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

export interface DeliveryBounds {
  readonly deliveriesMax: number;
  readonly deliveryBytesMax: number;
  readonly deliveryBytesReserve: number;
  readonly deliveryTurnBytes: number;
  readonly deliveryTurnMax: number;
  readonly deliveryCreditMax: number;
  readonly deliveryBytesEach: number;
  readonly deliveryBytesEachMin: number;
}

interface PendingPublish extends OrderedMessage {
  readonly deviceId?: string;
  /** Bytes charged to the publisher's share. */
  readonly bytes: number;
  readonly message: OutgoingPublish;
  /** The same in the other form of its topic, which goes with it. */
  readonly twin?: OutgoingPublish;
  readonly receipt?: Receipt | undefined;
  readonly resolve?: () => void;
  readonly reject?: (error: unknown) => void;
}

export class Delivery implements FanOut {
  readonly #router: PublishRouter;
  readonly #directory: DeviceDirectory;
  readonly #nowMs: () => number;
  readonly #bounds: DeliveryBounds;
  readonly #onCapacity: () => void;
  readonly #unreadBytes: () => number;
  /** Bytes of messages taken from the feed and not sent yet, by publisher. */
  readonly #share: FairShare;
  /** Publishers for whom `isFullFor` was true, until `onCapacity` has been called. */
  readonly #heldUp = new Set<Caller>();
  readonly #order: DeliveryOrder<PendingPublish>;
  /** Messages taken from the feed and not sent yet. */
  #messages = 0;
  /** Of those, how many are of each setting of an actuator. */
  readonly #settings = new Map<SettingId, number>();
  /** Bytes handed to the router in this turn of the event loop, and what it had handed out before. */
  #turnBytes = 0;
  #handedOutBefore = 0;
  #running = false;
  /** Messages taken, and messages handed to the router, since the start. */
  #taken = 0;
  #handedOver = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: {
    readonly router: PublishRouter;
    readonly directory: DeviceDirectory;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly bounds: DeliveryBounds;
    /** Bytes that wait for subscribers whose sockets are full: no publisher waits for these. */
    readonly unreadBytes: () => number;
    /** Called when there is room again for a publisher for whom there was none. */
    readonly onCapacity: () => void;
  }) {
    this.#router = parts.router;
    this.#directory = parts.directory;
    this.#nowMs = () => parts.ages.now();
    this.#bounds = parts.bounds;
    const { deliveryBytesMax, deliveryBytesReserve: reserve } = parts.bounds;
    this.#share = new FairShare('deliveryBytes', { aloneMax: deliveryBytesMax - reserve, reserve });
    this.#order = new DeliveryOrder(parts.bounds.deliveryCreditMax);
    this.#onCapacity = parts.onCapacity;
    this.#unreadBytes = parts.unreadBytes;
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
        if (subscribers > 0) sum += messages * (messageBytes + subscribers * this.#bounds.deliveryBytesEach);
      }
    }
    return sum;
  }

  isFullFor(caller: Caller, more: number): boolean {
    const held = this.#share.heldBy(caller);
    const isFull = held > 0 && held + more > this.#shareNow();
    if (isFull) this.#heldUp.add(caller);
    return isFull;
  }

  reserve(caller: Caller, bytes: number): void {
    this.#share.force(caller, bytes);
  }

  release(caller: Caller, bytes: number): void {
    this.#share.release(caller, bytes);
  }

  /** Calls `onCapacity` if there is some room again for a publisher for whom there was none. */
  lookForCapacity(): void {
    if (this.#heldUp.size === 0) return;
    const share = this.#shareNow();
    for (const caller of this.#heldUp) {
      if (this.#share.heldBy(caller) > share * roomyPart) continue;
      this.#heldUp.clear();
      this.#onCapacity();
      return;
    }
  }

  /**
   * Bytes that one publisher may have on their way now: as in fair-share.ts, but without those that wait for full
   * sockets, and never less than `deliveryBytesEachMin`.
   */
  #shareNow(): number {
    const { deliveryBytesMax, deliveryBytesReserve: reserve, deliveriesMax } = this.#bounds;
    const isFree = this.#messages <= deliveriesMax;
    const free = isFree ? deliveryBytesMax - Math.max(0, this.#share.held - this.#unreadBytes()) : 0;
    return Math.max((free * (deliveryBytesMax - reserve)) / reserve, this.#bounds.deliveryBytesEachMin);
  }

  /** Whether messages of the setting were taken from the feed and are not sent yet. */
  isUnderWay(setting: SettingId): boolean {
    return this.#settings.has(setting);
  }

  /** Resolves when as many messages were handed to the router as are waiting for that. */
  async handedOn(): Promise<void> {
    for (const end = this.#taken; this.#running && this.#handedOver < end; ) await nextLoopTurn();
    // The router keeps them for stored sessions a moment later.
    await nextLoopTurn();
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
      if (committed.original?.payload.length === 0)
        this.clear(presentTopicOf(committed, committed.device.id), committed.device).catch(() => {});
      return;
    }
    const { qos = 0, retain = false, user, properties, expiresMs, publisherId } = committed.original ?? {};
    const ownProperties = properties && asBuffer(properties);
    if (!retain && !this.#router.isWatched) return;
    // The device may have got another id since the push was accepted.
    const known = this.#directory.peek(committed.device.id);
    const present = known?.key === committed.device.key ? known : committed.device;
    const topics = topicsOf(committed, present, this.#nowMs).filter(({ topic, exactLevels }) =>
      this.#router.wants(topic, { qos, retain: retain && exactLevels === undefined, exactLevels }),
    );
    if (topics.length === 0) return;
    const { key: device } = present;
    // The same whatever the id, so that messages keep their order while the device is given another.
    const orderKey = orderKeyOf(present);
    const part = (committed.kind === 'actuator' ? committed.actuator : committed.sensor).key;
    const caller = committed.caller ?? serviceCaller;
    const setting = committed.kind === 'actuator' ? committed.setting : undefined;
    for (const payload of payloadsOf(committed)) {
      for (const { topic, id: deviceId, exactLevels } of topics) {
        const message = {
          topic,
          payload,
          qos,
          device,
          part,
          setting,
          user,
          exactLevels,
          isOfGuest: caller.isGuest ? true : undefined,
          // Retained under the present ids alone.
          retain: retain && exactLevels === undefined,
          properties: ownProperties,
          expiresMs,
          publisherId,
        };
        this.#put(this.#weighed({ caller, orderKey, deviceId }, message));
      }
    }
    if (!this.#running) void this.#run();
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
    await this.#putAndWait([{ ...first, ...both, twin: second.message, receipt }]);
  }

  /** Routes a message of a client of another process, which has charged its publisher for it. Nobody waits for that. */
  relayed(
    relayed: RelayedPublish,
    { gateway, user }: { readonly gateway: number | undefined; readonly user: UserKey },
  ): void {
    const { topic, payload, qos, retain, properties, expiresMs, publisherId } = relayed;
    const own = gateway === undefined ? {} : { device: gateway };
    const order = { caller: serviceCaller, orderKey: relayKeyOf(topic) };
    for (const form of bothForms(topic)) {
      if (!this.#router.wants(form, { qos, retain, user })) continue;
      const message = { topic: form, payload, qos, retain, properties, expiresMs, publisherId, user, ...own };
      this.#put(this.#weighed(order, message));
    }
    if (!this.#running) void this.#run();
  }

  /** Removes the retained message of a device's topic, after all messages of that device taken before. */
  async clear(topic: string, device: { readonly key: number }): Promise<void> {
    const message = { payload: Buffer.alloc(0), qos: 0 as const, retain: true, isSilent: true };
    const order = { caller: serviceCaller, orderKey: orderKeyOf(device), subscribers: 0, bytes: 0 };
    await this.#putAndWait(bothForms(topic).map((form) => ({ ...order, message: { ...message, topic: form } })));
  }

  async #putAndWait(messages: readonly PendingPublish[]): Promise<void> {
    const routed = messages.map(
      (message) => new Promise<void>((resolve, reject) => this.#put({ ...message, resolve, reject })),
    );
    if (!this.#running) void this.#run();
    await Promise.all(routed);
  }

  /** Adds how many bytes the message counts for its publisher. */
  #weighed(order: Pick<PendingPublish, 'caller' | 'orderKey' | 'deviceId'>, message: OutgoingPublish): PendingPublish {
    const subscribers = this.#router.subscribersOf(message.topic, message.exactLevels);
    const bytes = bytesOf(message) + subscribers * this.#bounds.deliveryBytesEach;
    return { ...order, subscribers, bytes, message };
  }

  #countSetting(setting: SettingId | undefined, more: 1 | -1): void {
    if (setting === undefined) return;
    const count = (this.#settings.get(setting) ?? 0) + more;
    if (count > 0) this.#settings.set(setting, count);
    else this.#settings.delete(setting);
  }

  #put(waiting: PendingPublish): void {
    this.#taken += 1;
    this.#messages += 1;
    this.#countSetting(waiting.message.setting, 1);
    this.#share.force(waiting.caller, waiting.bytes);
    this.#order.put(waiting);
  }

  /**
   * Hands messages to the router: in each turn of the event loop a bounded number of bytes, for sockets to be written to,
   * and to a bounded number of subscribers, because writing to each takes time in the next turn. What is beyond that is
   * shared out among publishers.
   */
  async #run(): Promise<void> {
    this.#running = true;
    // One microtask later: all messages of a commit are here then, and those who published them are acknowledged.
    await undefined;
    for (;;) {
      const isRoom = this.#untilRoomInTurn();
      if (isRoom !== undefined) {
        this.#order.takeTurns();
        this.#router.flush();
        await isRoom;
      }
      const waiting = this.#order.take();
      if (waiting === undefined) break;
      const { deviceId, message } = waiting;
      // The permission check at delivery needs the device in memory.
      if (deviceId !== undefined && this.#directory.peek(deviceId) === undefined) {
        this.#router.flush();
        await this.#directory.find(deviceId);
      }
      this.#send(waiting);
      this.#handedOver += 1;
      this.#turnBytes += bytesOf(message) + (waiting.twin === undefined ? 0 : bytesOf(waiting.twin));
    }
    this.#router.flush();
    this.#running = false;
    this.#ended();
  }

  /** Waits for the next turn of the event loop where enough was handed out in this one. */
  #untilRoomInTurn(): Promise<void> | undefined {
    const { deliveryTurnBytes, deliveryTurnMax } = this.#bounds;
    const handedOut = this.#router.handedOut - this.#handedOutBefore;
    return this.#turnBytes < deliveryTurnBytes && handedOut < deliveryTurnMax ? undefined : this.#nextTurn();
  }

  /** Counts what is handed out from the beginning of each turn, because messages may come one by one within it. */
  async #nextTurn(): Promise<void> {
    await nextLoopTurn();
    this.#turnBytes = 0;
    this.#handedOutBefore = this.#router.handedOut;
  }

  #send(waiting: PendingPublish): void {
    const { caller, bytes, message, twin, resolve, reject } = waiting;
    // Releases the bytes counted for subscribers: from now on each of them is bounded by what it has not read.
    const own = Math.min(bytes, bytesOf(message) + (twin === undefined ? 0 : bytesOf(twin)));
    this.#share.release(caller, bytes - own);
    const routed = (error?: unknown) => {
      this.#messages -= 1;
      this.#countSetting(message.setting, -1);
      this.#share.release(caller, own);
      this.lookForCapacity();
      if (error === undefined) resolve?.();
      else reject?.(error);
      this.#ended();
    };
    if (twin === undefined) this.#router.route(message, routed);
    else this.#routeBoth(waiting, twin, routed);
    this.lookForCapacity();
  }

  /** In one turn of the event loop: what is stored of both is stored at once. */
  #routeBoth({ message, receipt }: PendingPublish, twin: OutgoingPublish, routed: Routed): void {
    const isOfGroup = receipt !== undefined && [message, twin].some(({ topic }) => this.#router.hasGroups(topic));
    const joined = receipt === undefined || isOfGroup ? {} : { receipt };
    let left = 2;
    let fault: unknown;
    const ended = (error?: unknown) => {
      fault ??= error;
      left -= 1;
      if (left === 0) routed(fault);
    };
    for (const form of [message, twin]) this.#router.route({ ...form, ...joined }, ended);
  }

  #ended(): void {
    if (this.#isIdle) for (const resume of this.#idleWaiters.splice(0)) resume();
  }
}

function bytesOf({ payload, topic, properties }: OutgoingPublish): number {
  return messageBytes + payload.length + topic.length + (properties?.length ?? 0);
}

/** A publisher that waited for room goes on when it holds no more than this part of its share. */
const roomyPart = 0.5;

/**
 * Estimated memory of a message beside its bytes; `deliveryBytesMax` thus allow no more than `deliveriesMax` messages.
 */
const messageBytes = 420;

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
