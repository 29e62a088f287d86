// Passes messages to their subscribers in one order, each stored before where that is needed, and knows which topics have
// subscribers, so that nothing is done for a message that nobody receives. Forwarding decides who may have it (forwarding.ts).
import { setTimeout as delay } from 'node:timers/promises';
import { entryBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { isTransient, Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { MessageWriting, MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { remembered } from '../../domain/remembered.ts';
import { keyOf, type Levels } from '../topics.ts';
import type { LiveFilter } from './live-filter.ts';
import type { MessageKind, OutgoingPublish, PublishRouter, Routed } from './publish-router.ts';
import type { Recipients } from './recipients.ts';
import { RoutedMessage } from './routed-message.ts';
import type { SharedGroup } from './shared/shared-delivery.ts';
import { Subscribers } from './subscribers.ts';

/** The part of the store that keeps messages before they are sent. */
export type SessionMessageStore = Pick<
  MqttSessions,
  'storedFilters' | 'storeRetained' | 'hasSubscribers' | 'enqueueForSubscribers'
>;

/** Hands a message to its recipients; calls `done` when each has taken or dropped it, or it could not be stored for one. */
export type HandOut = (message: RoutedMessage, recipients: Recipients, done: (error?: unknown) => void) => void;

/** A message that is sent after it is stored and after all messages that were routed before it. */
interface QueuedMessage {
  readonly message: RoutedMessage;
  readonly isSilent: boolean;
  /** Resolves when it is stored that the message has come. */
  readonly received: Promise<void> | undefined;
  /** Resolves when the message is stored; undefined where nothing has to be stored. */
  readonly stored: Promise<unknown> | undefined;
  /** When it was routed, by the monotonic clock. */
  readonly sinceMs: number;
  readonly done: Routed;
}

export interface RouterParts {
  readonly stored: SessionMessageStore;
  readonly handOut: HandOut;
  /** Writes what was handed out. */
  readonly flush: () => void;
  /** Loads what decides about messages on a topic. */
  readonly load: (topic: string) => Promise<unknown>;
}

export class Router implements PublishRouter {
  readonly #stored: SessionMessageStore;
  readonly #handOut: HandOut;
  readonly flush: () => void;
  readonly #load: (topic: string) => Promise<unknown>;
  readonly #subscribers = new Subscribers();
  /** How many subscriptions of connected clients match a topic; cleared with every change of a subscription. */
  readonly #wanted = new LruCache<string, number>({
    weightMax: limits.wantedTopicsCachedBytesMax,
    pool: remembered,
    entriesMax: limits.topicsCachedMax,
    weigh: (_, topic) => entryBytes + textHeapBytes(topic),
  });
  #queue: QueuedMessage[] = [];
  /** Since when a message waits that all others wait for, by the monotonic clock. */
  #waitsSinceMs: number | undefined;
  /** What was routed before this moment has waited for a database that was away. */
  #heldUpUntilMs = 0;
  #isGivenUp = false;
  #advancing = false;
  #isClosed = false;
  handedOut = 0;

  constructor(parts: RouterParts) {
    this.#stored = parts.stored;
    this.#handOut = parts.handOut;
    this.flush = parts.flush;
    this.#load = parts.load;
  }

  /** Whether a message has waited for long to be stored, and all others behind it. */
  get isHeldUp(): boolean {
    return this.#waitsSinceMs !== undefined && performance.now() > this.#waitsSinceMs + limits.routerHeldMs;
  }

  get isWatched(): boolean {
    return this.#subscribers.size > 0 || this.#stored.storedFilters > 0;
  }

  wants(topic: string, { qos, retain, user, exactLevels }: MessageKind): boolean {
    // `hasSubscribers` includes the permission of the users, so that sessions that may not receive the message cost
    // almost nothing.
    return (
      retain ||
      this.subscribersOf(topic, exactLevels) > 0 ||
      (qos > 0 && this.#stored.hasSubscribers({ topic, user, exactLevels }))
    );
  }

  /**
   * Routes a message: stores it where needed, then passes it to its subscribers. Messages leave in the order of the
   * calls, so that none overtakes one that waits for the disk (I3). Calls `done` when the subscribers have it, with an error when
   * it could not be stored: it has been sent nevertheless, unless its receipt could not be stored. One that is promised waits for a database
   * that is away, and all behind it wait, too. Callers wait for that, which bounds the queue (I4). They call `flush` after one or several messages, before they wait.
   */
  route(publish: OutgoingPublish, done: Routed): void {
    const message = new RoutedMessage(publish);
    const { receipt, isSilent = false, isPromised = false } = publish;
    const received = receipt?.store();
    const stored = this.#store(message, { joined: receipt?.joined, isPromised });
    // `#advance` handles errors; these handlers only prevent an unhandled rejection until then.
    stored?.catch(() => {});
    received?.catch(() => {});
    // Nothing is waited for, and nothing is before it.
    if (!this.#advancing && stored === undefined && received === undefined) this.#pass({ message, isSilent, done });
    else {
      this.#queue.push({ message, isSilent, received, stored, done, sinceMs: performance.now() });
      if (!this.#advancing) void this.#advance();
    }
  }

  /** A connected client subscribes. */
  add(live: LiveFilter): void {
    this.#wanted.clear();
    this.#subscribers.add(live);
  }

  /** It unsubscribes, or has gone. */
  remove(live: LiveFilter): void {
    this.#wanted.clear();
    this.#subscribers.remove(live);
  }

  addGroup(group: SharedGroup): void {
    this.#wanted.clear();
    this.#subscribers.add(group);
  }

  removeGroup(group: SharedGroup): void {
    this.#wanted.clear();
    this.#subscribers.remove(group);
  }

  /** The service stops: nothing is waited for that the database does not give at once. */
  giveUp(): void {
    this.#isGivenUp = true;
  }

  /** Nothing is handed out any more. */
  close(): void {
    this.giveUp();
    this.#isClosed = true;
  }

  hasGroups(topic: string): boolean {
    return this.#subscribers.size > 0 && this.#subscribers.recipientsOf(topic).groups.length > 0;
  }

  subscribersOf(topic: string, exactLevels?: Levels): number {
    if (this.#subscribers.size === 0) return 0;
    const key = keyOf(topic, exactLevels);
    const known = this.#wanted.get(key);
    if (known !== undefined) return known;
    const { all, groups } = this.#subscribers.recipientsOf(topic, exactLevels);
    const count = all.length + groups.length;
    this.#wanted.set(key, count);
    return count;
  }

  #store(message: RoutedMessage, writing: MessageWriting): Promise<unknown> | undefined {
    // Both start at once, because message numbers must be given in the order of the queue.
    const retained = message.retain ? this.#stored.storeRetained(message.toStore(), writing) : undefined;
    const queued = message.qos > 0 && this.#stored.storedFilters > 0 ? this.#enqueue(message, writing) : undefined;
    return retained !== undefined && queued !== undefined ? both(retained, queued) : (retained ?? queued);
  }

  async #enqueue(message: RoutedMessage, writing: MessageWriting): Promise<void> {
    // One microtask later, so that acknowledgements of the same commit come first.
    await undefined;
    const packet = message.toStore();
    try {
      await this.#stored.enqueueForSubscribers(packet, writing);
    } finally {
      message.brokerId = packet.brokerId;
      message.brokerCounter = packet.brokerCounter;
    }
  }

  async #advance(): Promise<void> {
    this.#advancing = true;
    let hasWaited = false;
    while (this.#queue.length > 0) {
      const messages = this.#queue;
      this.#queue = [];
      for (const queued of messages) {
        const { received, stored, done } = queued;
        if (stored !== undefined || received !== undefined) {
          this.flush();
          hasWaited = true;
        }
        this.#waitsSinceMs ??= performance.now();
        // It comes again then: nobody may have it twice.
        const unreceived = received && (await faultOf(received));
        if (unreceived !== undefined) {
          this.#waitsSinceMs = undefined;
          done(unreceived);
          continue;
        }
        const fault = stored && (await faultOf(stored));
        if (this.isHeldUp) this.#heldUpUntilMs = performance.now();
        if (queued.sinceMs < this.#heldUpUntilMs) await this.#loadAgain(queued.message);
        this.#waitsSinceMs = undefined;
        this.#pass(queued, fault);
      }
    }
    this.#advancing = false;
    // Otherwise whoever routed the messages is still there to do it.
    if (hasWaited) this.flush();
  }

  /** What decides about its receivers may not be in memory any more; nobody is denied because the database is away. */
  async #loadAgain({ topic }: RoutedMessage): Promise<void> {
    const endMs = this.#heldUpUntilMs + limits.deviceReadMsMax;
    while (!this.#isGivenUp) {
      const fault = await faultOf(this.#load(topic));
      if (fault === undefined || performance.now() > endMs) return;
      if (fault instanceof Refusal && !isTransient(fault)) return;
      await delay(limits.deviceReadRetryMsMin, undefined, { ref: false });
    }
  }

  /** @param fault why it was not stored. */
  #pass({ message, isSilent, done }: Pick<QueuedMessage, 'message' | 'isSilent' | 'done'>, fault?: unknown): void {
    if (isSilent) done(fault);
    else if (this.#isClosed) done(new Error('The MQTT server is closed.'));
    else this.#emit(message, fault === undefined ? done : (error) => done(error ?? fault));
  }

  #emit(message: RoutedMessage, done: Routed): void {
    const recipients = this.#subscribers.recipientsOf(message.topic, message.exactLevels);
    this.handedOut += recipients.all.length + recipients.groups.length;
    this.#handOut(message, recipients, done);
  }
}

/** When both have ended: what is sent before its row is stored would come again. */
async function both(one: Promise<unknown>, other: Promise<unknown>): Promise<void> {
  const failed = (await Promise.allSettled([one, other])).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

function faultOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
