// The outbox: hands waiting messages to the senders of their channels. A message is marked on disk as being sent
// before anything leaves the service, and keeps its id at every attempt; it is attempted again only where no answer
// is known. Woken when messages are stored or become due. A process without the lease tries every second to take it.

import type { Ids } from '../../../base/ids.ts';
import type { Log } from '../../../base/log.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import { LeaseLost } from '../../lease-lost.ts';
import type { Announcer, Coordination, Lease } from '../../ports/coordination.ts';
import type { UserKey } from '../../users/user.ts';
import { Leadership } from '../leadership.ts';
import type { Channel } from '../rules/notification.ts';
import { ChannelQueue } from './channel-queue.ts';
import type { Dispatcher, Envelope } from './dispatcher.ts';
import { accountChannel, actuatorChannel } from './message.ts';
import type { DueMessage, MessageOutcome, MessageStore } from './message-store.ts';
import type { NotificationCounters } from './notification-counters.ts';
import type { Sender, SendOutcome } from './sender.ts';

/** The outcome of a message, with its channel and the lease under which the message was taken. */
type ChannelOutcome = MessageOutcome & { readonly channel: string; readonly lease: Lease };

export class Outbox {
  readonly #store: MessageStore;
  readonly #coordination: Announcer;
  /** The lease of the outbox: only the process that holds it sends. */
  readonly #leadership: Leadership;
  readonly #dispatcher: Dispatcher;
  readonly #counters: NotificationCounters;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: Log;
  readonly #queues: readonly ChannelQueue[];
  readonly #stop = new AbortController();
  #outcomes: ChannelOutcome[] = [];
  #pumping: Promise<void> | undefined;
  #isWoken = false;
  #alarm: NodeJS.Timeout | undefined;
  /** True from a jump of the wall clock until the messages that it put off are due. */
  #isClockChanged = false;
  /** True after a failure until the next attempt. */
  #isRetrying = false;
  #isClosed = false;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: {
    readonly messageStore: MessageStore;
    readonly coordination: Coordination;
    readonly dispatcher: Dispatcher;
    readonly senders: ReadonlyMap<Channel, Sender>;
    readonly counters: NotificationCounters;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly log: Log;
  }) {
    this.#store = parts.messageStore;
    this.#coordination = parts.coordination;
    this.#leadership = new Leadership({ ...parts, name: 'outbox', onEnded: () => this.#wake() });
    this.#dispatcher = parts.dispatcher;
    this.#counters = parts.counters;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#log = parts.log;
    this.#queues = [
      new ChannelQueue(actuatorChannel, undefined),
      new ChannelQueue(accountChannel, parts.senders.get('email')),
      ...[...parts.senders].map(([name, sender]) => new ChannelQueue(name, sender)),
    ];
  }

  /** Takes the lease if it is free, and continues with messages left by the last stop. */
  async start(): Promise<void> {
    await this.#lead();
    this.#wake();
  }

  /**
   * The lease, if this process holds it or can take it. A new holder sends messages again whose attempt the last one
   * did not finish.
   */
  #lead(): Promise<Lease | undefined> {
    return this.#leadership.take(async (lease) => {
      await this.#store.requeue(lease);
      await this.#hasten(lease);
      for (const queue of this.#queues) queue.dueMs = Number.NEGATIVE_INFINITY;
    });
  }

  /** Tells that new messages wait on these channels: sends them, or wakes the process that sends. */
  wakeFor(channels: ReadonlySet<string>): void {
    this.wakeHere(channels);
    if (this.#leadership.lease !== undefined) return;
    this.#coordination
      .announce({ kind: 'messages-waiting', channels: [...channels] })
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, 'the process that sends messages could not be notified of new ones'),
      );
  }

  /** Wakes this process alone for new messages on these channels. */
  wakeHere(channels: ReadonlySet<string>): void {
    for (const queue of this.#queues) if (channels.has(queue.channel)) queue.dueMs = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  /** Call when the wall clock has jumped, or is trusted again. */
  clockChanged(): void {
    this.#isClockChanged = true;
    for (const queue of this.#queues) queue.dueMs = Number.NEGATIVE_INFINITY;
    this.#wake();
  }

  /** Messages that are due later than any pause lasts were put off while the clock was ahead. */
  async #hasten(lease: Lease): Promise<void> {
    this.#isClockChanged = false;
    const nowMs = this.#clock.now();
    await this.#store.hasten({ nowMs, laterThanMs: nowMs + 2 * limits.sendRetryMsMax }, lease);
  }

  #wake(): void {
    this.#isWoken = true;
    if (this.#isClosed || this.#pumping !== undefined) return;
    clearTimeout(this.#alarm);
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = undefined;
      if (this.#isWoken) this.#wake();
      else this.#rest();
    });
  }

  /** Number of waiting messages by channel. */
  countWaiting(): Promise<ReadonlyMap<string, number>> {
    return this.#store.countWaiting();
  }

  /** Resolves when nothing is being sent, and nothing is due that may be sent. */
  async idle(): Promise<void> {
    this.#wake();
    if (this.#isClosed || this.#isAtRest) return;
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Gives attempts in progress a moment, then aborts them. Aborted ones are repeated after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#alarm);
    const cut = setTimeout(() => this.#stop.abort(), limits.outboxStopMs);
    await this.#pumping;
    while (!this.#isAtRest) {
      if (this.#outcomes.length > 0) await this.#record().catch(() => {});
      else await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    }
    clearTimeout(cut);
    await this.#leadership.release();
    this.#rest();
  }

  get #isAtRest(): boolean {
    const isPumping = (this.#pumping !== undefined || this.#isRetrying) && !this.#isClosed;
    return !isPumping && this.#outcomes.length === 0 && this.#queues.every(({ count }) => count === 0);
  }

  #rest(): void {
    if (this.#isAtRest || this.#isClosed) for (const resume of this.#idleWaiters.splice(0)) resume();
  }

  async #pump(): Promise<void> {
    // In the next turn, so that all messages and outcomes of this turn are handled together.
    await nextLoopTurn();
    try {
      while (!this.#isClosed) {
        this.#isWoken = false;
        const lease = await this.#lead();
        if (lease !== undefined && this.#isClockChanged) await this.#hasten(lease);
        const due = lease === undefined ? [] : await this.#listDue();
        if (due.length === 0 && this.#outcomes.length === 0) break;
        if (lease === undefined) await this.#record();
        else await this.#sendAll(due, lease);
      }
      this.#isRetrying = false;
      if (this.#isClosed) return;
      if (this.#leadership.lease !== undefined) this.#setAlarm();
      else this.#wakeAt(this.#clock.now() + limits.watchRetryMs);
    } catch (error) {
      this.#log.error({ err: error }, 'messages could not be taken from the outbox; it is tried again');
      for (const queue of this.#queues) queue.dueMs = Number.NEGATIVE_INFINITY;
      this.#isWoken = false;
      this.#isRetrying = true;
      this.#wakeAt(this.#clock.now() + limits.watchRetryMs);
    }
  }

  async #listDue(): Promise<{ readonly queue: ChannelQueue; readonly message: DueMessage }[]> {
    const due: { queue: ChannelQueue; message: DueMessage }[] = [];
    const nowMs = this.#clock.now();
    for (const queue of this.#queues) {
      if (queue.dueMs > nowMs) continue;
      // At most as many as one author may have in progress; the next round finds messages of others.
      const limit = Math.min(queue.capacityAt(nowMs), limits.sendingPerAuthorMax);
      if (limit <= 0) continue;
      const left = new Map<UserKey, number>();
      const messages = await this.#store.listDue({ channel: queue.channel, nowMs, limit, without: queue.full });
      if (messages.length === 0 && queue.full.length === 0) await this.#lookAhead(queue);
      for (const message of messages) {
        const { author } = message;
        const mayGo = left.get(author) ?? limits.sendingPerAuthorMax - (queue.sendingByAuthor.get(author) ?? 0);
        if (mayGo > 0) due.push({ queue, message });
        left.set(author, mayGo - 1);
      }
    }
    return due;
  }

  async #sendAll(
    due: readonly { readonly queue: ChannelQueue; readonly message: DueMessage }[],
    lease: Lease,
  ): Promise<void> {
    const envelopes: { queue: ChannelQueue; envelope: Envelope }[] = [];
    const decided: ChannelOutcome[] = [];
    const charged = new Map<string, number>();
    for (const { queue, message } of due) {
      const decision = await this.#dispatcher.prepare(message, queue.sender, charged);
      if (decision.kind === 'outcome') decided.push({ ...decision.outcome, channel: queue.channel, lease });
      else envelopes.push({ queue, envelope: decision });
    }
    const claimed = await this.#record(
      envelopes.map(({ envelope }) => envelope),
      decided,
    );
    for (const { queue, envelope } of envelopes)
      if (claimed.has(envelope.message.id)) this.#send(queue, envelope, lease);
  }

  /**
   * Stores which messages are about to be sent, and the outcomes of others, under the lease under which they were
   * taken. Outcomes under an earlier lease, or one that another process has taken over, are dropped: the next holder
   * has sent these messages again, and its outcomes count.
   */
  async #record(
    envelopes: readonly Envelope[] = [],
    decided: readonly ChannelOutcome[] = [],
  ): Promise<ReadonlySet<string>> {
    const fence = this.#leadership.latest;
    const tried = this.#outcomes.filter(({ lease }) => lease === fence);
    this.#outcomes = [];
    if (fence === undefined) return new Set();
    const outcomes = [...tried, ...decided];
    try {
      const claims = envelopes.map(({ message: { id }, charge }) => ({ id, charge }));
      const claimed = await this.#store.settle({ claims, outcomes, atMs: this.#clock.now(), fence });
      for (const { channel, state } of outcomes) this.#counters.end(channel, state);
      return claimed;
    } catch (error) {
      if (error instanceof LeaseLost) {
        await this.#leadership.release();
        return new Set();
      }
      this.#outcomes = [...tried, ...this.#outcomes];
      throw error;
    }
  }

  #send(queue: ChannelQueue, envelope: Envelope, lease: Lease): void {
    const { author } = envelope.message;
    queue.begin(author, this.#clock.now());
    void this.#dispatcher
      .deliver(envelope, queue.sender, { stop: this.#stop.signal, fence: lease })
      // A sender must not reject; if one does, the error is logged and the message is tried again.
      .catch((error: unknown): SendOutcome => {
        if (!(error instanceof LeaseLost)) this.#log.error({ err: error, channel: queue.channel }, 'a sender failed');
        return { kind: 'retry', reason: 'an error in the service' };
      })
      .then((sendOutcome) => {
        queue.end(author);
        const outcome = this.#outcomeOf(envelope, sendOutcome);
        this.#outcomes.push({ ...outcome, channel: queue.channel, lease });
        if (sendOutcome.kind === 'retry' || sendOutcome.kind === 'failed') this.#counters.fail(queue.channel);
        queue.dueMs = Math.min(queue.dueMs, outcome.dueMs ?? Number.POSITIVE_INFINITY);
        if (this.#isClosed) this.#rest();
        else this.#wake();
      });
  }

  #outcomeOf({ message: { id, attempts }, charge }: Envelope, sendOutcome: SendOutcome): MessageOutcome {
    const { kind } = sendOutcome;
    if (kind === 'sent') return { id, state: 'sent', code: sendOutcome.code };
    if (kind === 'undelivered') return { id, state: 'undelivered', reason: sendOutcome.reason, refund: charge };
    const { reason, code } = sendOutcome;
    if (kind === 'failed') return { id, state: 'failed', reason, code };
    const tries = attempts + 1;
    if (tries >= limits.sendAttemptsMax) return { id, state: 'failed', reason: `${reason} (${tries} times)`, code };
    return {
      id,
      state: 'queued',
      reason,
      code,
      dueMs: this.#clock.now() + this.#pauseMs(tries, sendOutcome.retryAfterS),
    };
  }

  /**
   * The pause before the next attempt: doubles with each attempt, with a random part so that messages do not return
   * all at once.
   */
  #pauseMs(tries: number, retryAfterS = 0): number {
    const [high = 0, low = 0] = this.#ids.bytes(2);
    const share = 0.5 + (high * 256 + low) / 131_072;
    const backoffMs = Math.min(limits.sendRetryMsMin * 2 ** (tries - 1), limits.sendRetryMsMax) * share;
    return Math.ceil(Math.max(backoffMs, Math.min(retryAfterS * 1000, limits.sendRetryMsMax)));
  }

  /**
   * Finds out when the channel's next message is due. Messages that are stored meanwhile wake the queue by
   * themselves.
   */
  async #lookAhead(queue: ChannelQueue): Promise<void> {
    queue.dueMs = Number.POSITIVE_INFINITY;
    const dueMs = await this.#store.nextDueMs(queue.channel);
    // Outcomes that are not stored yet may queue a message again.
    const waiting = this.#outcomes.flatMap((outcome) => outcome.dueMs ?? []);
    queue.dueMs = Math.min(queue.dueMs, dueMs ?? Number.POSITIVE_INFINITY, ...waiting);
  }

  /** Sets the timer to when the next message is due and its channel's rate allows it. */
  #setAlarm(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues) {
      // A full queue needs no timer: the end of an attempt wakes it.
      if (queue.count >= limits.sendingAtOnceMax || queue.full.length > 0) continue;
      next = Math.min(next, Math.max(queue.dueMs, queue.capacityAtMs));
    }
    if (next !== Number.POSITIVE_INFINITY) this.#wakeAt(next);
  }

  #wakeAt(atMs: number): void {
    clearTimeout(this.#alarm);
    const waitMs = Math.min(Math.max(atMs - this.#clock.now(), 1), limits.watchAlarmMsMax);
    this.#alarm = setTimeout(() => this.#wake(), waitMs);
    this.#alarm.unref();
  }
}
