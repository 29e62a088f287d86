// The tables of the registry as Kysely sees them. JSON columns hold text; times are milliseconds since 1970 UTC.
import type { Generated } from 'kysely';

export interface UserTable {
  key: Generated<number>;
  id: string;
  username: string;
  /** The name by which look-alikes are found (foldName). */
  folded: string;
  /** The profile fields of spec 2.6 as JSON. */
  profile: string;
  admin: number;
  created_time: number;
  /** PHC string; null: nobody signs in with this name. */
  password_hash: string | null;
  password_version: Generated<number>;
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

export interface ActuatorTable {
  key: Generated<number>;
  device: number;
  id: string;
  name: string | null;
  actuator_kind: string | null;
  value_type: string | null;
  value: string | null;
  meta: string | null;
}

export interface ShareTable {
  device: number;
  user: number;
  /** Bits of domain/permissions/scopes.ts. */
  scopes: number;
  /** The user who gave it; null: not known, or gone since. */
  given_by: number | null;
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

export interface ApiKeyTable {
  key: Generated<number>;
  id: string;
  user: number;
  /** Of the key; the key itself is not kept. */
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

export interface RenewalTable {
  key: Generated<number>;
  /** Of the cookie; the cookie itself is not kept. */
  hash: string;
  user: number;
  password_version: number;
  expires: number;
}

export interface PurgeTable {
  sensor: number;
}

export interface NotificationTable {
  key: Generated<number>;
  id: string;
  author: number;
  description: string | null;
  /** As JSON, as given. */
  condition: string;
  action: string;
  status: string;
  throttling: number;
  expires: number | null;
  times_sent: Generated<number>;
  last_notification: number | null;
  last_success: number | null;
  last_success_code: string | null;
  last_failure: number | null;
  last_failure_code: string | null;
  last_failure_reason: string | null;
  after_seq: Generated<number>;
  watched_since: Generated<number>;
  hysteresis: string | null;
  hold: number | null;
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
}

export interface PaidMessageTable {
  day: number;
  user: number;
  count: number;
}

export interface Tables {
  user: UserTable;
  device: DeviceTable;
  sensor: SensorTable;
  actuator: ActuatorTable;
  share: ShareTable;
  gateway: GatewayTable;
  project: ProjectTable;
  drop_log: DropTable;
  secret: SecretTable;
  api_key: ApiKeyTable;
  api_key_use: ApiKeyUseTable;
  renewal: RenewalTable;
  purge: PurgeTable;
  notification: NotificationTable;
  notification_memory: NotificationMemoryTable;
  message: MessageTable;
  paid_message: PaidMessageTable;
}
