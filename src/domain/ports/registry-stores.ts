// The stores of the registry, one for each noun of the domain. Each interface is in the folder of its noun; an engine
// provides one store for each. Their SQL is the same text for every engine (engines/shared/registry).
import type { AccountLinkStore } from '../accounts/account-link-store.ts';
import type { RefreshSessionStore } from '../accounts/refresh-session-store.ts';
import type { ActuatorSettingStore } from '../actuators/actuator-setting-store.ts';
import type { AlarmStore } from '../alarms/alarm-store.ts';
import type { RetentionStore } from '../datapoints/retention-job.ts';
import type { DeviceStore } from '../devices/device-store.ts';
import type { DropStore } from '../devices/drop-log.ts';
import type { FormerIdStore } from '../devices/former-ids/former-id-store.ts';
import type { HandoverStore } from '../devices/handover-store.ts';
import type { RecordShareStore } from '../devices/record-share-store.ts';
import type { GatewayStore } from '../gateways/gateway-store.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { MessageStore } from '../notifications/outbox/message-store.ts';
import type { NotificationStore } from '../notifications/rules/notification-store.ts';
import type { WatchStore } from '../notifications/watching/watch-store.ts';
import type { ProtectedRecordStore } from '../permissions/permission-queries.ts';
import type { ProjectStore } from '../projects/project-store.ts';
import type { QuotaStore } from '../quotas/quota-store.ts';
import type { SecretStore } from '../settings/secret-store.ts';
import type { SettingStore } from '../settings/setting-store.ts';
import type { UserStore } from '../users/user-store.ts';

export interface RegistryStores {
  readonly accountLinks: AccountLinkStore;
  readonly actuatorSettings: ActuatorSettingStore;
  readonly alarms: AlarmStore;
  readonly devices: DeviceStore;
  readonly drops: DropStore;
  readonly gateways: GatewayStore;
  readonly formerIds: FormerIdStore;
  readonly handovers: HandoverStore;
  readonly keys: KeyStore;
  readonly messages: MessageStore;
  readonly notifications: NotificationStore;
  readonly projects: ProjectStore;
  readonly protectedRecords: ProtectedRecordStore;
  readonly quotas: QuotaStore;
  readonly recordShares: RecordShareStore;
  readonly refreshSessions: RefreshSessionStore;
  readonly retention: RetentionStore;
  readonly secrets: SecretStore;
  readonly settings: SettingStore;
  readonly users: UserStore;
  /** Rules, their states and the position of the watcher. */
  readonly watch: WatchStore;
}
