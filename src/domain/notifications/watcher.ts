// The watcher of rules: sees every committed datapoint that concerns one, in order of arrival, and makes rules fire (I5).
// It follows the feed, which only enqueues (I4); where too much waits, and after a stop, it reads what it has not seen
// from the store. What it concludes is written in one unit with how far it has come. Changes of rules take turns with
// its steps, so that a datapoint is looked at with the rule as it was before a change or after, never with neither.
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { Timetable } from '../../base/timetable.ts';
import { limits } from '../../config/limits.ts';
import type { DatapointStore } from '../datapoints/datapoint-store.ts';
import type { CommittedPush, Feed } from '../datapoints/feed.ts';
import type { Reading } from '../datapoints/reading.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { DeviceId } from '../devices/device.ts';
import type { SensorKey } from '../sensors/sensor.ts';
import type { Evaluator, SeenDatapoint } from './evaluator.ts';
import { dueMs } from './firing.ts';
import type { NotificationId } from './notification.ts';
import type { RuleIndex, WatchedEntry } from './rule-index.ts';
import type { WatchStore } from './watch-store.ts';

/** What time makes happen: a rule is to look at a device again. */
interface Alarm {
  readonly entry: WatchedEntry;
  readonly device: DeviceId;
}

/** How a change of a rule finds the datapoints. */
export interface Seqs {
  /** The newest there is. */
  readonly newest: number;
  /** All up to this one have been looked at. */
  readonly seen: number;
}

export class Watcher {
  readonly #feed: Feed;
  readonly #store: DatapointStore;
  readonly #watchStore: WatchStore;
  readonly #evaluator: Evaluator;
  readonly #index: RuleIndex;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #alarms = new Timetable<Alarm>();
  #queue: CommittedPush[] = [];
  #queued = 0;
  /** True while what is to be looked at is read from the store, not from the queue. */
  #isBehind = true;
  /** True once the rules are in memory and there are any. */
  #isFollowing = false;
  /** All up to this seq has been looked at. */
  #seenSeq = 0;
  /** Seq of the last datapoint that the feed told of. */
  #toldSeq = 0;
  #followedSeq = 0;
  #recordedMs = 0;
  /** When it last had nothing left to do, by a clock that only runs forward. */
  #restedMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #alarm: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;
  #unsubscribe: () => void = () => {};

  constructor(parts: {
    readonly feed: Feed;
    readonly store: DatapointStore;
    readonly watchStore: WatchStore;
    readonly evaluator: Evaluator;
    readonly index: RuleIndex;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#feed = parts.feed;
    this.#store = parts.store;
    this.#watchStore = parts.watchStore;
    this.#evaluator = parts.evaluator;
    this.#index = parts.index;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Takes the rules into memory and goes on from where it was at the last stop. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#feed.subscribe((committed) => {
      if (committed.kind === 'sensor') this.#take(committed);
    });
    this.#toldSeq = this.#store.lastSeq;
    await this.#load();
    if (this.#index.size === 0) this.#store.follow(undefined);
    else await this.#follow();
    this.#wake();
  }

  /**
   * Makes a change of a rule, between two steps, and takes it in before it is acknowledged. `write` is told from which
   * datapoint on the rule is as it is then.
   */
  async change<T>(id: NotificationId, write: (seqs: Seqs) => Promise<T>): Promise<T> {
    return this.#exclusively(async () => {
      const newest = this.#store.lastSeq;
      // Before the first rule is there, so that nothing that comes after it can escape.
      if (!this.#isFollowing) this.#begin(newest);
      await this.#lookUpTo(newest);
      try {
        return await write({ newest, seen: this.#position() });
      } finally {
        await this.#refresh(id);
      }
    });
  }

  /** Takes in a rule that `write` makes; many may be made at once. */
  async add<T>(id: NotificationId, write: (seqs: Pick<Seqs, 'newest'>) => Promise<T>): Promise<T> {
    const newest = this.#store.lastSeq;
    if (!this.#isFollowing) await this.#exclusively(async () => this.#isFollowing || this.#begin(newest));
    try {
      return await write({ newest });
    } finally {
      await this.#exclusively(() => this.#refresh(id));
    }
  }

  /** What came before a change is looked at with the rule as it was, unless too much of it waits. */
  async #lookUpTo(seq: number): Promise<void> {
    try {
      for (let steps = 0; this.#position() < seq && steps < limits.watchStepsBeforeChange; steps++) await this.#step();
    } catch (error) {
      this.#log.error({ err: error }, 'notifications could not be evaluated; they are evaluated again');
      await this.#startAnew();
    }
  }

  /** Resolves when everything there is has been looked at, and all that time has made due. */
  async idle(): Promise<void> {
    while (!this.#isClosed && this.#retry === undefined && (this.#hasWork() || this.#running !== undefined)) {
      this.#wake();
      await this.#running;
    }
  }

  /** Finishes its step and writes down how far it has come. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unsubscribe();
    clearTimeout(this.#alarm);
    clearTimeout(this.#retry);
    await this.#running;
    await this.#exclusively(async () => {
      if (!this.#isFollowing || this.#isBehind) return;
      await this.#watchStore.record({ firings: [], memories: [], followedSeq: this.#position() });
    }).catch((error: unknown) =>
      this.#log.warn({ err: error }, 'where the watcher of notifications stands is not noted'),
    );
  }

  /** The feed's reader: what no rule concerns costs one look. */
  #take(push: CommittedPush): void {
    const { readings, firstSeq } = push;
    if (readings.length === 0) return;
    this.#toldSeq = firstSeq + readings.length - 1;
    if (!this.#isFollowing || this.#isBehind) {
      if (this.#isFollowing) this.#wake();
      return;
    }
    const rules = this.#index.of(push.device.id);
    if (rules?.bySensor.has(push.sensor.id) === true) this.#enqueue(push);
    else if (this.#toldSeq - this.#followedSeq > limits.watchFollowStep && this.#isAtRest) this.#tellFollowed();
  }

  #enqueue(push: CommittedPush): void {
    this.#queued += push.readings.length;
    if (this.#queued > limits.watchQueueMax && this.#queue.length > 0) this.#fallBehind();
    else this.#queue.push(push);
    this.#wake();
  }

  #fallBehind(): void {
    this.#isBehind = true;
    this.#queue = [];
    this.#queued = 0;
  }

  get #isAtRest(): boolean {
    return this.#running === undefined && this.#queue.length === 0 && !this.#isBehind;
  }

  /** All up to this seq has been looked at. */
  #position(): number {
    if (!this.#isBehind && this.#queue.length === 0) this.#seenSeq = Math.max(this.#seenSeq, this.#toldSeq);
    return this.#seenSeq;
  }

  #tellFollowed(): void {
    this.#followedSeq = this.#position();
    this.#store.follow(this.#followedSeq);
  }

  #wake(): void {
    if (this.#running !== undefined || this.#isClosed || this.#retry !== undefined) return;
    clearTimeout(this.#alarm);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isClosed || this.#retry !== undefined) return;
      if (this.#hasWork()) this.#wake();
      else this.#setAlarm();
    });
  }

  #hasWork(): boolean {
    if (!this.#isFollowing) return false;
    return (
      this.#isBehind || this.#queue.length > 0 || (this.#alarms.nextMs ?? Number.POSITIVE_INFINITY) <= this.#clock.now()
    );
  }

  /**
   * What one commit brings is looked at together, in the next turn; while commit follows on commit, those of a few
   * milliseconds are, because a step costs as much as dozens of datapoints.
   */
  async #gather(): Promise<void> {
    const isRestless = performance.now() - this.#restedMs < limits.watchGatherMs;
    if (!isRestless || this.#isBehind) await turnOfTheLoop();
    else await new Promise<void>((resolve) => setTimeout(resolve, limits.watchGatherMs));
  }

  async #run(): Promise<void> {
    await this.#gather();
    try {
      while (!this.#isClosed && (await this.#exclusively(() => this.#step()))) await turnOfTheLoop();
      this.#restedMs = performance.now();
    } catch (error) {
      this.#log.error({ err: error }, 'notifications could not be evaluated; they are evaluated again');
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#wake();
      }, limits.watchRetryMs);
      await this.#exclusively(() => this.#startAnew());
    }
  }

  /** One step; false when there was nothing to do. */
  async #step(): Promise<boolean> {
    if (!this.#isFollowing) return false;
    if (this.#isBehind) return this.#catchUp();
    if (this.#queue.length > 0) {
      const points = this.#takeFromQueue();
      await this.#look(points);
      // Nothing that concerns a rule is left: all that the feed told of has been looked at.
      const last = points.at(-1);
      this.#seenSeq = Math.max(this.#seenSeq, last?.seq ?? 0);
      this.#tellFollowed();
      return true;
    }
    return this.#takeAlarms();
  }

  #takeFromQueue(): SeenDatapoint[] {
    const points: SeenDatapoint[] = [];
    let pushes = 0;
    for (const push of this.#queue) {
      if (points.length >= limits.watchStepDatapoints) break;
      pushes += 1;
      addPoints(points, push, this.#seenSeq);
    }
    const taken = pushes === this.#queue.length ? this.#queue.splice(0) : this.#queue.splice(0, pushes);
    for (const { readings } of taken) this.#queued -= readings.length;
    return points;
  }

  /** Reads on behind what was looked at; back to the feed where there is nothing left. */
  async #catchUp(): Promise<boolean> {
    const toldSeq = this.#toldSeq;
    const points = await this.#store.readBehind(this.#seenSeq);
    const first = points[0];
    const last = points.at(-1);
    if (first === undefined || last === undefined) {
      // Nothing is left of what had been told before the read; what was told since is read next.
      this.#seenSeq = Math.max(this.#seenSeq, toldSeq);
      this.#isBehind = this.#toldSeq > this.#seenSeq;
      this.#tellFollowed();
      return true;
    }
    const missed = first.seq - this.#seenSeq - 1;
    if (missed > 0) {
      this.#log.error(
        { datapoints: missed },
        'datapoints were not looked at by notifications: they were too far behind',
      );
    }
    const places = await this.#watchStore.placesOf([...new Set(points.map(({ sensor }) => sensor))]);
    const seen = points.flatMap((point) => toSeen(point, places) ?? []);
    await this.#look(seen.filter(({ device, sensor }) => this.#index.of(device)?.bySensor.has(sensor) === true));
    this.#seenSeq = last.seq;
    this.#followedSeq = last.seq;
    this.#store.follow(last.seq);
    return true;
  }

  async #look(points: readonly SeenDatapoint[]): Promise<void> {
    const [first] = points;
    if (first === undefined) return;
    const nowMs = this.#clock.now();
    const isNoted = nowMs - this.#recordedMs > limits.watchNotedMs;
    if (isNoted) this.#recordedMs = nowMs;
    await this.#evaluator.look(points, {
      // What came before and is not in memory came before anybody asked for it.
      upToSeq: first.seq - 1,
      isNoted,
      onTouched: (entry, device) => this.#arrange(entry, device),
    });
  }

  #takeAlarm(): Alarm | undefined {
    for (;;) {
      const alarm = this.#alarms.take(this.#clock.now());
      if (alarm === undefined || !alarm.entry.isGone) return alarm;
    }
  }

  async #takeAlarms(): Promise<boolean> {
    const due: Alarm[] = [];
    while (due.length < limits.watchStepDatapoints) {
      const alarm = this.#takeAlarm();
      if (alarm === undefined) break;
      due.push(alarm);
    }
    if (due.length === 0) return false;
    for (const { entry, device } of due) entry.alarmTaken(device);
    await this.#evaluator.lookAtTime(due, { upToSeq: this.#position() });
    for (const { entry, device } of due) this.#arrange(entry, device);
    return true;
  }

  /** Sees to it that the rule looks at the device again when time makes something due. */
  #arrange(entry: WatchedEntry, device: DeviceId): void {
    if (entry.isGone || !entry.hasMemory) return;
    const at = dueMs({ rule: entry.rule, memory: entry.memoryOf(device) });
    if (at !== undefined && entry.planAlarm(device, at)) this.#alarms.add(at, { entry, device });
  }

  #setAlarm(): void {
    const next = this.#alarms.nextMs;
    if (next === undefined) return;
    const waitMs = Math.min(Math.max(next - this.#clock.now(), 0), limits.watchAlarmMsMax);
    this.#alarm = setTimeout(() => this.#wake(), waitMs);
    this.#alarm.unref();
  }

  #begin(seq: number): void {
    this.#seenSeq = seq;
    this.#toldSeq = Math.max(this.#toldSeq, seq);
    this.#followedSeq = seq;
    this.#isFollowing = true;
    // From the store at first, because the feed may have told of something since.
    this.#fallBehind();
    this.#store.follow(seq);
  }

  /** Goes on from where the disk says it was. */
  async #follow(): Promise<void> {
    // What came before every rule concerns none.
    let earliest = Number.POSITIVE_INFINITY;
    for (const { afterSeq } of this.#index.entries()) earliest = Math.min(earliest, afterSeq);
    this.#begin(Math.min(Math.max((await this.#store.followedSeq()) ?? 0, earliest), this.#store.lastSeq));
  }

  async #load(): Promise<void> {
    for (let after = 0; ; ) {
      const rules = await this.#watchStore.listRules({ after, limit: limits.watchLoadStep });
      for (const rule of rules) await this.#add(this.#index.add(rule));
      if (rules.length < limits.watchLoadStep) return;
      after = (rules.at(-1) as { key: number }).key;
      await turnOfTheLoop();
    }
  }

  /** Has a rule that remembers something look at its devices in time. */
  async #add(entry: WatchedEntry): Promise<void> {
    if (!entry.record.hasTimes) return;
    for (const device of entry.rule.devices) {
      await this.#evaluator.prepare(entry, device);
      this.#arrange(entry, device);
    }
  }

  async #refresh(id: NotificationId): Promise<void> {
    const rule = await this.#watchStore.findRule(id);
    if (rule === undefined) this.#index.remove(id);
    else await this.#add(this.#index.add(rule));
    this.#evaluator.forgetValues();
    // What waits was chosen by the sensors that rules concerned before.
    if (this.#queue.length > 0) this.#fallBehind();
  }

  async #reload(): Promise<void> {
    this.#index.clear();
    this.#evaluator.forgetValues();
    await this.#load();
    if (this.#isFollowing) this.#fallBehind();
  }

  /** After a failure: nothing that was concluded and not written is left. */
  async #startAnew(): Promise<void> {
    try {
      await this.#reload();
    } catch (error) {
      this.#log.error({ err: error }, 'the rules of notifications could not be read');
    }
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }
}

function addPoints(points: SeenDatapoint[], push: CommittedPush, seenSeq: number): void {
  const { device, sensor, receivedMs, firstSeq, isQuiet } = push;
  for (let index = 0; index < push.readings.length; index++) {
    const seq = firstSeq + index;
    if (seq <= seenSeq) continue;
    const { value, timestampMs } = push.readings[index] as Reading;
    const measuredMs = Number.isNaN(timestampMs) ? receivedMs : timestampMs;
    points.push({
      seq,
      device: device.id,
      sensor: sensor.id,
      sensorKey: sensor.key,
      receivedMs,
      measuredMs,
      value,
      isQuiet,
    });
  }
}

type Places = Awaited<ReturnType<WatchStore['placesOf']>>;

function toSeen(
  point: Awaited<ReturnType<DatapointStore['readBehind']>>[number],
  places: Places,
): SeenDatapoint | undefined {
  const place = places.get(point.sensor as SensorKey);
  if (place === undefined) return undefined;
  const { seq, receivedMs, timestampMs, value, isQuiet } = point;
  return { seq, ...place, sensorKey: point.sensor, receivedMs, measuredMs: timestampMs ?? receivedMs, value, isQuiet };
}
