// Replays a rule over stored datapoints and says when it would have fired and what it would have sent, without sending
// anything (beyond spec.md). Decides by firing.ts, as the watcher does; the time of a datapoint is when it was measured,
// because a history that was brought in was received all at once. Bounded in datapoints and in what it tells.
import type { Json } from '../../base/json.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { datapointsOf } from '../datapoints/columns.ts';
import { compareTimes, type Datapoint, jsonValue, orderOf, type StoredValue } from '../datapoints/datapoint.ts';
import type { DatapointStore } from '../datapoints/datapoint-store.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../permissions/scopes.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { Sensor } from '../sensors/sensor.ts';
import type { Actor } from '../users/user.ts';
import type { Lookup } from './evaluation.ts';
import { type Case, type Happening, newMemory, takeDatapoint, takeTime } from './firing.ts';
import { textOf } from './message-maker.ts';
import { assertFields, type NotificationFields } from './notification.ts';
import { type Rule, toRule } from './rule.ts';

export interface RehearsalQuery {
  /** Bounds of the time of measuring, inclusive, milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface RehearsedFiring {
  readonly kind: Happening['kind'];
  readonly atMs: number;
  readonly device: DeviceId;
  readonly sensor: string;
  /** What would have been sent, or the setting of an actuator; absent where there is nothing. */
  readonly message?: string;
  readonly setting?: Json;
}

export interface RehearsalReport {
  /** In order of time. */
  readonly firings: readonly RehearsedFiring[];
  /** Datapoints that were looked at. */
  readonly datapoints: number;
  /** True when there is more than is looked at, or told, at once. */
  readonly isCut: boolean;
}

interface Located {
  readonly device: Device;
  readonly sensor: Sensor;
  readonly point: Datapoint;
}

export class Rehearsal {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #store: DatapointStore;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly store: DatapointStore;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#store = parts.store;
  }

  /** @throws Refusal `malformed`; `not-found` or `forbidden` where a device cannot be read by the actor. */
  async run(actor: Actor, fields: NotificationFields, query: RehearsalQuery): Promise<RehearsalReport> {
    this.#permissions.requireRules(actor);
    assertFields(fields);
    const rule = toRule(fields);
    const devices: Device[] = [];
    for (const id of rule.devices) {
      const device = await this.#directory.get(id);
      this.#permissions.require(actor, device, scope.dataView);
      devices.push(device);
    }
    const { points, isCut } = await this.#read(rule, devices, query);
    const run = new Run(rule);
    for (const [n, located] of points.entries()) {
      run.take(located);
      if (run.isFull) return { firings: run.firings, datapoints: n + 1, isCut: true };
      if (n % limits.watchTurnRules === limits.watchTurnRules - 1) await turnOfTheLoop();
    }
    run.end(query.toMs ?? points.at(-1)?.point.receivedMs);
    return { firings: run.firings, datapoints: points.length, isCut };
  }

  /** The datapoints of all sensors that the rule needs, oldest first, as many as are looked at. */
  async #read(
    rule: Rule,
    devices: readonly Device[],
    { fromMs, toMs }: RehearsalQuery,
  ): Promise<{ readonly points: Located[]; readonly isCut: boolean }> {
    const places = devices.flatMap((device) => {
      return rule.values.flatMap((id) => {
        const sensor = device.sensors.get(id);
        return sensor === undefined ? [] : [{ device, sensor }];
      });
    });
    if (places.length > limits.rehearsedSensorsMax) {
      const detail = `The notification needs ${places.length} sensors; it can be tried on ${limits.rehearsedSensorsMax} at once.`;
      throw new Refusal('too-large', detail);
    }
    const max = limits.rehearsedDatapointsMax;
    let points: Located[] = [];
    // Of each sensor as many as could be among the oldest of all.
    let untilMs = Number.POSITIVE_INFINITY;
    for (const { device, sensor } of places) {
      const until = Math.min(toMs ?? Number.POSITIVE_INFINITY, untilMs);
      const query = { sensor: sensor.key, fromMs, descending: false, limit: max };
      const bounded = { ...query, toMs: until === Number.POSITIVE_INFINITY ? undefined : until };
      const { columns } = await this.#store.read(bounded);
      if (columns.count === max) untilMs = Math.min(untilMs, columns.at[max - 1] as number);
      for (const point of datapointsOf(columns)) points.push({ device, sensor, point });
      if (points.length < 2 * max) continue;
      points = oldest(points, max);
      untilMs = Math.min(untilMs, orderOf((points.at(-1) as Located).point));
      await turnOfTheLoop();
    }
    const kept = oldest(points, max).filter(({ point }) => orderOf(point) <= untilMs);
    return { points: kept, isCut: kept.length < points.length || untilMs !== Number.POSITIVE_INFINITY };
  }
}

function oldest(points: Located[], max: number): Located[] {
  return points.sort((a, b) => compareTimes(a.point, b.point)).slice(0, max);
}

/** One replay. */
class Run {
  readonly firings: RehearsedFiring[] = [];
  readonly #rule: Rule;
  readonly #standing = { lastFiredMs: undefined as number | undefined };
  readonly #memories = new Map<DeviceId, ReturnType<typeof newMemory>>();
  readonly #values = new Map<string, StoredValue>();
  readonly #devices = new Map<DeviceId, Device>();

  constructor(rule: Rule) {
    this.#rule = rule;
  }

  get isFull(): boolean {
    return this.firings.length >= limits.rehearsedFiringsMax;
  }

  take({ device, sensor, point }: Located): void {
    this.#devices.set(device.id, device);
    takeTime(this.#caseOf(device), orderOf(point));
    this.#values.set(`${device.id} ${sensor.id}`, point.value);
    if (!this.#rule.sensors.includes(sensor.id)) return;
    takeDatapoint(this.#caseOf(device), { sensor: sensor.id, atMs: orderOf(point), lookup: this.#lookup(device) });
  }

  /** What time alone would have made happen by then. */
  end(atMs: number | undefined): void {
    if (atMs !== undefined) for (const device of this.#devices.values()) takeTime(this.#caseOf(device), atMs);
    this.firings.sort((a, b) => a.atMs - b.atMs);
  }

  #caseOf(device: Device): Case {
    const memory = this.#memories.get(device.id) ?? newMemory();
    this.#memories.set(device.id, memory);
    const emit = (happening: Happening) => {
      if (this.isFull) return false;
      const text = textOf({ rule: this.#rule, happening, lookup: this.#lookup(device) });
      this.firings.push({ ...happening, device: device.id, ...this.#said(happening, text) });
      return true;
    };
    return { rule: this.#rule, memory, standing: this.#standing, emit };
  }

  #said({ kind }: Happening, text: string | undefined): Pick<RehearsedFiring, 'message' | 'setting'> {
    if (text === undefined) return {};
    const isSetting = kind === 'fires' && this.#rule.action.kind === 'actuation';
    return isSetting ? { setting: JSON.parse(text) as Json } : { message: text };
  }

  #lookup(device: Device): Lookup {
    return (id) => {
      const value = this.#values.get(`${device.id} ${id}`);
      return value === undefined ? undefined : jsonValue(calibrate(value, device.sensors.get(id)?.calibration));
    };
  }
}
