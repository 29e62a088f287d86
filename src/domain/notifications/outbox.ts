// The outbox: takes messages that wait to their channels. That a message is being tried is on disk before anything
// leaves the service, and it has the same id at every try: it is tried again only where no answer is known. Woken when
// messages are written, and when one is due again; it does not poll.
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import { limits } from '../../config/limits.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { UserKey } from '../users/user.ts';
import type { Courier, Parcel } from './courier.ts';
import { Lane } from './lane.ts';
import { actuatorChannel } from './message.ts';
import type { DueMessage, MessageOutcome, MessageStore } from './message-store.ts';
import type { Channel } from './notification.ts';
import type { Delivery, Sender } from './sender.ts';
import type { Tally } from './tally.ts';

/** What became of a message of a channel. */
type Outcome = MessageOutcome & { readonly channel: string };

export class Outbox {
  readonly #store: MessageStore;
  readonly #courier: Courier;
  readonly #tally: Tally;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: Log;
  readonly #lanes: readonly Lane[];
  readonly #stop = new AbortController();
  #outcomes: Outcome[] = [];
  #pumping: Promise<void> | undefined;
  #isWoken = false;
  #alarm: NodeJS.Timeout | undefined;
  /** True after a failure, until it was tried again. */
  #isTroubled = false;
  #isClosed = false;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: {
    readonly messageStore: MessageStore;
    readonly courier: Courier;
    readonly senders: ReadonlyMap<Channel, Sender>;
    readonly tally: Tally;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly log: Log;
  }) {
    this.#store = parts.messageStore;
    this.#courier = parts.courier;
    this.#tally = parts.tally;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#log = parts.log;
    this.#lanes = [
      new Lane(actuatorChannel, undefined),
      ...[...parts.senders].map(([name, sender]) => new Lane(name, sender)),
    ];
  }

  /** Goes on with what was left at the last stop. */
  async start(): Promise<void> {
    await this.#store.requeue();
    this.#wake();
  }

  /** Something new waits on these channels. */
  wakeFor(channels: ReadonlySet<string>): void {
    for (const lane of this.#lanes) if (channels.has(lane.channel)) lane.dueMs = Number.NEGATIVE_INFINITY;
    this.#wake();
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

  /** Messages that wait, by channel. */
  countWaiting(): Promise<ReadonlyMap<string, number>> {
    return this.#store.countWaiting();
  }

  /** Resolves when nothing is under way and nothing is due that may go. */
  async idle(): Promise<void> {
    this.#wake();
    if (this.#isClosed || this.#isAtRest) return;
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Gives what is under way a moment, then cuts it off: it is tried again at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#alarm);
    const cut = setTimeout(() => this.#stop.abort(), limits.outboxStopMs);
    await this.#pumping;
    while (!this.#isAtRest) {
      if (this.#outcomes.length > 0) await this.#settle([], []).catch(() => {});
      else await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    }
    clearTimeout(cut);
    this.#rest();
  }

  get #isAtRest(): boolean {
    const isPumping = (this.#pumping !== undefined || this.#isTroubled) && !this.#isClosed;
    return !isPumping && this.#outcomes.length === 0 && this.#lanes.every(({ count }) => count === 0);
  }

  #rest(): void {
    if (this.#isAtRest || this.#isClosed) for (const resume of this.#idleWaiters.splice(0)) resume();
  }

  async #pump(): Promise<void> {
    // In the next turn, so that what was written and answered meanwhile goes together.
    await turnOfTheLoop();
    try {
      while (!this.#isClosed) {
        this.#isWoken = false;
        const due = await this.#listDue();
        if (due.length === 0 && this.#outcomes.length === 0) break;
        await this.#sendAll(due);
      }
      this.#isTroubled = false;
      if (!this.#isClosed) this.#setAlarm();
    } catch (error) {
      this.#log.error({ err: error }, 'messages could not be taken from the outbox; it is tried again');
      for (const lane of this.#lanes) lane.dueMs = Number.NEGATIVE_INFINITY;
      this.#isWoken = false;
      this.#isTroubled = true;
      this.#wakeAt(this.#clock.now() + limits.watchRetryMs);
    }
  }

  async #listDue(): Promise<{ readonly lane: Lane; readonly message: DueMessage }[]> {
    const due: { lane: Lane; message: DueMessage }[] = [];
    const nowMs = this.#clock.now();
    for (const lane of this.#lanes) {
      if (lane.dueMs > nowMs) continue;
      // Of one author no more can be tried at once; those of others are looked for in the next round.
      const limit = Math.min(lane.room(nowMs), limits.sendingPerAuthorMax);
      if (limit <= 0) continue;
      const left = new Map<UserKey, number>();
      const messages = await this.#store.listDue({ channel: lane.channel, nowMs, limit, without: lane.full });
      if (messages.length === 0 && lane.full.length === 0) await this.#lookAhead(lane);
      for (const message of messages) {
        const { author } = message;
        const mayGo = left.get(author) ?? limits.sendingPerAuthorMax - (lane.underWay.get(author) ?? 0);
        if (mayGo > 0) due.push({ lane, message });
        left.set(author, mayGo - 1);
      }
    }
    return due;
  }

  async #sendAll(due: readonly { readonly lane: Lane; readonly message: DueMessage }[]): Promise<void> {
    const parcels: { lane: Lane; parcel: Parcel }[] = [];
    const decided: Outcome[] = [];
    const charged = new Map<string, number>();
    for (const { lane, message } of due) {
      const packed = await this.#courier.pack(message, lane.sender, charged);
      if (packed.kind === 'outcome') decided.push({ ...packed.outcome, channel: lane.channel });
      else parcels.push({ lane, parcel: packed });
    }
    const claimed = await this.#settle(
      parcels.map(({ parcel }) => parcel),
      decided,
    );
    for (const { lane, parcel } of parcels) if (claimed.has(parcel.message.id)) this.#send(lane, parcel);
  }

  /** Writes down what is going to be tried and what has come of tries. */
  async #settle(parcels: readonly Parcel[], decided: readonly Outcome[]): Promise<ReadonlySet<string>> {
    const tried = this.#outcomes;
    this.#outcomes = [];
    const outcomes = [...tried, ...decided];
    try {
      const claims = parcels.map(({ message: { id }, charge }) => ({ id, charge }));
      const claimed = await this.#store.settle({ claims, outcomes, atMs: this.#clock.now() });
      for (const { channel, state } of outcomes) this.#tally.end(channel, state);
      return claimed;
    } catch (error) {
      this.#outcomes = [...tried, ...this.#outcomes];
      throw error;
    }
  }

  #send(lane: Lane, parcel: Parcel): void {
    const { author } = parcel.message;
    lane.begin(author, this.#clock.now());
    void this.#courier
      .deliver(parcel, lane.sender, this.#stop.signal)
      // A sender never rejects; where one does all the same, that is no reason to stop.
      .catch((error: unknown): Delivery => {
        this.#log.error({ err: error, channel: lane.channel }, 'a sender failed');
        return { kind: 'retry', reason: 'an error in the service' };
      })
      .then((delivery) => {
        lane.end(author);
        const outcome = this.#outcomeOf(parcel, delivery);
        this.#outcomes.push({ ...outcome, channel: lane.channel });
        if (delivery.kind === 'retry' || delivery.kind === 'failed') this.#tally.fail(lane.channel);
        lane.dueMs = Math.min(lane.dueMs, outcome.dueMs ?? Number.POSITIVE_INFINITY);
        if (this.#isClosed) this.#rest();
        else this.#wake();
      });
  }

  #outcomeOf({ message: { id, attempts }, charge }: Parcel, delivery: Delivery): MessageOutcome {
    const { kind } = delivery;
    if (kind === 'sent') return { id, state: 'sent', code: delivery.code };
    if (kind === 'undelivered') return { id, state: 'undelivered', reason: delivery.reason, refund: charge };
    const { reason, code } = delivery;
    if (kind === 'failed') return { id, state: 'failed', reason, code };
    const tries = attempts + 1;
    if (tries >= limits.sendAttemptsMax) return { id, state: 'failed', reason: `${reason} (${tries} times)`, code };
    return { id, state: 'queued', reason, code, dueMs: this.#clock.now() + this.#pauseMs(tries, delivery.retryAfterS) };
  }

  /** Twice as long after each try, and never the same for two messages, so that they do not come back together. */
  #pauseMs(tries: number, retryAfterS = 0): number {
    const [high = 0, low = 0] = this.#ids.bytes(2);
    const share = 0.5 + (high * 256 + low) / 131_072;
    const backoffMs = Math.min(limits.sendRetryMsMin * 2 ** (tries - 1), limits.sendRetryMsMax) * share;
    return Math.ceil(Math.max(backoffMs, Math.min(retryAfterS * 1000, limits.sendRetryMsMax)));
  }

  /** Finds out when the next of those that wait is due; what is written meanwhile is looked for all the same. */
  async #lookAhead(lane: Lane): Promise<void> {
    lane.dueMs = Number.POSITIVE_INFINITY;
    const dueMs = await this.#store.nextDueMs(lane.channel);
    // Outcomes that are not written yet count too, whatever their channel.
    const waiting = this.#outcomes.flatMap((outcome) => outcome.dueMs ?? []);
    lane.dueMs = Math.min(lane.dueMs, dueMs ?? Number.POSITIVE_INFINITY, ...waiting);
  }

  /** Wakes when the next message is due, or may go. */
  #setAlarm(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes) {
      // A lane that is full is woken by what is under way.
      if (lane.count >= limits.sendingAtOnceMax || lane.full.length > 0) continue;
      next = Math.min(next, Math.max(lane.dueMs, lane.roomMs));
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
