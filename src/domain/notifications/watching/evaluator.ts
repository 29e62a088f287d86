// Evaluates rules for datapoints and stores the results. Called by the watcher alone, one step at a time. Asks the
// permission function, at that moment, whether the author may see the device (I6). Results count once they are stored;
// after a failed step the caller loads the rules anew.

import { entryBytes, heapBytes } from '../../../base/memory/heap-bytes.ts';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../datapoints/datapoint.ts';
import type { Reading } from '../../datapoints/ingest/reading.ts';
import { calibrate } from '../../devices/calibration.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Series } from '../../ports/series.ts';
import { remembered } from '../../remembered.ts';
import { scope } from '../../scopes.ts';
import type { Actor } from '../../users/user.ts';
import type { Users } from '../../users/users.ts';
import type { MessageBuilder } from '../outbox/message-builder.ts';
import type { NotificationCounters } from '../outbox/notification-counters.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Lookup } from '../rules/expression-evaluation.ts';
import {
  applyDatapoint,
  applyTime,
  type FiringContext,
  type FiringEvent,
  mayFire,
  serializeDeviceState,
} from '../rules/firing.ts';
import type { Rule } from '../rules/rule.ts';
import type { Alarm, Alarms } from './alarms.ts';
import { EvaluationStep, WatchedDevice, type WatchedSensor } from './evaluation-step.ts';
import type { RuleEntry, RuleIndex, SortedRules } from './rule-index.ts';
import type { SeenPush } from './watch-queue.ts';
import type { RecordedFiring, WatchStore } from './watch-store.ts';

interface LookOptions {
  /** Datapoints up to this seq have been evaluated before. */
  readonly seenSeq: number;
  /** True where the position is stored even if nothing happened. */
  readonly isNoted: boolean;
}

export class Evaluator {
  readonly #index: RuleIndex;
  readonly #watchStore: WatchStore;
  readonly #series: Pick<Series, 'latest' | 'latestUpTo'>;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;
  readonly #messages: MessageBuilder;
  readonly #counters: NotificationCounters;
  readonly #clock: Clock;
  readonly #oldMs: number;
  readonly #alarms: Alarms;
  readonly #outbox: Pick<Outbox, 'wakeFor'>;
  /** Devices of earlier steps; ignored where the device or its rules have changed. */
  readonly #watcheds = new WeakMap<SortedRules, WatchedDevice>();
  /** Last values of sensors that rules need; sensors without a value are not in it. */
  readonly #values = new LruCache<SensorKey, StoredValue>({
    weightMax: limits.watchValueBytesMax,
    pool: remembered,
    weigh: (value) => entryBytes + heapBytes(value),
  });

  constructor(parts: {
    readonly index: RuleIndex;
    readonly watchStore: WatchStore;
    readonly series: Pick<Series, 'latest' | 'latestUpTo'>;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
    readonly messages: MessageBuilder;
    readonly counters: NotificationCounters;
    readonly clock: Clock;
    /** Datapoints received more than so many hours after their timestamp are ignored; 0: none is. */
    readonly oldHours: number;
    readonly alarms: Alarms;
    readonly outbox: Pick<Outbox, 'wakeFor'>;
  }) {
    this.#index = parts.index;
    this.#watchStore = parts.watchStore;
    this.#series = parts.series;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
    this.#messages = parts.messages;
    this.#counters = parts.counters;
    this.#clock = parts.clock;
    this.#oldMs = parts.oldHours === 0 ? Number.POSITIVE_INFINITY : parts.oldHours * 3_600_000;
    this.#alarms = parts.alarms;
    this.#outbox = parts.outbox;
  }

  /** Drops the last values, because other sensors are needed, or the position has changed. */
  forgetValues(): void {
    this.#values.clear();
  }

  /** Looks at pushes in their order, with the rules of each device. */
  async look(pushes: readonly SeenPush[], { seenSeq, isNoted }: LookOptions): Promise<void> {
    const step = new EvaluationStep();
    // Values from before this seq are read from the store.
    const upToSeq = Math.max(seenSeq, (pushes[0]?.firstSeq ?? 0) - 1);
    await this.#load(step, pushes, upToSeq);
    for (const push of pushes) {
      const watch = step.watches.get(push.sensor.key);
      // A removed sensor, or a new one with its id, is not in the map.
      if (watch === undefined) continue;
      for (let index = 0; index < push.readings.length; index++) {
        if (push.firstSeq + index <= seenSeq || !this.#mayMatter(step, push, index, watch)) continue;
        for (const entry of watch.rules.entries) {
          this.#judgeDatapoint(step, entry, { push, index, watch });
          step.rulesLookedAt += 1;
          // A step may have many rules: saving or yielding between them keeps the event loop free for requests.
          if (step.firings.length >= limits.watchFiringsMax) await this.#record(step, undefined);
          else if (step.rulesLookedAt % limits.watchTurnRules === 0) await nextLoopTurn();
        }
        watch.rules.noteAsleep(push.receivedMs);
      }
    }
    for (const { sensor, value } of step.moved) this.#values.set(sensor.key, value as StoredValue);
    step.leave();
    const last = pushes.at(-1);
    if (last !== undefined && (step.hasNews || isNoted)) {
      await this.#record(step, Math.max(seenSeq, last.firstSeq + last.readings.length - 1));
    }
  }

  /** Evaluates what time has made due. */
  async lookAtTime(due: readonly Alarm[], { upToSeq }: { readonly upToSeq: number }): Promise<void> {
    const step = new EvaluationStep();
    for (const { entry, device: id } of due) {
      const device = { id };
      await this.#load(step, [{ device }], upToSeq);
      this.#judge(step, { entry, device: id, watched: step.watcheds.get(id), untilMs: this.#clock.now() });
      if (step.firings.length >= limits.watchFiringsMax) await this.#record(step, undefined);
    }
    step.leave();
    if (step.hasNews) await this.#record(step, upToSeq);
    for (const { entry, device } of due) this.#alarms.arrange(entry, device);
  }

  /** Schedules the checks by time of a rule with state; a sensor's silence counts from its last datapoint. */
  async prepare(entry: RuleEntry): Promise<void> {
    if (!entry.record.hasTimes) return;
    for (const id of entry.rule.devices) {
      await this.#hear(entry, id);
      this.#alarms.arrange(entry, id);
    }
  }

  /** Loads when the sensors of a rule with `silence` last sent a datapoint. */
  async #hear(entry: RuleEntry, id: DeviceId): Promise<void> {
    const { silenceMs, sensors } = entry.rule;
    if (silenceMs === undefined) return;
    const device = await this.#directory.find(id);
    const keys = sensors.flatMap((sensor) => device?.sensors.get(sensor)?.key ?? []);
    const latest = await this.#series.latest(keys);
    const memory = entry.memoryOf(id);
    for (const sensor of sensors) {
      const receivedMs = latest.get(device?.sensors.get(sensor)?.key ?? -1)?.receivedMs ?? 0;
      memory.heardMs.set(sensor, Math.max(entry.record.watchedSinceMs, receivedMs));
    }
  }

  /** Takes the value of a datapoint in. False where no rule can fire because of it, nor has anything to remember. */
  #mayMatter(step: EvaluationStep, push: SeenPush, index: number, watch: WatchedSensor): boolean {
    const { receivedMs, isQuiet } = push;
    const { rules, watched, sensor } = watch;
    const { value, timestampMs } = push.readings.at(index) as Reading;
    // With the values from before this datapoint.
    if (watched.hasTimes) this.#takeTime(step, watch, receivedMs);
    step.move(watch, value);
    // `NaN`: the sender had no clock; never old.
    if (receivedMs < rules.asleepUntilMs || isQuiet || receivedMs - timestampMs > this.#oldMs) return false;
    return typeof value !== 'number' || !rules.isCalmAt(calibrate(value, sensor.calibration));
  }

  /** Applies what time has caused before the datapoint, for the rules it concerns. */
  #takeTime(step: EvaluationStep, { rules, watched }: WatchedSensor, receivedMs: number): void {
    for (const entry of rules.entries) {
      if (!entry.record.hasTimes) continue;
      this.#judge(step, { entry, device: watched.device.id, watched, untilMs: receivedMs });
    }
  }

  /** Looks at one datapoint with one rule. */
  #judgeDatapoint(
    step: EvaluationStep,
    entry: RuleEntry,
    { push, index, watch }: { readonly push: SeenPush; readonly index: number; readonly watch: WatchedSensor },
  ): void {
    const { watched, sensor } = watch;
    const { lookup } = watched;
    const { id: device } = watched.device;
    const seq = push.firstSeq + index;
    const atMs = push.receivedMs;
    if (seq <= entry.afterSeq || entry.isGone) return;
    if (!entry.hasMemory && !mayFire(entry.rule, entry.standing, { atMs, lookup })) return;
    this.#judge(step, { entry, device, watched, datapoint: { seq, sensor: sensor.id, atMs, lookup } });
    this.#alarms.arrange(entry, device);
  }

  /** What the devices' rules need to know, once a device. */
  async #load(step: EvaluationStep, pushes: readonly Pick<SeenPush, 'device'>[], upToSeq: number): Promise<void> {
    let entered = 0;
    for (const { device: asked } of pushes) {
      if (step.watcheds.has(asked.id)) continue;
      const rules = this.#index.of(asked.id);
      const isKnown = rules?.authors.every((author) => step.actors.has(author)) === true;
      if (rules !== undefined && !isKnown) await this.#loadAuthors(step, rules);
      const device = rules && (this.#directory.peek(asked.id) ?? (await this.#directory.find(asked.id)));
      if (rules === undefined || device === undefined) {
        step.watcheds.set(asked.id, undefined);
        continue;
      }
      const missing = this.#enter(step, device, rules);
      if (missing.length > 0) await this.#readValues(missing, upToSeq);
      entered += rules.bySensor.size;
      if (entered < limits.watchTurnRules) continue;
      entered = 0;
      await nextLoopTurn();
    }
  }

  async #loadAuthors(step: EvaluationStep, { authors }: SortedRules): Promise<void> {
    for (const author of authors) {
      if (step.actors.has(author)) continue;
      const user = await this.#users.findByKey(author);
      step.actors.set(author, user && this.#users.actorOf(user));
    }
  }

  /** Takes a device into the step, with last values. @returns the sensors whose last value is not in memory. */
  #enter(step: EvaluationStep, device: Device, rules: SortedRules): readonly WatchedSensor[] {
    let watched = this.#watcheds.get(rules);
    if (watched === undefined || !watched.isOf(device, rules)) {
      watched = new WatchedDevice(device, rules);
      this.#watcheds.set(rules, watched);
    }
    step.enter(watched);
    for (const watch of watched.watches) watch.value = this.#values.get(watch.sensor.key);
    return watched.watches.filter(({ value }) => value === undefined);
  }

  async #readValues(watches: readonly WatchedSensor[], upToSeq: number): Promise<void> {
    for (const watch of watches) {
      const { key } = watch.sensor;
      watch.value = (await this.#series.latestUpTo(key, upToSeq))?.value;
      if (watch.value !== undefined) this.#values.set(key, watch.value);
    }
  }

  /** Looks at a datapoint, or at what time has made happen, with one rule; notes what it did and what it remembers. */
  #judge(step: EvaluationStep, judgement: Judgement): void {
    const { entry, device, watched, datapoint, untilMs = 0 } = judgement;
    const { rule, hasMemory, standing, record } = entry;
    const memory = entry.memoryOf(device);
    const seq = datapoint?.seq;
    // After a crash between two rules of a datapoint: this rule has evaluated it before.
    if (seq !== undefined && memory.seq !== undefined && seq <= memory.seq) return;
    const before = hasMemory ? serializeDeviceState(memory) : '';
    const author = step.actors.get(record.author);
    const context: FiringContext = {
      ...{ rule, memory, standing },
      sensors: watched?.device.sensors ?? none,
      mayTell: author !== undefined && watched !== undefined && this.#mayTell(rule, author, watched.device),
    };
    const events = datapoint === undefined ? applyTime(context, untilMs) : applyDatapoint(context, datapoint);
    if (events.length > 0 && author !== undefined && watched !== undefined)
      for (const event of events) this.#note(step, event, { entry, author, lookup: watched.lookup, seq });
    if (!hasMemory || serializeDeviceState(memory) === before) return;
    if (seq !== undefined) memory.seq = seq;
    const memoryNow = serializeDeviceState(memory);
    step.memories.set(`${record.key} ${device}`, { rule: record.key, device, memory: memoryNow });
  }

  /** Whether a rule may say something about a device now. */
  #mayTell(rule: Rule, author: Actor, device: Device): boolean {
    if (this.#clock.now() >= rule.expiresMs) return false;
    return (this.#permissions.scopesOf(author, device) & scope.dataView) !== 0;
  }

  /** Makes the messages of what a rule did; the step holds them until they are written. */
  #note(
    step: EvaluationStep,
    event: FiringEvent,
    {
      entry,
      author,
      lookup,
      seq,
    }: { readonly entry: RuleEntry; readonly author: Actor; readonly lookup: Lookup; readonly seq: number | undefined },
  ): void {
    const { record, rule, timesSent } = entry;
    const messages = this.#messages.make({ rule, author, event, lookup });
    const isCounted = event.kind === 'fires';
    const base = { rule: record.key, author: record.author, isCounted, timesSent };
    step.firings.push({ entry, firing: { ...base, atMs: event.atMs, seq, messages } });
    if (!isCounted) return;
    entry.timesSent += 1;
    entry.afterSeq = Math.max(entry.afterSeq, seq ?? 0);
  }

  async #record(step: EvaluationStep, followedSeq: number | undefined): Promise<void> {
    const { firings, memories } = step;
    step.firings = [];
    step.memories = new Map();
    const record = { firings: firings.map(({ firing }) => firing), memories: [...memories.values()], followedSeq };
    const unrecorded = new Set(await this.#watchStore.record(record));
    for (const { entry, firing } of firings) {
      if (unrecorded.has(firing)) await this.#readAnew(entry);
      else this.#count(firing);
    }
    const queued = firings.flatMap(({ firing }) => firing.messages.filter(({ state }) => state === 'queued'));
    if (queued.length > 0) this.#outbox.wakeFor(new Set(queued.map(({ channel }) => channel)));
  }

  #count({ isCounted, messages }: RecordedFiring): void {
    if (isCounted) this.#counters.firings += 1;
    for (const { channel, state } of messages) this.#counters.end(channel, state);
  }

  /** Reloads a rule that has changed meanwhile; for example, its author was removed. */
  async #readAnew({ record }: RuleEntry): Promise<void> {
    const rule = await this.#watchStore.findRule(record.id);
    if (rule === undefined) this.#index.remove(record.id);
    else this.#index.add(rule);
  }
}

/** A rule, a device, and what it is judged by: a datapoint, or time that has come to `untilMs`. */
interface Judgement {
  readonly entry: RuleEntry;
  readonly device: DeviceId;
  /** Undefined where the device has gone. */
  readonly watched: WatchedDevice | undefined;
  readonly datapoint?: {
    readonly seq: number;
    readonly sensor: SensorId;
    readonly atMs: number;
    readonly lookup: Lookup;
  };
  readonly untilMs?: number;
}

const none: ReadonlySet<SensorId> = new Set();
