// The tables of the registry for Kysely's types; those of devices are in devices/device-tables.ts. JSON columns are text; times are milliseconds since 1970 UTC.
import type { ColumnType, Generated } from 'kysely';
import type {
  ActuatorSettingTable,
  ActuatorTable,
  DeviceTable,
  DropTable,
  FormerDeviceIdTable,
  FormerSensorIdTable,
  GatewayTable,
  HandoverTable,
  ProjectDeviceTable,
  ProjectTable,
  PurgeTable,
  RecordShareTable,
  SensorTable,
  ShareTable,
} from './devices/device-tables.ts';

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

/** What is or was wrong with a device, a gateway or the storage. */
export interface AlarmTable {
  key: Generated<number>;
  id: string;
  /** `rule`, `silence`, `gateway` or `storage`. */
  kind: string;
  /** What it is about; of one subject at most one alarm is open. */
  subject: string;
  /** The user whom the row counts for; null: the service. */
  keeper: number | null;
  /** Set where only the author of the rule, and admins, see it. */
  author: number | null;
  notification: number | null;
  device: number | null;
  sensor: number | null;
  gateway: number | null;
  since: number;
  cleared: number | null;
  times: number;
  /** As JSON. */
  value: string | null;
  condition: string | null;
  /** A number as text. */
  threshold: string | null;
  /** Seconds. */
  usual: number | null;
  acknowledged: number | null;
  acknowledged_by: number | null;
  note: string | null;
  snoozed: number | null;
  assignee: number | null;
  /** The count of changes at its last change. */
  changed: number;
}

/** Counters of the service by name. */
export interface CounterTable {
  name: string;
  value: number;
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
  alarm: AlarmTable;
  counter: CounterTable;
  paid_message: PaidMessageTable;
}
