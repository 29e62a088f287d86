// The outbox: takes messages that wait to their channels. That a message is being tried is on disk before anything
// leaves the service, and it has the same id at every try: it is tried again only where no answer is known. Woken when
// messages are written, and when one is due again; it does not poll. Bounded by channel and by author (I4).
import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import { limits } from '../../config/limits.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { UserKey } from '../users/user.ts';
import type { Courier, Parcel } from './courier.ts';
import { actuatorChannel } from './message.ts';
import type { DueMessage, MessageOutcome, MessageStore } from './message-store.ts';
import type { Channel } from './notification.ts';
import type { Delivery, Sender } from './sender.ts';

/** What is under way on one channel, and how fast it may go. */
class Lane {
  readonly channel: string;
  readonly sender: Sender | undefined;
  readonly #perSMax: number;
  readonly underWay = new Map<UserKey, number>();
  count = 0;
  /** Until when what has been sent fills the time, as if each took its share of a second. */
  #freeMs = 0;
  /** What may go at once after a pause, as time: a second, or one message where that takes longer. */
  readonly #burstMs: number;

  constructor(channel: string, sender: Sender | undefined) {
    this.channel = channel;
    this.sender = sender;
    this.#perSMax = sender?.perSMax ?? limits.actuationsPerSMax;
    this.#burstMs = Math.max(1000, 1000 / this.#perSMax);
  }

  /** How many may go now. */
  room(nowMs: number): number {
    // A clock that was set back must not stop the lane.
    this.#freeMs = Math.min(this.#freeMs, nowMs + this.#burstMs);
    const freeMs = nowMs + this.#burstMs - Math.max(this.#freeMs, nowMs);
    const inTime = Math.floor((freeMs * this.#perSMax) / 1000 + 1e-6);
    return Math.min(inTime, limits.sendingAtOnceMax - this.count);
  }

  /** When there is room in time again. */
  get roomMs(): number {
    return Math.ceil(this.#freeMs - this.#burstMs + 1000 / this.#perSMax);
  }

  begin(author: UserKey, nowMs: number): void {
    this.#freeMs = Math.max(this.#freeMs, nowMs) + 1000 / this.#perSMax;
    this.count += 1;
    this.underWay.set(author, (this.underWay.get(author) ?? 0) + 1);
  }

  end(author: UserKey): void {
    this.count -= 1;
    const left = (this.underWay.get(author) ?? 1) - 1;
    if (left > 0) this.underWay.set(author, left);
    else this.underWay.delete(author);
  }

  /** Authors who have as much under way as one may have. */
  get full(): UserKey[] {
    return [...this.underWay].filter(([, count]) => count >= limits.sendingPerAuthorMax).map(([author]) => author);
  }
}

export class Outbox {
  readonly #store: MessageStore;
  readonly #courier: Courier;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: Log;
  readonly #lanes: readonly Lane[];
  readonly #stop = new AbortController();
  #outcomes: MessageOutcome[] = [];
  #pumping: Promise<void> | undefined;
  #isWoken = false;
  #alarm: NodeJS.Timeout | undefined;
  #isClosed = false;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: {
    readonly messageStore: MessageStore;
    readonly courier: Courier;
    readonly senders: ReadonlyMap<Channel, Sender>;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly log: Log;
  }) {
    this.#store = parts.messageStore;
    this.#courier = parts.courier;
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
    this.wake();
  }

  /** Something new waits. */
  wake(): void {
    this.#isWoken = true;
    if (this.#isClosed || this.#pumping !== undefined) return;
    clearTimeout(this.#alarm);
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = undefined;
      if (this.#isWoken) this.wake();
      else this.#rest();
    });
  }

  /** Resolves when nothing is under way and nothing is due. */
  async idle(): Promise<void> {
    this.wake();
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
    const isPumping = this.#pumping !== undefined && !this.#isClosed;
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
      if (!this.#isClosed) await this.#setAlarm();
    } catch (error) {
      this.#log.error({ err: error }, 'messages could not be taken from the outbox; it is tried again');
      this.#isWoken = false;
      this.#wakeAt(this.#clock.now() + limits.watchRetryMs);
    }
  }

  async #listDue(): Promise<{ readonly lane: Lane; readonly message: DueMessage }[]> {
    const due: { lane: Lane; message: DueMessage }[] = [];
    const nowMs = this.#clock.now();
    for (const lane of this.#lanes) {
      const limit = lane.room(nowMs);
      if (limit <= 0) continue;
      const left = new Map<UserKey, number>();
      for (const message of await this.#store.listDue({ channel: lane.channel, nowMs, limit, without: lane.full })) {
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
    const decided: MessageOutcome[] = [];
    const charged = new Map<string, number>();
    for (const { lane, message } of due) {
      const packed = await this.#courier.pack(message, charged);
      if (packed.kind === 'outcome') decided.push(packed.outcome);
      else parcels.push({ lane, parcel: packed });
    }
    const claimed = await this.#settle(
      parcels.map(({ parcel }) => parcel),
      decided,
    );
    for (const { lane, parcel } of parcels) if (claimed.has(parcel.message.id)) this.#send(lane, parcel);
  }

  /** Writes down what is going to be tried and what has come of tries. */
  async #settle(parcels: readonly Parcel[], decided: readonly MessageOutcome[]): Promise<ReadonlySet<string>> {
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    try {
      const claims = parcels.map(({ message: { id }, charge }) => ({ id, charge }));
      return await this.#store.settle({ claims, outcomes: [...outcomes, ...decided], atMs: this.#clock.now() });
    } catch (error) {
      this.#outcomes = [...outcomes, ...this.#outcomes];
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
        this.#outcomes.push(this.#outcomeOf(parcel, delivery));
        if (this.#isClosed) this.#rest();
        else this.wake();
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

  /** Wakes when the next message is due, or may go. */
  async #setAlarm(): Promise<void> {
    let next = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes) {
      const dueMs = await this.#store.nextDueMs(lane.channel);
      // A lane that is full is woken by what is under way.
      if (dueMs === undefined || lane.count >= limits.sendingAtOnceMax || lane.full.length > 0) continue;
      next = Math.min(next, Math.max(dueMs, lane.roomMs));
    }
    if (next !== Number.POSITIVE_INFINITY) this.#wakeAt(next);
  }

  #wakeAt(atMs: number): void {
    clearTimeout(this.#alarm);
    const waitMs = Math.min(Math.max(atMs - this.#clock.now(), 1), limits.watchAlarmMsMax);
    this.#alarm = setTimeout(() => this.wake(), waitMs);
    this.#alarm.unref();
  }
}
