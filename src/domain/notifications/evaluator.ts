// Looks at datapoints with the rules they concern and records what these do. Called by the watcher alone, one step at a
// time. Asks the one permission function, at that moment, whether the author may see the device (I6). What a rule did
// counts once it is written; a caller whose step fails reads the rules anew.
import type { Clock } from '../../base/clock.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import { jsonValue, type StoredValue } from '../datapoints/datapoint.ts';
import type { DatapointStore } from '../datapoints/datapoint-store.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../permissions/scopes.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { SensorId, SensorKey } from '../sensors/sensor.ts';
import { type Actor, actorOf, type UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Lookup } from './evaluation.ts';
import { type Case, type Happening, keptMemory, mayFire, takeDatapoint, takeTime } from './firing.ts';
import type { MessageMaker } from './message-maker.ts';
import type { DeviceRules, RuleIndex, WatchedEntry } from './rule-index.ts';
import type { RecordedFiring, WatchRecord, WatchStore } from './watch-store.ts';

export interface SeenDatapoint {
  readonly seq: number;
  readonly device: DeviceId;
  readonly sensor: SensorId;
  readonly sensorKey: SensorKey;
  /** Milliseconds since 1970 UTC. */
  readonly receivedMs: number;
  readonly measuredMs: number;
  readonly value: StoredValue;
  readonly isQuiet: boolean;
}

interface LookOptions {
  /** What came up to here is known to be the past: last values are as they were then. */
  readonly upToSeq: number;
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
  readonly #clock: Clock;
  readonly #oldMs: number;
  readonly #onMessages: () => void;
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
    readonly clock: Clock;
    /** Datapoints measured so many hours before they came are not looked at; 0: all are. */
    readonly oldHours: number;
    /** Told when messages have been written. */
    readonly onMessages: () => void;
  }) {
    this.#index = parts.index;
    this.#watchStore = parts.watchStore;
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
    this.#messages = parts.messages;
    this.#clock = parts.clock;
    this.#oldMs = parts.oldHours === 0 ? Number.POSITIVE_INFINITY : parts.oldHours * 3_600_000;
    this.#onMessages = parts.onMessages;
  }

  /** Forgets last values, because others are needed now, or they are not those of the time that is looked at. */
  forgetValues(): void {
    this.#values.clear();
  }

  /** Looks at datapoints in their order. */
  async look(points: readonly SeenDatapoint[], { upToSeq, isNoted, onTouched }: LookOptions): Promise<void> {
    const step = new Step();
    await this.#load(step, new Set(points.map(({ device }) => device)), upToSeq);
    for (const point of points) {
      const place = step.places.get(point.device);
      // A sensor that has gone, or another that has its id now.
      if (place === undefined || place.device.sensors.get(point.sensor)?.key !== point.sensorKey) continue;
      const rules = place.bySensor.get(point.sensor);
      if (rules === undefined) continue;
      // With the values that were there until now.
      if (place.hasTimes) this.#takeTime(step, point, rules);
      step.values.set(point.sensorKey, point.value);
      step.moved.add(point.sensorKey);
      if (point.isQuiet || point.receivedMs - point.measuredMs > this.#oldMs) continue;
      const pause = this.#lookAt(step, { point, rules, lookup: place.lookup, onTouched }, 0);
      if (pause !== undefined) await pause;
    }
    for (const sensor of step.moved) this.#values.set(sensor, step.values.get(sensor) as StoredValue);
    if (step.hasNews || isNoted) await this.#record(step, points.at(-1)?.seq);
  }

  /** Looks at what time has made due. */
  async lookAtTime(
    due: readonly { readonly entry: WatchedEntry; readonly device: DeviceId }[],
    { upToSeq }: { readonly upToSeq: number },
  ): Promise<void> {
    const step = new Step();
    await this.#load(step, new Set(due.map(({ device }) => device)), upToSeq);
    for (const { entry, device } of due) {
      this.#judge(step, { entry, device, seq: undefined }, (of) => takeTime(of, this.#clock.now()));
      if (step.firings.length >= limits.watchFiringsMax) await this.#record(step, undefined);
    }
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

  /** What time made happen before the datapoint came, of the rules that it concerns. */
  #takeTime(step: Step, { device, receivedMs }: SeenDatapoint, rules: readonly WatchedEntry[]): void {
    for (const entry of rules) {
      if (!entry.record.hasTimes) continue;
      this.#judge(step, { entry, device, seq: undefined }, (of) => takeTime(of, receivedMs));
    }
  }

  /** Looks at one datapoint with the rules from `from` on; a promise where others, or the disk, come between. */
  #lookAt(step: Step, look: Look, from: number): Promise<void> | undefined {
    const { point, rules, lookup, onTouched } = look;
    const { sensor, seq, device, receivedMs: atMs } = point;
    for (let n = from; n < rules.length; n++) {
      const entry = rules[n] as WatchedEntry;
      if (seq <= entry.afterSeq || entry.isGone) continue;
      if (entry.hasMemory || mayFire(entry.rule, entry.standing, { atMs, lookup })) {
        this.#judge(step, { entry, device, seq }, (of) => takeDatapoint(of, { sensor, atMs, lookup }));
        onTouched(entry, device);
      }
      step.rulesLookedAt += 1;
      const isFull = step.firings.length >= limits.watchFiringsMax;
      if (!isFull && step.rulesLookedAt % limits.watchTurnRules !== 0) continue;
      const pause = isFull ? this.#record(step, undefined) : turnOfTheLoop();
      return pause.then(() => this.#lookAt(step, look, n + 1));
    }
    return undefined;
  }

  /** What the devices' rules need to know; what is in memory is taken without waiting. */
  async #load(step: Step, devices: ReadonlySet<DeviceId>, upToSeq: number): Promise<void> {
    for (const id of devices) {
      const rules = this.#index.of(id);
      const device = this.#directory.peek(id) ?? (await this.#directory.find(id));
      if (rules === undefined || device === undefined) continue;
      const { bySensor, hasTimes } = rules;
      step.places.set(id, { device, bySensor, hasTimes, lookup: lookupOf(step, device) });
      for (const author of rules.authors) {
        if (step.actors.has(author)) continue;
        const user = await this.#users.findByKey(author);
        step.actors.set(author, user && actorOf(user));
      }
      for (const sensor of bySensor.keys()) {
        const key = device.sensors.get(sensor)?.key;
        if (key === undefined) continue;
        const value = this.#values.get(key);
        if (value === undefined) await this.#readValue(step, key, upToSeq);
        else step.values.set(key, value);
      }
    }
  }

  async #readValue(step: Step, sensor: SensorKey, upToSeq: number): Promise<void> {
    const value = (await this.#store.latestUpTo(sensor, upToSeq))?.value;
    if (value === undefined) return;
    this.#values.set(sensor, value);
    step.values.set(sensor, value);
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
    for (const { entry, firing } of firings) if (unrecorded.has(firing)) await this.#readAnew(entry);
    if (firings.some(({ firing }) => firing.messages.some(({ state }) => state === 'queued'))) this.#onMessages();
  }

  /** A rule that is no longer as it was thought to be: its author has gone, for one. */
  async #readAnew({ record }: WatchedEntry): Promise<void> {
    const rule = await this.#watchStore.findRule(record.id);
    if (rule === undefined) this.#index.remove(record.id);
    else this.#index.add(rule);
  }
}

/** A device whose rules look. */
interface Place {
  readonly device: Device;
  readonly bySensor: DeviceRules['bySensor'];
  /** True where time alone may make one of its rules fire. */
  readonly hasTimes: boolean;
  /** Last values as reads show them. */
  readonly lookup: Lookup;
}

/** One datapoint and who looks at it. */
interface Look extends Pick<LookOptions, 'onTouched'> {
  readonly point: SeenDatapoint;
  readonly rules: readonly WatchedEntry[];
  readonly lookup: Lookup;
}

/** What one step knows and has concluded. */
class Step {
  readonly places = new Map<DeviceId, Place>();
  readonly actors = new Map<UserKey, Actor | undefined>();
  readonly values = new Map<SensorKey, StoredValue>();
  /** Sensors of which a value came in this step. */
  readonly moved = new Set<SensorKey>();
  firings: { readonly entry: WatchedEntry; readonly firing: RecordedFiring }[] = [];
  memories = new Map<string, WatchRecord['memories'][number]>();
  rulesLookedAt = 0;

  get hasNews(): boolean {
    return this.firings.length > 0 || this.memories.size > 0;
  }
}

/** Last values as reads show them. */
function lookupOf(step: Step, device: Device): Lookup {
  return (id) => {
    const sensor = device.sensors.get(id);
    if (sensor === undefined) return undefined;
    const value = step.values.get(sensor.key);
    return value === undefined ? undefined : jsonValue(calibrate(value, sensor.calibration));
  };
}
