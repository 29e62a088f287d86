// Says whether the wall clock can be trusted (decision 30). It is compared with the monotonic clock while the service runs,
// and at start with the time of the newest stored datapoint. Where they disagree, the wall clock is in doubt until it has
// been steady for a while, or a person has confirmed it. What deletes by age, ends by time or compares times of the wall
// clock asks here; started by server.ts.
import { limits } from '../../config/limits.ts';
import type { Log } from '../log.ts';
import type { Clock } from './clock.ts';

type DoubtReason = 'jumped' | 'behind the stored data' | 'far ahead of the stored data';

/** Why the wall clock is in doubt. */
export interface ClockDoubt {
  readonly reason: DoubtReason;
  /** By how much the wall clock differs from what was expected, in milliseconds; negative: it is behind. */
  readonly differenceMs: number;
}

/** What jobs that delete by age need of a watch. */
export type AgeClocks = Pick<ClockWatch, 'elapsedMs' | 'forAge' | 'forExpiry' | 'isSteady'>;

/** A clock that nobody doubts: where there is no watch. */
export function trusted(clock: Clock): AgeClocks {
  return { elapsedMs: () => clock.elapsedMs(), forAge: clock, forExpiry: clock, isSteady: () => true };
}

export class ClockWatch {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #steadyMs: number;
  readonly #listeners: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #doubt: ClockDoubt | undefined;
  #jumps = 0;
  // Offsets: the wall clock minus the monotonic one, in milliseconds. They change only where the wall clock is moved.
  /** The offset with which the present one is compared, and when it was taken (monotonic). */
  #reference: number;
  #referenceAtMs: number;
  /** By which the wall clock was last trusted; at a start in doubt, the time of the newest datapoint stands for it. */
  #trusted: number;
  /** The greatest that was trusted: expiries go by it, so that none is stretched. */
  #greatest: number;
  /** Since when the wall clock has been steady (monotonic). */
  #steadySinceMs: number;

  /** What has an expiry goes by this clock. It never goes back unless a person confirms the wall clock. */
  readonly forExpiry: Clock;
  /**
   * What is too old is decided by this clock. While the wall clock is in doubt, it is the earlier of two: the wall clock,
   * and the last trusted time with what has passed since.
   */
  readonly forAge: Clock;

  constructor(parts: { readonly clock: Clock; readonly log: Log; readonly steadyMs: number }) {
    const { clock } = parts;
    this.#clock = clock;
    this.#log = parts.log;
    this.#steadyMs = parts.steadyMs;
    this.#referenceAtMs = clock.elapsedMs();
    this.#steadySinceMs = this.#referenceAtMs;
    this.#reference = clock.now() - this.#referenceAtMs;
    this.#trusted = this.#reference;
    this.#greatest = this.#reference;
    const elapsedMs = () => clock.elapsedMs();
    this.forExpiry = { elapsedMs, now: () => this.#latestMs() };
    this.forAge = { elapsedMs, now: () => this.#earliestMs() };
  }

  /** @param newestReceivedMs when the newest stored datapoint was received, by the wall clock of then. */
  start(newestReceivedMs: number | undefined): void {
    this.#timer = setInterval(() => this.look(), limits.clockLookMs).unref();
    if (newestReceivedMs === undefined) return;
    const differenceMs = this.#clock.now() - newestReceivedMs;
    const isBehind = differenceMs < -limits.clockDifferenceMsMax;
    if (!isBehind && differenceMs <= limits.clockStopMsMax) return;
    this.#trusted = newestReceivedMs - this.#referenceAtMs;
    if (isBehind) this.#greatest = this.#trusted;
    this.#begin({ reason: isBehind ? 'behind the stored data' : 'far ahead of the stored data', differenceMs });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Called when a doubt begins, when the wall clock jumps again, and when it is trusted again. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The doubt as of the last look. */
  get doubt(): ClockDoubt | undefined {
    return this.#doubt;
  }

  /** Whether the wall clock was in doubt at the last look: a field, for what is asked with every datapoint. */
  get isInDoubt(): boolean {
    return this.#doubt !== undefined;
  }

  /** How often the wall clock has jumped since the start. */
  get jumps(): number {
    return this.#jumps;
  }

  now(): number {
    return this.#clock.now();
  }

  /** By the monotonic clock. */
  elapsedMs(): number {
    return this.#clock.elapsedMs();
  }

  /** Looks now: true where the wall clock is not in doubt and has been steady for the time set, also after a start. */
  isSteady(): boolean {
    this.look();
    return this.#doubt === undefined && this.#clock.elapsedMs() - this.#steadySinceMs >= this.#steadyMs;
  }

  /** Compares the clocks. Whoever is about to rely on the wall clock calls it; a timer does too. */
  look(): void {
    const elapsedMs = this.#clock.elapsedMs();
    const offset = this.#clock.now() - elapsedMs;
    if (Math.abs(offset - this.#reference) > limits.clockDifferenceMsMax) this.#jumped(offset, elapsedMs);
    else if (this.#doubt === undefined) this.#follow(offset, elapsedMs);
    else if (elapsedMs - this.#steadySinceMs >= this.#steadyMs) this.#end('it was steady');
  }

  /** A person says that the wall clock is right: it is trusted from now on, and expiries go by it again. */
  confirm(by: string): void {
    const elapsedMs = this.#clock.elapsedMs();
    this.#reference = this.#clock.now() - elapsedMs;
    this.#referenceAtMs = elapsedMs;
    this.#steadySinceMs = Number.NEGATIVE_INFINITY;
    this.#greatest = Number.NEGATIVE_INFINITY;
    this.#log.audit({ by }, 'audit: the clock was confirmed');
    this.#end('it was confirmed');
  }

  /** By how much expiries go ahead of the wall clock, in milliseconds; 0 as long as it was not set back. */
  get expiriesAheadMs(): number {
    return Math.max(0, this.forExpiry.now() - this.#clock.now());
  }

  /** What people have to know of the clock, in a sentence; undefined where all is well. */
  describe(): string | undefined {
    if (this.#doubt === undefined) return this.#describeExpiries();
    const { reason, differenceMs } = this.#doubt;
    const minutes = Math.round(this.#steadyMs / 60_000);
    return (
      `the clock is in doubt: it ${reason === 'jumped' ? 'jumped' : `is ${reason}`} (by ${Math.round(differenceMs / 1000)} s); ` +
      `deletion by age, expiry of notifications and throttling wait until it has been steady for ${minutes} min or is confirmed`
    );
  }

  #describeExpiries(): string | undefined {
    const { expiriesAheadMs } = this;
    if (expiriesAheadMs <= limits.clockDifferenceMsMax) return undefined;
    return `the clock was set back: tokens, keys and sessions expire by the time before, which is ${Math.round(expiriesAheadMs / 1000)} s later, until the clock is confirmed or the service starts again`;
  }

  #jumped(offset: number, elapsedMs: number): void {
    this.#jumps += 1;
    this.#reference = offset;
    this.#referenceAtMs = elapsedMs;
    this.#steadySinceMs = elapsedMs;
    this.#begin({ reason: 'jumped', differenceMs: offset - this.#trusted });
  }

  /** Logs the first jump alone: a clock that jumps all the time would fill the log. */
  #begin(doubt: ClockDoubt): void {
    const isFirst = this.#doubt === undefined;
    this.#doubt = doubt;
    if (isFirst) this.#log.warn({ ...doubt, steadyMs: this.#steadyMs }, 'the clock is in doubt');
    this.#announce();
  }

  #end(because: string): void {
    const offset = this.#clock.now() - this.#clock.elapsedMs();
    const movedMs = Math.round(offset - this.#trusted);
    const wasInDoubt = this.#doubt !== undefined;
    this.#doubt = undefined;
    this.#trusted = offset;
    this.#greatest = Math.max(this.#greatest, offset);
    if (wasInDoubt) this.#log.warn({ because, movedMs }, 'the clock is trusted again');
    this.#announce();
  }

  /**
   * Small corrections are followed. The reference is renewed once an hour, so that many small steps within it count as a
   * jump, and the drift of a machine without NTP does not.
   */
  #follow(offset: number, elapsedMs: number): void {
    this.#trusted = offset;
    if (offset > this.#greatest) this.#greatest = offset;
    if (elapsedMs - this.#referenceAtMs < limits.clockReferenceMs) return;
    this.#reference = offset;
    this.#referenceAtMs = elapsedMs;
    if (this.#greatest - offset <= limits.clockDifferenceMsMax) this.#greatest = offset;
  }

  #latestMs(): number {
    this.look();
    // Whole milliseconds, as of the wall clock: the monotonic one has fractions.
    return Math.max(this.#clock.now(), Math.floor(this.#clock.elapsedMs() + this.#greatest));
  }

  #earliestMs(): number {
    this.look();
    const nowMs = this.#clock.now();
    return this.#doubt === undefined ? nowMs : Math.min(nowMs, Math.floor(this.#clock.elapsedMs() + this.#trusted));
  }

  #announce(): void {
    for (const listener of this.#listeners) listener();
  }
}
