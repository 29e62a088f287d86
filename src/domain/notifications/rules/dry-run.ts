// Runs a rule over stored datapoints and reports when it would have fired and what it would have sent (beyond
// spec.md). Uses firing.ts, as the watcher does, but with timestamps as the time, because imported history was
// received all at once. Bounded in datapoints and in the length of the report.

import { Refusal } from '../../../base/refusal.ts';
import type { Json } from '../../../base/text/json.ts';
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import { datapointsOf } from '../../datapoints/columns.ts';
import { compareTimes, type Datapoint, jsonValue, orderOf, type StoredValue } from '../../datapoints/datapoint.ts';
import { calibrate } from '../../devices/calibration.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import { namedSensorOf } from '../../devices/former-ids/sensors-with-former.ts';
import type { Sensor, SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Series } from '../../ports/series.ts';
import { scope } from '../../scopes.ts';
import type { Actor } from '../../users/user.ts';
import type { Lookup } from './expression-evaluation.ts';
import {
  applyDatapoint,
  applyTime,
  type FiringContext,
  type FiringEvent,
  newDeviceState,
  type RuleState,
  type RuleTime,
} from './firing.ts';
import { messageTextOf } from './message-text.ts';
import { assertFields, type NotificationFields } from './notification.ts';
import { type Rule, toRule } from './rule.ts';

export interface DryRunQuery {
  /** Bounds of the ordering time, inclusive, in milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface DryRunFiring {
  readonly kind: FiringEvent['kind'];
  readonly atMs: number;
  readonly device: DeviceId;
  readonly sensor: string;
  /** The text that would have been sent, or the setting of an actuator; absent where there is none. */
  readonly message?: string;
  readonly setting?: Json;
}

export interface DryRunReport {
  /** In order of time. */
  readonly firings: readonly DryRunFiring[];
  /** Number of datapoints evaluated. */
  readonly datapoints: number;
  /** True when there are more datapoints or firings than the bounds. */
  readonly isCut: boolean;
}

interface SensorDatapoint {
  readonly device: Device;
  /** The sensor as the rule names it: by several ids where it was renamed. */
  readonly names: readonly SensorId[];
  readonly point: Datapoint;
}

export class DryRun {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #series: Pick<Series, 'range'>;
  readonly #origin: string;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly series: Pick<Series, 'range'>;
    /** Where links in texts lead to. */
    readonly origin: string;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#series = parts.series;
    this.#origin = parts.origin;
  }

  /**
   * Runs the rule of these fields. @throws Refusal `malformed`; `not-found` or `forbidden` where the actor cannot
   * read a device of the rule.
   */
  async run(actor: Actor, fields: NotificationFields, query: DryRunQuery): Promise<DryRunReport> {
    this.#permissions.requireRules(actor);
    assertFields(fields);
    const rule = toRule(fields);
    const devices: Device[] = [];
    for (const id of rule.devices) {
      const device = await this.#directory.get(id);
      this.#permissions.require(actor, device, scope.dataView);
      devices.push(device);
    }
    const { points, isCut } = await this.#read(actor, rule, devices, query);
    const mayView = (device: Device) => (this.#permissions.scopesOf(actor, device) & scope.view) !== 0;
    const run = new DryRunState(rule, { origin: this.#origin, described: new Set(devices.filter(mayView)) });
    for (const [n, located] of points.entries()) {
      run.take(located);
      if (run.isFull) return { firings: run.firings, datapoints: n + 1, isCut: true };
      if (n % limits.dryRunTurnDatapoints === limits.dryRunTurnDatapoints - 1) await nextLoopTurn();
    }
    run.end(query.toMs ?? points.at(-1)?.point.receivedMs);
    return { firings: run.firings, datapoints: points.length, isCut };
  }

  /** The datapoints of all sensors that the rule needs, oldest first, up to the bound. */
  async #read(
    { caller }: Actor,
    rule: Rule,
    devices: readonly Device[],
    { fromMs, toMs }: DryRunQuery,
  ): Promise<{ readonly points: SensorDatapoint[]; readonly isCut: boolean }> {
    const sensors = devices.flatMap((device) => namedSensors(device, rule.values));
    if (sensors.length > limits.dryRunSensorsMax) {
      const detail = `The notification needs ${sensors.length} sensors; it can be tried on ${limits.dryRunSensorsMax} at once.`;
      throw new Refusal('too-large', detail);
    }
    const max = limits.dryRunDatapointsMax;
    let points: SensorDatapoint[] = [];
    // One sensor may have all of the oldest datapoints, so each sensor is read up to the bound. Once `max` datapoints
    // are known, later ones cannot be among the oldest, so the next sensors are read only until `untilMs`.
    let untilMs = Number.POSITIVE_INFINITY;
    for (const { device, sensor, names } of sensors) {
      const until = Math.min(toMs ?? Number.POSITIVE_INFINITY, untilMs);
      const query = { sensor: sensor.key, fromMs, descending: false, limit: max };
      const bounded = { ...query, toMs: until === Number.POSITIVE_INFINITY ? undefined : until };
      const { columns } = await this.#series.range(bounded, { caller });
      if (columns.count === max) untilMs = Math.min(untilMs, columns.at[max - 1] as number);
      for (const point of datapointsOf(columns)) points.push({ device, names, point });
      if (points.length < 2 * max) continue;
      points = oldest(points, max);
      untilMs = Math.min(untilMs, orderOf((points.at(-1) as SensorDatapoint).point));
      await nextLoopTurn();
    }
    const kept = oldest(points, max).filter(({ point }) => orderOf(point) <= untilMs);
    return { points: kept, isCut: kept.length < points.length || untilMs !== Number.POSITIVE_INFINITY };
  }
}

/** Each sensor once, with all ids by which it is named. */
function namedSensors(device: Device, ids: readonly SensorId[]) {
  const found = new Map<SensorKey, { readonly device: Device; readonly sensor: Sensor; readonly names: SensorId[] }>();
  for (const id of ids) {
    const sensor = namedSensorOf(device, id);
    if (sensor === undefined) continue;
    const known = found.get(sensor.key);
    if (known === undefined) found.set(sensor.key, { device, sensor, names: [id] });
    else known.names.push(id);
  }
  return [...found.values()];
}

function oldest(points: SensorDatapoint[], max: number): SensorDatapoint[] {
  return points.sort((a, b) => compareTimes(a.point, b.point)).slice(0, max);
}

/** The state of one dry run. */
class DryRunState {
  readonly firings: DryRunFiring[] = [];
  readonly #rule: Rule;
  readonly #origin: string;
  readonly #described: ReadonlySet<Device>;
  readonly #ruleState: RuleState = { lastFiredMs: undefined, lastFiredElapsedMs: undefined };
  readonly #memories = new Map<DeviceId, ReturnType<typeof newDeviceState>>();
  readonly #values = new Map<string, StoredValue>();
  readonly #devices = new Map<DeviceId, Device>();

  /** @param words.described the devices whose names and units may be told. */
  constructor(rule: Rule, words: { readonly origin: string; readonly described: ReadonlySet<Device> }) {
    this.#rule = rule;
    this.#origin = words.origin;
    this.#described = words.described;
  }

  get isFull(): boolean {
    return this.firings.length >= limits.dryRunFiringsMax;
  }

  take({ device, names, point }: SensorDatapoint): void {
    this.#devices.set(device.id, device);
    this.#addFirings(device, applyTime(this.#contextOf(device), orderOf(point)));
    for (const name of names) this.#values.set(`${device.id} ${name}`, point.value);
    const triggering = names.filter((name) => this.#rule.sensors.includes(name));
    const [sensor] = triggering;
    if (sensor === undefined) return;
    const at = { sensor, names: triggering, atMs: orderOf(point), lookup: this.#lookup(device) };
    this.#addFirings(device, applyDatapoint(this.#contextOf(device), at));
  }

  /** Applies the time that passes until `atMs` after the last datapoint. */
  end(atMs: number | undefined): void {
    if (atMs !== undefined)
      for (const device of this.#devices.values()) this.#addFirings(device, applyTime(this.#contextOf(device), atMs));
    this.firings.sort((a, b) => a.atMs - b.atMs);
  }

  #contextOf(device: Device): FiringContext {
    const memory = this.#memories.get(device.id) ?? newDeviceState();
    this.#memories.set(device.id, memory);
    const state = { memory, ruleState: this.#ruleState, time: timesOfDatapoints };
    return {
      rule: this.#rule,
      ...state,
      sensors: { keyOf: (name: SensorId) => namedSensorOf(device, name)?.key },
      mayNotify: !this.isFull,
    };
  }

  /** Adds events to the report, up to its maximum length. */
  #addFirings(device: Device, events: readonly FiringEvent[]): void {
    for (const event of events) {
      if (this.isFull) return;
      const text = messageTextOf({
        rule: this.#rule,
        device,
        isDescribed: this.#described.has(device),
        event,
        lookup: this.#lookup(device),
        origin: this.#origin,
      });
      this.firings.push({ ...event, device: device.id, ...this.#contentOf(event, text) });
    }
  }

  #contentOf({ kind }: FiringEvent, text: string | undefined): Pick<DryRunFiring, 'message' | 'setting'> {
    if (text === undefined) return {};
    const isSetting = kind === 'fires' && this.#rule.action.kind === 'actuation';
    return isSetting ? { setting: JSON.parse(text) as Json } : { message: text };
  }

  #lookup(device: Device): Lookup {
    return (id) => {
      const value = this.#values.get(`${device.id} ${id}`);
      return value === undefined ? undefined : jsonValue(calibrate(value, namedSensorOf(device, id)?.calibration));
    };
  }
}

/** A dry run goes by the times of the datapoints, which it reads in their order. */
const timesOfDatapoints: RuleTime = {
  isInDoubt: false,
  elapsedMs: () => 0,
  forAge: { now: () => Number.POSITIVE_INFINITY },
};
