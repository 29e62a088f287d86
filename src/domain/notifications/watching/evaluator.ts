// Looks at datapoints with the rules they concern and records what these do. Called by the watcher alone, one step at a
// time. Asks the one permission function, at that moment, whether the author may see the device (I6). What a rule did
// counts once it is written; a caller whose step fails reads the rules anew.

import { entryBytes, heapBytes } from '../../../base/memory/heap-bytes.ts';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../datapoints/datapoint.ts';
import { nextLoopTurn } from '../../datapoints/history/series.ts';
import type { Reading, Readings } from '../../datapoints/ingest/reading.ts';
import { calibrate } from '../../devices/calibration.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { SensorKey } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Series } from '../../ports/series.ts';
import { remembered } from '../../remembered.ts';
import { scope } from '../../scopes.ts';
import type { Users } from '../../users/users.ts';
import type { MessageBuilder } from '../outbox/message-builder.ts';
import type { NotificationCounters } from '../outbox/notification-counters.ts';
import {
  applyDatapoint,
  applyTime,
  type FiringContext,
  type FiringEvent,
  mayFire,
  serializeDeviceState,
} from '../rules/firing.ts';
import { EvaluationStep, WatchedDevice, type WatchedSensor } from './evaluation-step.ts';
import type { DeviceRules, RuleEntry, RuleIndex } from './rule-index.ts';
import type { RecordedFiring, WatchStore } from './watch-store.ts';

/** A push as rules look at it. */
export interface SeenPush {
  readonly device: { readonly id: DeviceId };
  readonly sensor: { readonly key: SensorKey };
  readonly readings: Readings;
  /** Milliseconds since 1970 UTC. */
  readonly receivedMs: number;
  readonly firstSeq: number;
  readonly isQuiet: boolean;
}

interface LookOptions {
  /** All up to this seq has been looked at. */
  readonly seenSeq: number;
  /** True where it is written down how far this went, even if nothing happened. */
  readonly isNoted: boolean;
  /** Told of each device that a rule has looked at. */
  readonly onTouched: (entry: RuleEntry, device: DeviceId) => void;
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
  readonly #onMessages: (channels: ReadonlySet<string>) => void;
  /** What is known of the devices that were looked at; of no use any more where device or rules have changed. */
  readonly #watcheds = new WeakMap<DeviceRules, WatchedDevice>();
  /** Last values of sensors that rules need; those that nothing was pushed to are not in here. */
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
    /** Datapoints measured so many hours before they came are not looked at; 0: all are. */
    readonly oldHours: number;
    /** Told of the channels of messages that have been written. */
    readonly onMessages: (channels: ReadonlySet<string>) => void;
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
    this.#onMessages = parts.onMessages;
  }

  /** Forgets last values, because others are needed now, or they are not those of the time that is looked at. */
  forgetValues(): void {
    this.#values.clear();
  }

  /** Looks at pushes in their order. */
  async look(pushes: readonly SeenPush[], { seenSeq, isNoted, onTouched }: LookOptions): Promise<void> {
    const step = new EvaluationStep();
    // What came before and is not in memory came before anybody asked for it.
    const upToSeq = Math.max(seenSeq, (pushes[0]?.firstSeq ?? 0) - 1);
    for (const push of pushes) {
      const { device, sensor } = push;
      let watch = step.watches.get(sensor.key);
      if (watch === undefined) {
        if (step.watcheds.has(device.id)) continue;
        const wait = this.#load(step, device.id, upToSeq);
        if (wait !== undefined) await wait;
        // A sensor that has gone, or another that has its id now, is not watched.
        watch = step.watches.get(sensor.key);
        if (watch === undefined) continue;
      }
      const pause = this.#lookAtPush(step, { push, watch, seenSeq, onTouched, index: 0 });
      if (pause !== undefined) await pause;
    }
    for (const { sensor, value } of step.moved) this.#values.set(sensor.key, value as StoredValue);
    step.leave();
    const last = pushes.at(-1);
    if (last !== undefined && (step.hasNews || isNoted)) {
      await this.#record(step, Math.max(seenSeq, last.firstSeq + last.readings.length - 1));
    }
  }

  /** Looks at what time has made due. */
  async lookAtTime(
    due: readonly { readonly entry: RuleEntry; readonly device: DeviceId }[],
    { upToSeq }: { readonly upToSeq: number },
  ): Promise<void> {
    const step = new EvaluationStep();
    for (const { entry, device } of due) {
      if (!step.watcheds.has(device)) await this.#load(step, device, upToSeq);
      this.#judge(step, { entry, device, seq: undefined }, (of) => applyTime(of, this.#clock.now()));
      if (step.firings.length >= limits.watchFiringsMax) await this.#record(step, undefined);
    }
    step.leave();
    if (step.hasNews) await this.#record(step, upToSeq);
  }

  /** Finds out when the sensors that a rule wants to hear of were last heard. */
  async prepare(entry: RuleEntry, id: DeviceId): Promise<void> {
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

  /** Looks at the readings of one push that are left; a promise where others, or the disk, come between. */
  #lookAtPush(step: EvaluationStep, look: PushLook): Promise<void> | undefined {
    const { push, watch, seenSeq } = look;
    const { readings, firstSeq, receivedMs } = push;
    const { rules, watched } = watch;
    for (; look.index < readings.length; look.index++) {
      if (firstSeq + look.index <= seenSeq) continue;
      const { value, timestampMs } = readings.at(look.index) as Reading;
      // With the values that were there until now.
      if (watched.hasTimes) this.#takeTime(step, watch, receivedMs);
      step.move(watch, value);
      // `NaN`, of a sender without a clock, is not old.
      if (receivedMs < rules.asleepUntilMs || push.isQuiet || receivedMs - timestampMs > this.#oldMs) continue;
      if (typeof value === 'number' && rules.isCalmAt(calibrate(value, watch.sensor.calibration))) continue;
      const pause = this.#lookAt(step, look, 0);
      if (pause === undefined) continue;
      return pause.then(() => {
        look.index += 1;
        return this.#lookAtPush(step, look);
      });
    }
    return undefined;
  }

  /** What time made happen before the datapoint came, of the rules that it concerns. */
  #takeTime(step: EvaluationStep, { rules, watched }: WatchedSensor, receivedMs: number): void {
    for (const entry of rules.entries) {
      if (!entry.record.hasTimes) continue;
      this.#judge(step, { entry, device: watched.device.id, seq: undefined }, (of) => applyTime(of, receivedMs));
    }
  }

  /** Looks at one datapoint with the rules from `from` on. */
  #lookAt(step: EvaluationStep, look: PushLook, from: number): Promise<void> | undefined {
    const { push, watch, index, onTouched } = look;
    const { watched, rules, sensor } = watch;
    const { entries } = rules;
    const seq = push.firstSeq + index;
    const atMs = push.receivedMs;
    let asleepUntilMs = Number.POSITIVE_INFINITY;
    for (let n = from; n < entries.length; n++) {
      const entry = entries[n] as RuleEntry;
      if (seq > entry.afterSeq && !entry.isGone) {
        if (entry.hasMemory || mayFire(entry.rule, entry.standing, { atMs, lookup: watched.lookup })) {
          const { id: device } = watched.device;
          const at = { sensor: sensor.id, atMs, lookup: watched.lookup };
          this.#judge(step, { entry, device, seq }, (of) => applyDatapoint(of, at));
          onTouched(entry, device);
        }
      }
      // One that is awake is enough.
      if (asleepUntilMs > atMs) asleepUntilMs = Math.min(asleepUntilMs, entry.asleepUntilMs);
      step.rulesLookedAt += 1;
      const isFull = step.firings.length >= limits.watchFiringsMax;
      if (!isFull && step.rulesLookedAt % limits.watchTurnRules !== 0) continue;
      const pause = isFull ? this.#record(step, undefined) : nextLoopTurn();
      return pause.then(() => this.#lookAt(step, look, n + 1));
    }
    // Where it was interrupted, the next datapoint finds out.
    if (from === 0) rules.asleepUntilMs = asleepUntilMs;
    return undefined;
  }

  /** What the device's rules need to know; a promise where it is not in memory. */
  #load(step: EvaluationStep, id: DeviceId, upToSeq: number): Promise<void> | undefined {
    const rules = this.#index.of(id);
    const device = this.#directory.peek(id);
    if (rules === undefined) {
      step.watcheds.set(id, undefined);
      return undefined;
    }
    if (device === undefined || !rules.authors.every((author) => step.actors.has(author))) {
      return this.#fetch(step, { id, rules, upToSeq });
    }
    return this.#enter(step, { device, rules, upToSeq });
  }

  async #fetch(
    step: EvaluationStep,
    { id, rules, upToSeq }: { readonly id: DeviceId; readonly rules: DeviceRules; readonly upToSeq: number },
  ): Promise<void> {
    for (const author of rules.authors) {
      if (step.actors.has(author)) continue;
      const user = await this.#users.findByKey(author);
      step.actors.set(author, user && this.#users.actorOf(user));
    }
    const device = await this.#directory.find(id);
    if (device === undefined) step.watcheds.set(id, undefined);
    else await this.#enter(step, { device, rules, upToSeq });
  }

  #enter(
    step: EvaluationStep,
    { device, rules, upToSeq }: { readonly device: Device; readonly rules: DeviceRules; readonly upToSeq: number },
  ): Promise<void> | undefined {
    let watched = this.#watcheds.get(rules);
    if (watched === undefined || !watched.isOf(device, rules)) {
      watched = new WatchedDevice(device, rules);
      this.#watcheds.set(rules, watched);
    }
    step.enter(watched);
    const missing: WatchedSensor[] = [];
    for (const watch of watched.watches) {
      watch.value = this.#values.get(watch.sensor.key);
      if (watch.value === undefined) missing.push(watch);
    }
    return missing.length === 0 ? undefined : this.#readValues(missing, upToSeq);
  }

  async #readValues(watches: readonly WatchedSensor[], upToSeq: number): Promise<void> {
    for (const watch of watches) {
      const { key } = watch.sensor;
      watch.value = (await this.#series.latestUpTo(key, upToSeq))?.value;
      if (watch.value !== undefined) this.#values.set(key, watch.value);
    }
  }

  #judge(
    step: EvaluationStep,
    about: { readonly entry: RuleEntry; readonly device: DeviceId; readonly seq: number | undefined },
    take: (of: FiringContext) => void,
  ): void {
    const { entry, device, seq } = about;
    const memory = entry.memoryOf(device);
    // Only after a crash in the midst of a datapoint: this rule has had it.
    if (seq !== undefined && memory.seq !== undefined && seq <= memory.seq) return;
    const { rule, hasMemory, standing } = entry;
    const before = hasMemory ? serializeDeviceState(memory) : '';
    take({ rule, memory, standing, emit: (event) => this.#emit(step, about, event) });
    if (!hasMemory || serializeDeviceState(memory) === before) return;
    if (seq !== undefined) memory.seq = seq;
    step.memories.set(`${entry.record.key} ${device}`, {
      rule: entry.record.key,
      device,
      memory: serializeDeviceState(memory),
    });
  }

  #emit(
    step: EvaluationStep,
    {
      entry,
      device: id,
      seq,
    }: { readonly entry: RuleEntry; readonly device: DeviceId; readonly seq: number | undefined },
    event: FiringEvent,
  ): boolean {
    const { record, rule, timesSent } = entry;
    const watched = step.watcheds.get(id);
    const author = step.actors.get(record.author);
    if (author === undefined || !watched?.device.sensors.has(event.sensor)) return false;
    if (this.#clock.now() >= rule.expiresMs) return false;
    if ((this.#permissions.scopesOf(author, watched.device) & scope.dataView) === 0) return false;
    const messages = this.#messages.make({ rule, author, event, lookup: watched.lookup });
    const isCounted = event.kind === 'fires';
    const firing = {
      rule: record.key,
      author: record.author,
      isCounted,
      timesSent,
      atMs: event.atMs,
      seq,
      messages,
    };
    step.firings.push({ entry, firing });
    if (isCounted) {
      entry.timesSent += 1;
      entry.afterSeq = Math.max(entry.afterSeq, seq ?? 0);
    }
    return true;
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
    if (queued.length > 0) this.#onMessages(new Set(queued.map(({ channel }) => channel)));
  }

  #count({ isCounted, messages }: RecordedFiring): void {
    if (isCounted) this.#counters.firings += 1;
    for (const { channel, state } of messages) this.#counters.end(channel, state);
  }

  /** A rule that is no longer as it was thought to be: its author has gone, for one. */
  async #readAnew({ record }: RuleEntry): Promise<void> {
    const rule = await this.#watchStore.findRule(record.id);
    if (rule === undefined) this.#index.remove(record.id);
    else this.#index.add(rule);
  }
}

/** A push that is looked at. */
interface PushLook extends Pick<LookOptions, 'seenSeq' | 'onTouched'> {
  readonly push: SeenPush;
  readonly watch: WatchedSensor;
  /** Of the reading that it has come to. */
  index: number;
}
