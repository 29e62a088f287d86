// The tables of devices, gateways and projects for Kysely's types. JSON columns are text; times are milliseconds since
// 1970 UTC.
import type { Generated } from 'kysely';

export interface DeviceTable {
  key: Generated<number>;
  id: string;
  owner: number;
  visibility: string;
  gateway_id: string | null;
  name: string | null;
  domain: string | null;
  location: string | null;
  meta: string | null;
  deployed: number | null;
  retention_days: Generated<number | null>;
  date_created: number;
  date_modified: number;
}

export interface SensorTable {
  key: Generated<number>;
  device: number;
  id: string;
  name: string | null;
  kind: string | null;
  /** The field name the kind was given by: `sensing_device` or `sensor_kind`. */
  kind_name: string;
  quantity_kind: string | null;
  unit: string | null;
  calib: string | null;
  meta: string | null;
  retention_days: Generated<number | null>;
}

/** An id that a device had before. */
export interface FormerDeviceIdTable {
  id: string;
  device: number;
  /** Until when it answers, in milliseconds since 1970 UTC. */
  until: number;
}

/** An id that a sensor had before on the same device. */
export interface FormerSensorIdTable {
  device: number;
  id: string;
  sensor: number;
  /** Until when it answers, in milliseconds since 1970 UTC. */
  until: number;
}

export interface ActuatorTable {
  key: Generated<number>;
  device: number;
  id: string;
  name: string | null;
  actuator_kind: string | null;
  value_type: string | null;
  value: string | null;
  meta: string | null;
  /** Seconds. */
  valid_for: Generated<number | null>;
}

/** Values that were set for actuators. */
export interface ActuatorSettingTable {
  key: Generated<number>;
  id: string;
  device: number;
  actuator: number;
  at: number;
  /** What the row counts for in the history of its device. */
  bytes: number;
  /** `none`, `pending` or `queued`. */
  downlink: string;
  delivered: number | null;
  confirmed: number | null;
  /** Null after a handover; a user who was removed since has no row any more. */
  user: number | null;
  /** Id of the API key that was used. */
  api_key: string | null;
  door: string;
  /** Id of the rule. */
  rule: string | null;
  /** The device's answer as JSON. */
  ack: string | null;
  value: string;
}

export interface ShareTable {
  device: number;
  user: number;
  /** Bits of domain/scopes.ts. */
  scopes: number;
  /** The user who gave it; null: not known, or removed since. */
  given_by: number | null;
}

/** A share of a gateway or a project: a table for each. */
export interface RecordShareTable {
  /** The key of the gateway or project. */
  record: number;
  user: number;
  /** Bits of domain/scopes.ts. Those of devices count on devices of the record that have the same owner. */
  scopes: number;
  given_by: number | null;
}

/** A device that a project names, with the project's owner. Triggers derive it from `project.device_ids`. */
export interface ProjectDeviceTable {
  device_id: string;
  owner: number;
  project: number;
}

export interface GatewayTable {
  key: Generated<number>;
  id: string;
  owner: number;
  visibility: string;
  name: string | null;
  location: string | null;
  date_created: number;
  date_modified: number;
  last_seen: number | null;
}

export interface ProjectTable {
  key: Generated<number>;
  id: string;
  owner: number;
  name: string | null;
  /** Ids as a JSON array. */
  device_ids: string;
  gateway_ids: string;
}

export interface DropTable {
  key: Generated<number>;
  device: number;
  at: number;
  topic: string;
  username: string;
  reason: string;
}

export interface HandoverTable {
  device: number;
  /** Null where that user was removed since. */
  former: number | null;
  receiver: number;
  at: number;
  /** `[[user, scopes, given_by], …]` as JSON. */
  shares: string;
  /** Ids of API keys as a JSON array. */
  keys: string;
}

/** Removed sensors whose datapoints are still to be deleted. */
export interface PurgeTable {
  sensor: number;
}
