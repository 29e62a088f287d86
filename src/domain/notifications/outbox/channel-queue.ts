// One channel of the outbox: the number of messages being sent, the sending rate, and when the next message is due.
// Messages being sent are bounded by channel and by author (I4).
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../users/user.ts';
import type { Sender } from './sender.ts';

export class ChannelQueue {
  readonly channel: string;
  readonly sender: Sender | undefined;
  readonly #perSMax: number;
  readonly sendingByAuthor = new Map<UserKey, number>();
  count = 0;
  /** When the next waiting message is due, if that is known; -Infinity: the store must be asked. */
  dueMs = Number.NEGATIVE_INFINITY;
  /** The time until which the messages sent so far use up the rate; each takes its share of a second. */
  #freeMs = 0;
  /**
   * The amount that may be sent at once after a pause, in milliseconds of the rate: a second, or one message if that
   * takes longer.
   */
  readonly #burstMs: number;

  constructor(channel: string, sender: Sender | undefined) {
    this.channel = channel;
    this.sender = sender;
    this.#perSMax = sender?.perSMax ?? limits.actuationsPerSMax;
    this.#burstMs = Math.max(1000, 1000 / this.#perSMax);
  }

  /** How many messages may be sent now. */
  capacityAt(nowMs: number): number {
    // Limits the wait after the clock was set back.
    this.#freeMs = Math.min(this.#freeMs, nowMs + this.#burstMs);
    const freeMs = nowMs + this.#burstMs - Math.max(this.#freeMs, nowMs);
    const inTime = Math.floor((freeMs * this.#perSMax) / 1000 + 1e-6);
    return Math.min(inTime, limits.sendingAtOnceMax - this.count);
  }

  /** When the rate allows the next message, in milliseconds since 1970 UTC. */
  get capacityAtMs(): number {
    return Math.ceil(this.#freeMs - this.#burstMs + 1000 / this.#perSMax);
  }

  /** Counts a message whose sending begins. */
  begin(author: UserKey, nowMs: number): void {
    this.#freeMs = Math.max(this.#freeMs, nowMs) + 1000 / this.#perSMax;
    this.count += 1;
    this.sendingByAuthor.set(author, (this.sendingByAuthor.get(author) ?? 0) + 1);
  }

  /** Counts a message whose attempt has ended. */
  end(author: UserKey): void {
    this.count -= 1;
    const left = (this.sendingByAuthor.get(author) ?? 1) - 1;
    if (left > 0) this.sendingByAuthor.set(author, left);
    else this.sendingByAuthor.delete(author);
  }

  /** Authors who have as many messages being sent as allowed. */
  get full(): UserKey[] {
    return [...this.sendingByAuthor]
      .filter(([, count]) => count >= limits.sendingPerAuthorMax)
      .map(([author]) => author);
  }
}
