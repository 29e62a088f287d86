// The messages that wait to be handed to the router, in the order of delivery-order.ts: in each turn of the event loop only so much
// goes out, however many subscribers a message has (I4). What is beyond that is shared out among publishers. Messages whose device has to
// be read first wait beside the others (device-reads.ts). Used by delivery.ts.
import { setTimeout as delay } from 'node:timers/promises';
import { nextLoopTurn } from '../../base/time/next-loop-turn.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';
import type { SettingId } from '../../domain/devices/setting.ts';
import { DeliveryOrder, type OrderedMessage } from './delivery-order.ts';
import { type DeliveryShare, publishBytes } from './delivery-share.ts';
import { DeviceReads } from './device-reads.ts';
import type { OutgoingPublish, PublishRouter, Routed } from './publish-router.ts';
import type { Receipt } from './receipt.ts';

export interface DeliveryQueueBounds {
  readonly deliveryTurnBytes: number;
  readonly deliveryTurnMax: number;
  readonly deliveryCreditMax: number;
}

export interface PendingPublish extends OrderedMessage {
  readonly deviceId?: string;
  /** Bytes charged to the publisher's share. */
  readonly bytes: number;
  readonly message: OutgoingPublish;
  /** The same in the other form of its topic, which goes with it. */
  readonly twin?: OutgoingPublish;
  readonly receipt?: Receipt | undefined;
  readonly resolve?: () => void;
  readonly reject?: (error: unknown) => void;
  /** Set by the queue. */
  among?: { count: number };
}

/** Messages that came between two looks, and wait. */
interface Waiting {
  count: number;
}

/** Called with the topic of a message that is dropped, because its device cannot be read. */
export type OnUnreadable = (topic: string, error: unknown) => void;

export class DeliveryQueue {
  readonly #router: PublishRouter;
  readonly #share: DeliveryShare;
  readonly #onUnreadable: OnUnreadable;
  readonly #bounds: DeliveryQueueBounds;
  readonly #order: DeliveryOrder<PendingPublish>;
  readonly #reads: DeviceReads<PendingPublish>;
  /** How many messages are of each setting of an actuator. */
  readonly #settings = new Map<SettingId, number>();
  /** Bytes handed to the router in this turn of the event loop, and what it had handed out before. */
  #turnBytes = 0;
  #handedOutBefore = 0;
  #running = false;
  /** Messages that wait to be handed to the router: those since the last call of `handedOn`, and before it. Publishers take turns, so that later ones may go first. */
  #newest: Waiting = { count: 0 };
  #older: Waiting[] = [];
  #idleWaiters: (() => void)[] = [];
  #isClosed = false;
  /** Whether some were dropped because the service stops: who has the sessions next is not to pass over them. */
  #hasDropped = false;

  constructor(parts: {
    readonly router: PublishRouter;
    readonly directory: DeviceDirectory;
    readonly share: DeliveryShare;
    readonly bounds: DeliveryQueueBounds;
    readonly onUnreadable: OnUnreadable;
  }) {
    this.#router = parts.router;
    this.#share = parts.share;
    this.#bounds = parts.bounds;
    this.#onUnreadable = parts.onUnreadable;
    this.#order = new DeliveryOrder(parts.bounds.deliveryCreditMax);
    this.#reads = new DeviceReads({
      directory: parts.directory,
      onReady: () => {
        if (!this.#running) void this.#run();
      },
      onDropped: (waiting, error) => this.#drop(waiting, error),
    });
  }

  /** Adds a message; it goes out one microtask later at the earliest, with all others that were added until then. */
  put(waiting: PendingPublish): void {
    waiting.among = this.#newest;
    waiting.among.count += 1;
    this.#countSetting(waiting.message.setting, 1);
    this.#share.taken(waiting.caller, waiting.bytes);
    this.#order.put(waiting);
    if (!this.#running) void this.#run();
  }

  /**
   * Adds messages; resolves when their subscribers have them, or they are queued for them.
   * @throws Refusal when one could not be stored.
   */
  async putAndWait(messages: readonly PendingPublish[]): Promise<void> {
    const routed = messages.map(
      (message) => new Promise<void>((resolve, reject) => this.put({ ...message, resolve, reject })),
    );
    await Promise.all(routed);
  }

  /** Whether messages of the setting were taken from the feed and are not sent yet. */
  isUnderWay(setting: SettingId): boolean {
    return this.#settings.has(setting);
  }

  /** Resolves when all messages that wait at the call were handed to the router. @throws Error where that takes too long, or some were dropped */
  async handedOn(msMax: number = limits.handedOnMsMax): Promise<void> {
    if (this.#newest.count > 0) {
      this.#older.push(this.#newest);
      this.#newest = { count: 0 };
    }
    const before = this.#older.filter(({ count }) => count > 0);
    this.#older = before;
    const endMs = performance.now() + msMax;
    while (before.some(({ count }) => count > 0)) {
      if (performance.now() > endMs) throw new Error('Messages wait for a device that cannot be read.');
      if (this.#running || !this.#reads.hasWaiting) await nextLoopTurn();
      else await delay(limits.handedOnLookMs, undefined, { ref: false });
    }
    if (this.#hasDropped) throw new Error('Messages were dropped because the service stops.');
    // The router keeps them for stored sessions a moment later.
    await nextLoopTurn();
  }

  /** What waits for a device that cannot be read is dropped from now on. */
  close(): void {
    this.#isClosed = true;
    this.#reads.close();
  }

  /** Resolves when all messages taken have been sent. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#share.messages === 0 && !this.#running;
  }

  #countSetting(setting: SettingId | undefined, more: 1 | -1): void {
    if (setting === undefined) return;
    const count = (this.#settings.get(setting) ?? 0) + more;
    if (count > 0) this.#settings.set(setting, count);
    else this.#settings.delete(setting);
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
      const waiting = this.#reads.take() ?? this.#takeNext();
      if (waiting === undefined) break;
      const { message, twin } = waiting;
      this.#send(waiting);
      handedOver(waiting);
      this.#turnBytes += publishBytes(message) + (twin === undefined ? 0 : publishBytes(twin));
    }
    this.#router.flush();
    this.#running = false;
    this.#ended();
  }

  /** The next one whose device is in memory. */
  #takeNext(): PendingPublish | undefined {
    for (let next = this.#order.take(); next !== undefined; next = this.#order.take())
      if (!this.#reads.holds(next)) return next;
    return undefined;
  }

  #drop(waiting: PendingPublish, error: unknown): void {
    const { caller, bytes, message, reject } = waiting;
    this.#countSetting(message.setting, -1);
    handedOver(waiting);
    if (this.#isClosed) this.#hasDropped = true;
    this.#onUnreadable(message.topic, error);
    this.#share.sent(caller, bytes);
    reject?.(error);
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
    const own = Math.min(bytes, publishBytes(message) + (twin === undefined ? 0 : publishBytes(twin)));
    this.#share.release(caller, bytes - own);
    const routed = (error?: unknown) => {
      this.#countSetting(message.setting, -1);
      this.#share.sent(caller, own);
      if (error === undefined) resolve?.();
      else reject?.(error);
      this.#ended();
    };
    if (twin === undefined) this.#router.route(message, routed);
    else this.#routeBoth(waiting, twin, routed);
    this.#share.lookForCapacity();
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

function handedOver({ among }: PendingPublish): void {
  if (among !== undefined) among.count -= 1;
}
