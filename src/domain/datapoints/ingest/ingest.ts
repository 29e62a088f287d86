// Step 1 of a datapoint's way: finds the sensor, checks permission and quota, sets `date_received`, and hands the
// push to the writer. HTTP and MQTT both call this.

import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { AgeClocks } from '../../../base/time/clock-watch.ts';
import type { Caller } from '../../callers/caller.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import { titleOf } from '../../devices/former-ids/former-id.ts';
import type { Sensor, SensorId } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { PushCharge } from '../../quotas/push-charge.ts';
import type { PushCharges } from '../../quotas/push-charges.ts';
import { scope } from '../../scopes.ts';
import type { Actor } from '../../users/user.ts';
import type { PushReceipt } from '../datapoint-batch.ts';
import type { AppendCallback } from './append.ts';
import { IdempotencyGuard, type IdempotencyKey, type PushedBody, type ReceiptClaims } from './idempotency-guard.ts';
import { Push, type PushExtras } from './push.ts';
import type { Readings } from './reading.ts';
import type { Writer } from './writer.ts';

/** A push to one sensor, as HTTP or MQTT hand it over. */
export interface SensorPush extends PushExtras {
  readonly device: DeviceId;
  readonly sensor: SensorId;
  readonly readings: Readings;
  /** Takes its place in the queue even without readings, and is done after everything before it. */
  readonly isInLine?: boolean;
}

export class Ingest {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #writer: Writer;
  readonly #clock: Clock;
  readonly #charges: PushCharges;
  readonly #idempotencyGuard: IdempotencyGuard<void>;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly writer: Writer;
    readonly commitLog: ReceiptClaims;
    readonly clock: Clock;
    readonly clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
    readonly receiptHours: number;
    readonly repeatMs?: number | undefined;
    readonly charges: PushCharges;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#writer = parts.writer;
    this.#clock = parts.clock;
    this.#charges = parts.charges;
    this.#idempotencyGuard = new IdempotencyGuard(parts);
  }

  /**
   * Stores a push; resolves after the commit (I1).
   * @throws Refusal `not-found`, `forbidden`, `quota`, `too-many`, `busy`, `full`, `storage`.
   */
  accept(actor: Actor, push: SensorPush): Promise<void> {
    return new Promise((resolve, reject) => {
      this.submit(actor, push, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** Like `accept`, with a callback, for hot paths where a promise would cost too much. */
  submit(actor: Actor, push: SensorPush, done: AppendCallback): void {
    const device = this.#directory.peek(push.device);
    // Usually the device is in memory, and the push continues in the same turn.
    if (device !== undefined) this.#append(actor, device, push, done);
    else this.#directory.get(push.device).then((found) => this.#append(actor, found, push, done), done);
  }

  /** The sensor of a push, if its device is in memory and the actor may push to it; otherwise undefined. */
  peekSensor(actor: Actor, device: DeviceId, sensorId: SensorId): SensorRef | undefined {
    const found = this.#directory.peek(device);
    if (found === undefined || (this.#permissions.scopesOf(actor, found) & scope.dataCreate) === 0) return undefined;
    const sensor = found.sensors.get(sensorId);
    if (sensor === undefined || this.#directory.isLeaving(found.id, sensor.id)) return undefined;
    const charge = this.#charges.of(actor, found);
    return this.#charges.refusalOf(charge, actor.caller) === undefined ? { device: found, sensor, charge } : undefined;
  }

  /**
   * Stores pushes of one caller, all or none. Their sensors must have been found by `peekSensor` in this turn of the
   * event loop.
   */
  submitAll(caller: Caller, pushes: readonly Push[], done: AppendCallback): void {
    this.#writer.submit({ caller, pushes }, done);
  }

  /**
   * Stores a push once, however often it is repeated within 24 hours under the same key.
   * @throws Refusal `conflict` when the key came with another body before; and as `accept`.
   */
  async acceptOnce(actor: Actor, push: SensorPush, key: IdempotencyKey): Promise<void> {
    const device = await this.#directory.get(push.device);
    // Part of the key's identity: a sensor that was removed and created again has stored nothing yet.
    const part = this.resolve(actor, device, push.sensor).sensor.key;
    const { key: caller } = actor.caller;
    const first = (receipt: PushReceipt) => this.#store(actor, { device, push, receipt });
    return this.#idempotencyGuard.run({ caller, key, part, first, again: () => {} });
  }

  /** Whether pushes without a key are recognised by their body. */
  get detectsRepeats(): boolean {
    return this.#idempotencyGuard.detectsRepeats;
  }

  /**
   * Stores a push, unless the caller has sent the same body to the same path a short while ago: then its answer was lost.
   * @throws Refusal as `accept`.
   */
  async acceptUnlessRepeated(actor: Actor, push: SensorPush, body: PushedBody): Promise<void> {
    const device = await this.#directory.get(push.device);
    const sensor = this.resolve(actor, device, push.sensor).sensor.key;
    const { key: caller } = actor.caller;
    const first = (receipt: PushReceipt) => this.#store(actor, { device, push, receipt });
    return this.#idempotencyGuard.runUnkeyed({ caller, sensor, body, first, again: () => {} });
  }

  /** Stores a push with its receipt. The sensor is looked for again: it may have gone while the receipt was asked for. */
  async #store(
    actor: Actor,
    { device, push, receipt }: { readonly device: Device; readonly push: SensorPush; readonly receipt: PushReceipt },
  ): Promise<void> {
    const sensorRef = this.resolve(actor, device, push.sensor);
    const pushes = [new Push(sensorRef, push.readings, this.#clock.now(), push)];
    await this.#writer.append({ caller: actor.caller, pushes, receipt });
  }

  #append(actor: Actor, device: Device, push: SensorPush, done: AppendCallback): void {
    let sensorRef: SensorRef;
    try {
      sensorRef = this.resolve(actor, device, push.sensor);
    } catch (error) {
      done(error);
      return;
    }
    if (push.readings.length === 0 && push.isInLine !== true) done();
    else {
      const pushes = [new Push(sensorRef, push.readings, this.#clock.now(), push)];
      this.#writer.submit({ caller: actor.caller, pushes }, done);
    }
  }

  /**
   * Finds the sensor of a push and checks permission and quota.
   * @throws Refusal `not-found`, `forbidden`, `quota`, `too-many`.
   */
  resolve(actor: Actor, device: Device, sensorId: SensorId): SensorRef {
    this.#permissions.require(actor, device, scope.dataCreate);
    const sensor = device.sensors.get(sensorId);
    if (sensor === undefined || this.#directory.isLeaving(device.id, sensor.id)) {
      throw new Refusal('not-found', `${titleOf(device)} has no sensor ${sensorId}.`);
    }
    const charge = this.#charges.of(actor, device);
    const refusal = this.#charges.refusalOf(charge, actor.caller);
    if (refusal !== undefined) throw refusal;
    return { device, sensor, charge };
  }
}

/** A sensor that the actor may push to. */
export interface SensorRef {
  readonly device: Device;
  readonly sensor: Sensor;
  readonly charge: PushCharge;
}
