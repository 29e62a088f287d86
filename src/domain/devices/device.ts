// A device (spec 2.1) with its fields, sensors, actuators and shares. The directory holds it as one record, because
// ingest and permission checks need all of it.
import type { Json } from '../../base/text/json.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { PushCharge } from '../quotas/push-charge.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { Actuator, ActuatorDraft, ActuatorId } from './actuator.ts';
import type { FormerId } from './former-ids/former-id.ts';
import type { Sensor, SensorDraft, SensorId } from './sensor.ts';

export type DeviceId = string & { readonly __brand?: 'DeviceId' };

export interface DeviceFields {
  readonly gatewayId?: string;
  readonly name?: string;
  readonly domain?: string;
  readonly visibility: Visibility;
  /** `{latitude, longitude, …}` in degrees, as the client sent it. */
  readonly location?: Json;
  readonly meta?: Json;
  readonly deployed?: boolean;
  /** Days for which datapoints are kept; 0: for ever; absent: the service's default. */
  readonly retentionDays?: number;
}

/** A device to be created. */
export interface DeviceDraft extends Omit<DeviceFields, 'visibility'> {
  readonly id: DeviceId;
  readonly visibility?: Visibility;
  readonly sensors: readonly SensorDraft[];
  readonly actuators: readonly ActuatorDraft[];
}

export interface Device extends DeviceFields {
  readonly kind: 'device';
  readonly key: DeviceKey;
  readonly id: DeviceId;
  readonly ownerKey: UserKey;
  /** The owner's username. */
  readonly owner: string;
  /** Milliseconds since 1970 UTC. */
  readonly dateCreatedMs: number;
  readonly dateModifiedMs: number;
  readonly sensors: ReadonlyMap<SensorId, Sensor>;
  readonly actuators: ReadonlyMap<ActuatorId, Actuator>;
  /** Scopes that users have by shares of the device, of its gateway, and of projects that name it. */
  readonly shares: ReadonlyMap<UserKey, ScopeSet>;
  /** Ids that it had before, the latest first, also such as answer no longer; absent where there are none. */
  readonly formerIds?: readonly FormerId[];
  /**
   * The charge that was used last, cached by quotas/push-charges.ts so that a push needs no look-up; and charges by
   * user.
   */
  lastCharge?: PushCharge | undefined;
  charges?: Map<UserKey, PushCharge> | undefined;
}

/** A change of a device's own fields; undefined removes a field. */
export type DeviceChange = { readonly [F in keyof DeviceFields]?: DeviceFields[F] | undefined };
