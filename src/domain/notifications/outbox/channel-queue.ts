// One channel of the outbox: what is under way on it, how fast it may go, and when there is something to look for.
// Bounded by channel and by author (I4).
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../users/user.ts';
import type { Sender } from './sender.ts';

export class ChannelQueue {
  readonly channel: string;
  readonly sender: Sender | undefined;
  readonly #perSMax: number;
  readonly sendingByAuthor = new Map<UserKey, number>();
  count = 0;
  /** When the next message that waits is due, as far as is known: now, where nobody has looked. */
  dueMs = Number.NEGATIVE_INFINITY;
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
  capacityAt(nowMs: number): number {
    // A clock that was set back must not stop the queue.
    this.#freeMs = Math.min(this.#freeMs, nowMs + this.#burstMs);
    const freeMs = nowMs + this.#burstMs - Math.max(this.#freeMs, nowMs);
    const inTime = Math.floor((freeMs * this.#perSMax) / 1000 + 1e-6);
    return Math.min(inTime, limits.sendingAtOnceMax - this.count);
  }

  /** When there is room in time again. */
  get capacityAtMs(): number {
    return Math.ceil(this.#freeMs - this.#burstMs + 1000 / this.#perSMax);
  }

  begin(author: UserKey, nowMs: number): void {
    this.#freeMs = Math.max(this.#freeMs, nowMs) + 1000 / this.#perSMax;
    this.count += 1;
    this.sendingByAuthor.set(author, (this.sendingByAuthor.get(author) ?? 0) + 1);
  }

  end(author: UserKey): void {
    this.count -= 1;
    const left = (this.sendingByAuthor.get(author) ?? 1) - 1;
    if (left > 0) this.sendingByAuthor.set(author, left);
    else this.sendingByAuthor.delete(author);
  }

  /** Authors who have as much under way as one may have. */
  get full(): UserKey[] {
    return [...this.sendingByAuthor]
      .filter(([, count]) => count >= limits.sendingPerAuthorMax)
      .map(([author]) => author);
  }
}
