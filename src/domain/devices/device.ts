// A device (spec 2.1): its own fields, its sensors and actuators, and who it is shared with.
// Held whole in memory by the directory, because ingest and access checks need all of it.
import type { Json } from '../../base/text/json.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { PushCharge } from '../quotas/push-charge.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { Actuator, ActuatorDraft, ActuatorId } from './actuator.ts';
import type { Sensor, SensorDraft, SensorId } from './sensor.ts';

export type DeviceId = string & { readonly __brand?: 'DeviceId' };

export interface DeviceFields {
  readonly gatewayId?: string;
  readonly name?: string;
  readonly domain?: string;
  readonly visibility: Visibility;
  /** `{latitude, longitude, …}` in degrees, as it was given. */
  readonly location?: Json;
  readonly meta?: Json;
  readonly deployed?: boolean;
  /** For how many days datapoints are kept; 0: for ever; absent: as the service is set. */
  readonly retentionDays?: number;
}

/** What somebody asks to be created. */
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
  /** What each user this device is shared with may do. */
  readonly shares: ReadonlyMap<UserKey, ScopeSet>;
  /** What pushes to it are charged to, kept here by quotas/push-charges.ts, so that a push looks up nothing. */
  lastCharge?: PushCharge | undefined;
  charges?: Map<UserKey, PushCharge> | undefined;
}

/** A change of a device's own fields; a field set to undefined is taken away. */
export type DeviceChange = { readonly [F in keyof DeviceFields]?: DeviceFields[F] | undefined };
