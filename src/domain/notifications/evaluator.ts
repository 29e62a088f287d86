// Looks at datapoints with the rules they concern and records what these do. Called by the watcher alone, one step at a
// time. Asks the one permission function, at that moment, whether the author may see the device (I6). What a rule did
// counts once it is written; a caller whose step fails reads the rules anew.
import type { Clock } from '../../base/clock.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import type { StoredValue } from '../datapoints/datapoint.ts';
import type { DatapointStore } from '../datapoints/datapoint-store.ts';
import type { Reading, Readings } from '../datapoints/reading.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../permissions/scopes.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { SensorKey } from '../sensors/sensor.ts';
import { actorOf } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import { type Case, type Happening, keptMemory, mayFire, takeDatapoint, takeTime } from './firing.ts';
import type { MessageMaker } from './message-maker.ts';
import type { DeviceRules, RuleIndex, WatchedEntry } from './rule-index.ts';
import { Place, Step, type Watch } from './step.ts';
import type { Tally } from './tally.ts';
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
  readonly onTouched: (entry: WatchedEntry, device: DeviceId) => void;
}

export class Evaluator {
  readonly #index: RuleIndex;
  readonly #watchStore: WatchStore;
  readonly #store: DatapointStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;
  readonly #messages: MessageMaker;
  readonly #tally: Tally;
  readonly #clock: Clock;
  readonly #oldMs: number;
  readonly #onMessages: (channels: ReadonlySet<string>) => void;
  /** What is known of the devices that were looked at; of no use any more where device or rules have changed. */
  readonly #places = new WeakMap<DeviceRules, Place>();
  /** Last values of sensors that rules need; those that nothing was pushed to are not in here. */
  readonly #values = new LruCache<SensorKey, StoredValue>({
    weightMax: limits.watchValueCharsMax,
    weigh: (value) => (typeof value === 'number' ? 10 : 10 + value.length),
  });

  constructor(parts: {
    readonly index: RuleIndex;
    readonly watchStore: WatchStore;
    readonly store: DatapointStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
    readonly messages: MessageMaker;
    readonly tally: Tally;
    readonly clock: Clock;
    /** Datapoints measured so many hours before they came are not looked at; 0: all are. */
    readonly oldHours: number;
    /** Told of the channels of messages that have been written. */
    readonly onMessages: (channels: ReadonlySet<string>) => void;
  }) {
    this.#index = parts.index;
    this.#watchStore = parts.watchStore;
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
    this.#messages = parts.messages;
    this.#tally = parts.tally;
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
    const step = new Step();
    // What came before and is not in memory came before anybody asked for it.
    const upToSeq = Math.max(seenSeq, (pushes[0]?.firstSeq ?? 0) - 1);
    for (const push of pushes) {
      const { device, sensor } = push;
      let watch = step.watches.get(sensor.key);
      if (watch === undefined) {
        if (step.places.has(device.id)) continue;
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
    due: readonly { readonly entry: WatchedEntry; readonly device: DeviceId }[],
    { upToSeq }: { readonly upToSeq: number },
  ): Promise<void> {
    const step = new Step();
    for (const { entry, device } of due) {
      if (!step.places.has(device)) await this.#load(step, device, upToSeq);
      this.#judge(step, { entry, device, seq: undefined }, (of) => takeTime(of, this.#clock.now()));
      if (step.firings.length >= limits.watchFiringsMax) await this.#record(step, undefined);
    }
    step.leave();
    if (step.hasNews) await this.#record(step, upToSeq);
  }

  /** Finds out when the sensors that a rule wants to hear of were last heard. */
  async prepare(entry: WatchedEntry, id: DeviceId): Promise<void> {
    const { silenceMs, sensors } = entry.rule;
    if (silenceMs === undefined) return;
    const device = await this.#directory.find(id);
    const keys = sensors.flatMap((sensor) => device?.sensors.get(sensor)?.key ?? []);
    const latest = await this.#store.latest(keys);
    const memory = entry.memoryOf(id);
    for (const sensor of sensors) {
      const receivedMs = latest.get(device?.sensors.get(sensor)?.key ?? -1)?.receivedMs ?? 0;
      memory.heardMs.set(sensor, Math.max(entry.record.watchedSinceMs, receivedMs));
    }
  }

  /** Looks at the readings of one push that are left; a promise where others, or the disk, come between. */
  #lookAtPush(step: Step, look: PushLook): Promise<void> | undefined {
    const { push, watch, seenSeq } = look;
    const { readings, firstSeq, receivedMs } = push;
    const { rules, place } = watch;
    for (; look.index < readings.length; look.index++) {
      if (firstSeq + look.index <= seenSeq) continue;
      const { value, timestampMs } = readings.at(look.index) as Reading;
      // With the values that were there until now.
      if (place.hasTimes) this.#takeTime(step, watch, receivedMs);
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
  #takeTime(step: Step, { rules, place }: Watch, receivedMs: number): void {
    for (const entry of rules.entries) {
      if (!entry.record.hasTimes) continue;
      this.#judge(step, { entry, device: place.device.id, seq: undefined }, (of) => takeTime(of, receivedMs));
    }
  }

  /** Looks at one datapoint with the rules from `from` on. */
  #lookAt(step: Step, look: PushLook, from: number): Promise<void> | undefined {
    const { push, watch, index, onTouched } = look;
    const { place, rules, sensor } = watch;
    const { entries } = rules;
    const seq = push.firstSeq + index;
    const atMs = push.receivedMs;
    let asleepUntilMs = Number.POSITIVE_INFINITY;
    for (let n = from; n < entries.length; n++) {
      const entry = entries[n] as WatchedEntry;
      if (seq > entry.afterSeq && !entry.isGone) {
        if (entry.hasMemory || mayFire(entry.rule, entry.standing, { atMs, lookup: place.lookup })) {
          const { id: device } = place.device;
          const at = { sensor: sensor.id, atMs, lookup: place.lookup };
          this.#judge(step, { entry, device, seq }, (of) => takeDatapoint(of, at));
          onTouched(entry, device);
        }
      }
      // One that is awake is enough.
      if (asleepUntilMs > atMs) asleepUntilMs = Math.min(asleepUntilMs, entry.asleepUntilMs);
      step.rulesLookedAt += 1;
      const isFull = step.firings.length >= limits.watchFiringsMax;
      if (!isFull && step.rulesLookedAt % limits.watchTurnRules !== 0) continue;
      const pause = isFull ? this.#record(step, undefined) : turnOfTheLoop();
      return pause.then(() => this.#lookAt(step, look, n + 1));
    }
    // Where it was interrupted, the next datapoint finds out.
    if (from === 0) rules.asleepUntilMs = asleepUntilMs;
    return undefined;
  }

  /** What the device's rules need to know; a promise where it is not in memory. */
  #load(step: Step, id: DeviceId, upToSeq: number): Promise<void> | undefined {
    const rules = this.#index.of(id);
    const device = this.#directory.peek(id);
    if (rules === undefined) {
      step.places.set(id, undefined);
      return undefined;
    }
    if (device === undefined || !rules.authors.every((author) => step.actors.has(author))) {
      return this.#fetch(step, { id, rules, upToSeq });
    }
    return this.#enter(step, { device, rules, upToSeq });
  }

  async #fetch(
    step: Step,
    { id, rules, upToSeq }: { readonly id: DeviceId; readonly rules: DeviceRules; readonly upToSeq: number },
  ): Promise<void> {
    for (const author of rules.authors) {
      if (step.actors.has(author)) continue;
      const user = await this.#users.findByKey(author);
      step.actors.set(author, user && actorOf(user));
    }
    const device = await this.#directory.find(id);
    if (device === undefined) step.places.set(id, undefined);
    else await this.#enter(step, { device, rules, upToSeq });
  }

  #enter(
    step: Step,
    { device, rules, upToSeq }: { readonly device: Device; readonly rules: DeviceRules; readonly upToSeq: number },
  ): Promise<void> | undefined {
    let place = this.#places.get(rules);
    if (place === undefined || !place.isOf(device, rules)) {
      place = new Place(device, rules);
      this.#places.set(rules, place);
    }
    step.enter(place);
    const missing: Watch[] = [];
    for (const watch of place.watches) {
      watch.value = this.#values.get(watch.sensor.key);
      if (watch.value === undefined) missing.push(watch);
    }
    return missing.length === 0 ? undefined : this.#readValues(missing, upToSeq);
  }

  async #readValues(watches: readonly Watch[], upToSeq: number): Promise<void> {
    for (const watch of watches) {
      const { key } = watch.sensor;
      watch.value = (await this.#store.latestUpTo(key, upToSeq))?.value;
      if (watch.value !== undefined) this.#values.set(key, watch.value);
    }
  }

  #judge(
    step: Step,
    about: { readonly entry: WatchedEntry; readonly device: DeviceId; readonly seq: number | undefined },
    take: (of: Case) => void,
  ): void {
    const { entry, device, seq } = about;
    const memory = entry.memoryOf(device);
    // Only after a crash in the midst of a datapoint: this rule has had it.
    if (seq !== undefined && memory.seq !== undefined && seq <= memory.seq) return;
    const { rule, hasMemory, standing } = entry;
    const before = hasMemory ? keptMemory(memory) : '';
    take({ rule, memory, standing, emit: (happening) => this.#emit(step, about, happening) });
    if (!hasMemory || keptMemory(memory) === before) return;
    if (seq !== undefined) memory.seq = seq;
    step.memories.set(`${entry.record.key} ${device}`, { rule: entry.record.key, device, memory: keptMemory(memory) });
  }

  #emit(
    step: Step,
    {
      entry,
      device: id,
      seq,
    }: { readonly entry: WatchedEntry; readonly device: DeviceId; readonly seq: number | undefined },
    happening: Happening,
  ): boolean {
    const { record, rule, timesSent } = entry;
    const place = step.places.get(id);
    const author = step.actors.get(record.author);
    if (author === undefined || !place?.device.sensors.has(happening.sensor)) return false;
    if (this.#clock.now() >= rule.expiresMs) return false;
    if ((this.#permissions.scopesOf(author, place.device) & scope.dataView) === 0) return false;
    const messages = this.#messages.make({ rule, author, happening, lookup: place.lookup });
    const isCounted = happening.kind === 'fires';
    const firing = {
      rule: record.key,
      author: record.author,
      isCounted,
      timesSent,
      atMs: happening.atMs,
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

  async #record(step: Step, followedSeq: number | undefined): Promise<void> {
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
    if (isCounted) this.#tally.firings += 1;
    for (const { channel, state } of messages) this.#tally.end(channel, state);
  }

  /** A rule that is no longer as it was thought to be: its author has gone, for one. */
  async #readAnew({ record }: WatchedEntry): Promise<void> {
    const rule = await this.#watchStore.findRule(record.id);
    if (rule === undefined) this.#index.remove(record.id);
    else this.#index.add(rule);
  }
}

/** A push that is looked at. */
interface PushLook extends Pick<LookOptions, 'seenSeq' | 'onTouched'> {
  readonly push: SeenPush;
  readonly watch: Watch;
  /** Of the reading that it has come to. */
  index: number;
}
