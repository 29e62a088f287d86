// The watcher evaluates every committed datapoint that concerns a rule, in order of arrival (I5). It receives
// datapoints from the feed into a bounded queue (I4). When the queue is full, and after a start, it reads the
// datapoints that it has not evaluated from the log. Firings, states of rules and the watcher's position are stored
// in one unit of writes. A change of a rule runs between two steps, so that each datapoint is evaluated with the
// rule before or after the change. Only the process that holds the lease evaluates; the others hold the rules in
// memory to bound them.
import type { Log } from '../../../base/log.ts';
import type { ClockWatch } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type { CommittedPush, Feed } from '../../datapoints/feed.ts';
import type { DeviceId } from '../../devices/device.ts';
import { hasFormerSensors } from '../../devices/former-ids/sensors-with-former.ts';
import type { SensorKey } from '../../devices/sensor.ts';
import { LeaseLost } from '../../lease-lost.ts';
import type { CommitLog } from '../../ports/commit-log.ts';
import type { Coordination, Fence, Lease } from '../../ports/coordination.ts';
import type { UserKey } from '../../users/user.ts';
import { Leadership } from '../leadership.ts';
import type { NotificationId } from '../rules/notification.ts';
import type { RuleChanges, RuleWeight, SeqSource } from '../rules/rule-changes.ts';
import type { Evaluator } from './evaluator.ts';
import { pushesOf } from './logged-pushes.ts';
import type { RuleIndex } from './rule-index.ts';
import type { RuleLoader } from './rule-loader.ts';
import type { RuleTimers } from './rule-timers.ts';
import { WatchLoop } from './watch-loop.ts';
import { WatchProgress } from './watch-progress.ts';
import type { SeenPush } from './watch-queue.ts';
import type { WatchStore } from './watch-store.ts';

export class Watcher implements RuleChanges {
  readonly #feed: Feed;
  readonly #commitLog: CommitLog;
  readonly #watchStore: WatchStore;
  readonly #evaluator: Evaluator;
  readonly #rules: RuleLoader;
  readonly #index: RuleIndex;
  readonly #clock: Pick<ClockWatch, 'elapsedMs' | 'isInDoubt'>;
  readonly #log: Log;
  readonly #timers: RuleTimers;
  readonly #leadership: Leadership;
  readonly #pushesSettled: () => Promise<void>;
  readonly #progress: WatchProgress;
  readonly #loop: WatchLoop;
  /** When the position was last stored with a step, in milliseconds of the monotonic clock. */
  #recordedMs = Number.NEGATIVE_INFINITY;
  #unsubscribe: () => void = () => {};

  constructor(parts: {
    readonly feed: Feed;
    readonly commitLog: CommitLog;
    readonly coordination: Coordination;
    readonly watchStore: WatchStore;
    readonly evaluator: Evaluator;
    readonly rules: RuleLoader;
    readonly index: RuleIndex;
    readonly timers: RuleTimers;
    readonly clocks: Pick<ClockWatch, 'elapsedMs' | 'isInDoubt'>;
    /** Resolves when all datapoints accepted so far are committed and in the feed, or refused. Never rejects. */
    readonly pushesSettled: () => Promise<void>;
    readonly log: Log;
  }) {
    this.#pushesSettled = parts.pushesSettled;
    this.#feed = parts.feed;
    this.#commitLog = parts.commitLog;
    this.#progress = new WatchProgress(parts.commitLog);
    this.#watchStore = parts.watchStore;
    this.#evaluator = parts.evaluator;
    this.#rules = parts.rules;
    this.#index = parts.index;
    this.#clock = parts.clocks;
    this.#timers = parts.timers;
    this.#log = parts.log;
    this.#leadership = new Leadership({ ...parts, name: 'rules/0', onEnded: () => this.#loop.wake() });
    this.#loop = new WatchLoop({
      step: () => this.#step(),
      hasWork: () => this.#progress.hasDatapoints || (this.#progress.isFollowing && this.#timers.isDue),
      isBehind: () => this.#progress.isBehind,
      // While another process evaluates: until the next attempt to take its lease.
      waitMs: () => {
        if (this.#leadership.lease === undefined) return limits.watchRetryMs;
        const { waitMs } = this.#timers;
        return this.#progress.isFollowing ? Math.min(waitMs ?? Number.POSITIVE_INFINITY, limits.watchLookMs) : waitMs;
      },
      noteFailure: (error) => this.#noteFailure(error),
      discardUnstored: () => this.#discardUnstored(),
    });
  }

  /** Drops what is remembered of a sensor's last value, because its datapoints were removed or corrected. */
  forgetValue(sensor: SensorKey): void {
    this.#evaluator.forgetValue(sensor);
  }

  /** Loads the rules and, where no other process evaluates them, continues at the position of the last stop. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#feed.subscribe((committed) => {
      if (committed.kind === 'sensor') this.#receive(committed);
    });
    this.#progress.startAt(this.#commitLog.lastPosition);
    await this.#loop.exclusively(async () => {
      if ((await this.#lead()) === undefined) await this.#rules.loadAll();
    });
    this.#loop.wake();
  }

  /** The lease, if this process holds it or can take it. A new holder continues at the stored position. */
  async #lead(): Promise<Lease | undefined> {
    if (this.#leadership.lease !== undefined) return this.#leadership.lease;
    this.#progress.stopFollowing();
    return this.#leadership.take(async (lease) => {
      await this.#rules.loadAll();
      if (this.#index.size === 0) this.#commitLog.confirm(undefined, lease);
      else await this.#follow(lease);
    });
  }

  reserve(author: UserKey, rule: RuleWeight, before?: RuleWeight): () => void {
    return this.#index.reserve(author, rule, before);
  }

  /**
   * Changes a rule between two steps, so that the change is in effect before it is acknowledged. `write` gets the seq
   * from which the rule has its new form: 0 where another process evaluates, which begins with its next datapoint.
   */
  async change<T>(id: NotificationId, write: (seqs: SeqSource) => Promise<T>): Promise<T> {
    return this.#loop.exclusively(async () => {
      const newest = this.#commitLog.lastPosition;
      // Before the first rule is stored, so that no later datapoint is missed.
      await this.#ensureFollowing(newest);
      await this.#evaluateUpTo(newest);
      try {
        return await write({ newest, seen: this.#progress.isFollowing ? this.#progress.position() : 0 });
      } finally {
        await this.#refresh(id);
      }
    });
  }

  /**
   * Gives a device another id between two steps. Datapoints that come meanwhile, under either id, are read from the log
   * afterwards, where they have the new one; rules that watched the device are loaded again with it. `rename` tells which
   * other rules have changed.
   */
  async whileRenaming(from: DeviceId, rename: () => Promise<readonly NotificationId[]>): Promise<void> {
    await this.#loop.exclusively(async () => {
      await this.#pushesSettled();
      await this.#evaluateUpTo(this.#commitLog.lastPosition);
      if (this.#progress.isFollowing) this.#progress.fallBehind();
      let changed: readonly NotificationId[] = [];
      try {
        changed = await rename();
      } finally {
        // Pushes that were accepted with the device as it was come by the feed before its rules are looked at again.
        await this.#pushesSettled();
        await this.#reload([from], changed);
        this.#loop.wake();
      }
    });
  }

  /** Loads the rules again that watch these devices, because ids lead elsewhere, or nowhere. */
  reloadWatching(devices: readonly DeviceId[]): Promise<void> {
    return this.#loop.exclusively(async () => {
      if (devices.every((device) => this.#index.listWatching(device).length === 0)) return;
      await this.#evaluateUpTo(this.#commitLog.lastPosition);
      if (this.#progress.isFollowing) this.#progress.fallBehind();
      await this.#reload(devices, []);
      this.#loop.wake();
    });
  }

  async #reload(devices: readonly DeviceId[], others: readonly NotificationId[]): Promise<void> {
    const watching = devices.flatMap((device) => this.#index.listWatching(device));
    try {
      await this.#rules.refreshAll([...new Set([...watching, ...others])]);
    } catch (error) {
      await this.#noteFailure(error);
      await this.#discardUnstored();
    }
  }

  /** Loads a rule again that another process has changed; without an id, all rules. */
  follow(id?: NotificationId): Promise<void> {
    return this.#loop.exclusively(async () => {
      if (id === undefined) return this.#discardUnstored();
      await this.#ensureFollowing(this.#commitLog.lastPosition);
      await this.#refresh(id);
    });
  }

  /** Call when the wall clock has come into doubt, or is trusted again. */
  clockChanged(): void {
    if (this.#clock.isInDoubt) {
      this.#timers.isHeld = true;
      return;
    }
    const restart = async () => {
      if (this.#timers.isHeld) await this.#rules.restartTimes();
    };
    this.#loop.exclusively(restart).then(
      () => this.#loop.wake(),
      (error: unknown) => this.#log.error({ err: error }, 'the times of notifications could not be measured anew'),
    );
  }

  /** Adds a rule that `write` stores; many may be added at once. */
  async add<T>(id: NotificationId, write: (seqs: Pick<SeqSource, 'newest'>) => Promise<T>): Promise<T> {
    const newest = this.#commitLog.lastPosition;
    if (!this.#progress.isFollowing) await this.#loop.exclusively(() => this.#ensureFollowing(newest));
    try {
      return await write({ newest });
    } finally {
      await this.#loop.exclusively(() => this.#refresh(id));
    }
  }

  /** Evaluates datapoints up to a change with the old rule, but in at most `watchStepsBeforeChange` steps. */
  async #evaluateUpTo(seq: number): Promise<void> {
    try {
      const isBehind = () => this.#progress.isFollowing && this.#progress.position() < seq;
      for (let steps = 0; isBehind() && steps < limits.watchStepsBeforeChange; steps++) await this.#step();
    } catch (error) {
      await this.#noteFailure(error);
      await this.#discardUnstored();
      this.#loop.wake();
    }
  }

  /**
   * Evaluates what is stored so far, in at most `watchStepsBeforeChange` steps, and stores the position. Call before a
   * sensor is moved: after a crash its datapoints would be evaluated again, by the rules of its new device.
   */
  async settle(): Promise<void> {
    await this.#loop.exclusively(async () => {
      await this.#evaluateUpTo(this.#commitLog.lastPosition);
      await this.#recordPosition().catch((error: unknown) => this.#noteFailure(error));
    });
  }

  async #recordPosition(): Promise<void> {
    const { lease } = this.#leadership;
    if (lease === undefined || !this.#progress.isFollowing || this.#progress.isBehind) return;
    await this.#watchStore.record({ firings: [], memories: [], followedSeq: this.#progress.position() }, lease);
  }

  /** Number of datapoints in memory that wait to be evaluated. */
  get waitingDatapoints(): number {
    return this.#progress.waitingDatapoints;
  }

  /** Number of datapoints stored after the last evaluated one, whether rules concern them or not. */
  get behindDatapoints(): number {
    return this.#progress.behindDatapoints;
  }

  /** Resolves when everything is evaluated, including due timers and steps that failed before. */
  idle(): Promise<void> {
    return this.#loop.idle();
  }

  /** Finishes its step, stores its position and gives the lease back. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.close();
    await this.#loop
      .exclusively(() => this.#recordPosition())
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, 'the position of the watcher of notifications could not be saved'),
      );
    await this.#leadership.release();
  }

  /** Receives a push from the feed; a device without rules costs one look-up. */
  #receive(push: CommittedPush): void {
    const { readings, firstSeq } = push;
    if (readings.length === 0) return;
    const progress = this.#progress;
    progress.noteReceived(firstSeq, firstSeq + readings.length - 1);
    if (!progress.isFollowing || progress.isBehind) {
      if (progress.isFollowing) this.#loop.wake();
      return;
    }
    const hasOtherNames = hasFormerSensors(push.device);
    if (this.#index.mayConcern(push.device.id, push.sensor.id, { hasOtherNames })) {
      progress.add(push);
      this.#loop.wake();
    } else if (progress.unconfirmed > limits.watchFollowStep && this.#isAtRest) {
      progress.confirm(this.#leadership.lease);
    }
  }

  get #isAtRest(): boolean {
    return !this.#loop.isRunning && this.#progress.isQueueEmpty && !this.#progress.isBehind;
  }

  async #noteFailure(error: unknown): Promise<void> {
    if (error instanceof LeaseLost) await this.#leadership.release();
    else this.#log.error({ err: error }, 'notifications could not be evaluated; they are evaluated again');
  }

  /** Runs one step; returns false when there was nothing to do. */
  async #step(): Promise<boolean> {
    const lease = await this.#lead();
    const progress = this.#progress;
    if (lease === undefined || !progress.isFollowing) return false;
    if (!this.#rules.isTrusted) await this.#rules.loadAll();
    if (!progress.isBehind && progress.isQueueEmpty) progress.lookForMissed(this.#clock.elapsedMs());
    if (progress.isBehind) return this.#catchUp(lease);
    if (progress.isQueueEmpty) return this.#evaluateDueTimers(lease);
    const pushes = progress.take(limits.watchStepDatapoints);
    await this.#evaluate(pushes, lease);
    progress.noteEvaluated(pushes);
    // With the queue empty, everything received from the feed has been evaluated.
    progress.confirm(this.#leadership.lease);
    return true;
  }

  /** Reads and evaluates the log after the last evaluated datapoint; at its end the feed takes over again. */
  async #catchUp(fence: Fence): Promise<boolean> {
    const { seenSeq } = this.#progress;
    const endSeq = Math.max(this.#progress.feedSeq, this.#commitLog.lastPosition);
    const points = await this.#commitLog.readAfter(seenSeq);
    const first = points[0];
    const last = points.at(-1);
    if (first === undefined || last === undefined) {
      this.#progress.noteEnd(endSeq);
      this.#progress.confirm(this.#leadership.lease);
      return true;
    }
    const datapoints = first.seq - seenSeq - 1 - (first.removedBefore ?? 0);
    if (datapoints > 0) {
      this.#log.error(
        { datapoints },
        'datapoints were not looked at by notifications: they were too far behind, or are damaged',
      );
    }
    await this.#evaluate(await pushesOf(points, { watchStore: this.#watchStore, index: this.#index }), fence);
    this.#progress.noteRead(last.seq, fence);
    return true;
  }

  async #evaluate(pushes: readonly SeenPush[], fence: Fence): Promise<void> {
    if (pushes.length === 0) return;
    const nowMs = this.#clock.elapsedMs();
    const isPositionDue = nowMs - this.#recordedMs > limits.watchNotedMs;
    if (isPositionDue) this.#recordedMs = nowMs;
    await this.#evaluator.evaluate(pushes, { seenSeq: this.#progress.seenSeq, isPositionDue, fence });
  }

  async #evaluateDueTimers(fence: Fence): Promise<boolean> {
    const due = this.#timers.take(limits.watchStepDatapoints);
    if (due.length === 0) return false;
    await this.#evaluator.evaluateTimers(due, { upToSeq: this.#progress.position(), fence });
    return true;
  }

  async #ensureFollowing(seq: number): Promise<void> {
    const lease = await this.#lead();
    if (lease !== undefined && !this.#progress.isFollowing) this.#progress.followFrom(seq, lease);
  }

  /** Continues at the stored position. */
  async #follow(fence: Fence): Promise<void> {
    // Datapoints from before the earliest rule concern no rule.
    let earliest = Number.POSITIVE_INFINITY;
    for (const { afterSeq } of this.#index.entries()) earliest = Math.min(earliest, afterSeq);
    const stored = (await this.#commitLog.confirmedPosition()) ?? 0;
    this.#progress.followFrom(Math.min(Math.max(stored, earliest), this.#commitLog.lastPosition), fence);
  }

  async #refresh(id: NotificationId): Promise<void> {
    try {
      await this.#rules.refresh(id);
    } catch (error) {
      // It is stored as it is now, or removed; in memory it is not.
      this.#distrustRules();
      this.#loop.wake();
      throw error;
    }
    // Pushes of sensors that only the changed rule concerns are not in the queue: they are read from the log.
    if (!this.#progress.isQueueEmpty) this.#progress.fallBehind();
  }

  /** Loads the rules again, which discards all results that were not stored. Where they cannot be read, the next step does. */
  async #discardUnstored(): Promise<void> {
    this.#distrustRules();
    try {
      await this.#rules.loadAll();
    } catch (error) {
      this.#log.error({ err: error }, 'the rules of notifications could not be read');
    }
  }

  /** Until the rules are loaded, datapoints wait in the log: those in memory do not say which of them concern a rule. */
  #distrustRules(): void {
    this.#rules.distrust();
    if (this.#progress.isFollowing) this.#progress.fallBehind();
  }
}
