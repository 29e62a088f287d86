// The tables of the registry for Kysely's types. JSON columns are text; times are milliseconds since 1970 UTC.
import type { ColumnType, Generated } from 'kysely';

export interface UserTable {
  key: Generated<number>;
  id: string;
  username: string;
  /** The name in lower case and normal form (foldName), for look-ups regardless of case. */
  folded: string;
  /** The skeleton of the name (likenessOf), of its folded form and of the form shown. */
  skeleton: string;
  skeleton_shown: string;
  /** The profile fields of spec 2.6 as JSON. */
  profile: string;
  admin: number;
  created_time: number;
  /** PHC string; null: no sign-in by password. */
  password_hash: string | null;
  password_version: Generated<number>;
  /** Version of the user's webhook key; 0: the earlier key, derived from the name. */
  webhook_version: Generated<number>;
  /** When that key was last rotated, in milliseconds since 1970 UTC. */
  webhook_rotated: number | null;
  /** Paid messages a day; null: only the setting caps them. */
  sms_credit: ColumnType<number | null, number | null | undefined, number | null>;
  /** The e-mail address that the user has confirmed. */
  email_confirmed: string | null;
}

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

export interface SecretTable {
  name: string;
  value: Uint8Array;
}

export interface SettingTable {
  name: string;
  value: string;
}

export interface ApiKeyTable {
  key: Generated<number>;
  id: string;
  user: number;
  /** Hash of the key, which itself is not stored. */
  hash: string;
  name: string;
  /** JSON arrays; null where none were named. */
  scopes: string | null;
  devices: string | null;
  date_created: number;
  expires: number | null;
}

export interface ApiKeyUseTable {
  api_key: number;
  at: number;
}

export interface RefreshSessionTable {
  key: Generated<number>;
  /** Shown to the user; can only be used to end the session. */
  id: string;
  /** Hash of the constant part of the cookie, which itself is not stored. */
  family: string;
  /** Hashes of the present whole cookie, and of the one before its last use. */
  hash: string;
  previous: string | null;
  user: number;
  password_version: number;
  date_created: number;
  last_used: number;
  /** When it ends unless it is used again; each use moves this on. */
  expires: number;
  /** When it ends even if it has been used until then. */
  ends: number;
  agent: string | null;
  address: string | null;
}

export interface AccountLinkTable {
  key: Generated<number>;
  /** Hash of the secret, which itself is not stored. */
  hash: string;
  user: number;
  /** `reset` or `confirm`. */
  purpose: string;
  /** Where it was sent. */
  email: string;
  date_created: number;
  expires: number;
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

export interface NotificationTable {
  key: Generated<number>;
  id: string;
  author: number;
  description: string | null;
  /** As JSON, as the client sent it. */
  condition: string;
  action: string;
  status: string;
  throttling: number;
  expires: number | null;
  times_sent: Generated<number>;
  last_notification: number | null;
  last_success: number | null;
  last_success_code: number | null;
  last_failure: number | null;
  last_failure_code: number | null;
  last_failure_reason: string | null;
  /** Datapoints up to this seq are ignored. */
  after_seq: Generated<number>;
  /** Since when the rule is evaluated in its present form. */
  watched_since: Generated<number>;
  hysteresis: string | null;
  /** Seconds; the API calls it `for`. */
  hold: number | null;
  /** Seconds. */
  silence: number | null;
  recovery_message: string | null;
}

export interface NotificationMemoryTable {
  notification: number;
  device: string;
  memory: string;
}

export interface MessageTable {
  key: Generated<number>;
  id: string;
  author: number;
  notification: number | null;
  seq: number | null;
  created: number;
  username: string;
  channel: string;
  text: string;
  state: string;
  reason: string | null;
  code: string | null;
  attempts: Generated<number>;
  due: number;
  finished: number | null;
  /** 1: for a user who was removed since. */
  former: Generated<number>;
  /** What it is about, as JSON; null: its channel does not carry that. */
  occasion: string | null;
}

export interface PaidMessageTable {
  day: number;
  user: number;
  count: number;
}

/**
 * What each user has of each kind of quota; counted by triggers (migration 0017), for MQTT and datapoints by the code
 * that stores them.
 */
export interface UsageTable {
  user: number;
  devices: number;
  sensors: number;
  gateways: number;
  projects: number;
  rules: number;
  keys: number;
  description_bytes: number;
  datapoint_bytes: number;
  mqtt_sessions: number;
  mqtt_session_bytes: number;
  retained_bytes: number;
  /** Days since 1970 UTC, and the datapoints pushed on that day. */
  day: number;
  day_datapoints: number;
}

export interface QuotaDefaultTable {
  /** `guest`, `user` or `admin`. */
  class: string;
  kind: string;
  /** null: no bound. */
  max: number | null;
}

export interface QuotaExceptionTable {
  user: number;
  kind: string;
  /** null: no bound. */
  max: number | null;
}

/** A view: the limits that apply to each user. */
export interface QuotaTable extends QuotaExceptionTable {
  is_exception: number;
}

export interface GrowthTable {
  /** 0: the data may not grow. */
  allowed: number;
}

/** What each user has pushed to each device, counted for quotas. */
export interface PushChargeTable {
  device: number;
  user: number;
  /** 1: the user could push only because the device is public. */
  stranger: number;
  datapoints: number;
  bytes: number;
}

export interface Tables {
  push_charge: PushChargeTable;
  usage: UsageTable;
  quota_default: QuotaDefaultTable;
  quota_exception: QuotaExceptionTable;
  quota: QuotaTable;
  growth: GrowthTable;
  user: UserTable;
  device: DeviceTable;
  sensor: SensorTable;
  actuator: ActuatorTable;
  former_device_id: FormerDeviceIdTable;
  former_sensor_id: FormerSensorIdTable;
  actuator_setting: ActuatorSettingTable;
  share: ShareTable;
  gateway_share: RecordShareTable;
  project_share: RecordShareTable;
  project_device: ProjectDeviceTable;
  gateway: GatewayTable;
  project: ProjectTable;
  drop_log: DropTable;
  secret: SecretTable;
  setting: SettingTable;
  api_key: ApiKeyTable;
  api_key_use: ApiKeyUseTable;
  refresh_session: RefreshSessionTable;
  account_link: AccountLinkTable;
  handover: HandoverTable;
  purge: PurgeTable;
  notification: NotificationTable;
  notification_memory: NotificationMemoryTable;
  message: MessageTable;
  paid_message: PaidMessageTable;
}
