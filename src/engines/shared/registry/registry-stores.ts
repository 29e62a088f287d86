// Makes all stores of the registry over one `Registry`, for every engine that has SQL.
import type { Clock } from '../../../base/time/clock.ts';
import type { RegistryStores } from '../../../domain/ports/registry-stores.ts';
import { SqlAccountLinkStore } from './accounts/account-link-store.ts';
import { SqlKeyStore } from './accounts/key-store.ts';
import { SqlQuotaStore } from './accounts/quota-store.ts';
import { SqlRefreshSessionStore } from './accounts/refresh-session-store.ts';
import { SqlSecretStore } from './accounts/secret-store.ts';
import { SqlSettingStore } from './accounts/setting-store.ts';
import { SqlUserStore } from './accounts/user-store.ts';
import { SqlActuatorSettingStore } from './devices/actuator-setting-store.ts';
import { SqlDeviceStore } from './devices/device-store.ts';
import { SqlDropStore } from './devices/drop-store.ts';
import { SqlFormerIdStore } from './devices/former-id-store.ts';
import { SqlGatewayStore } from './devices/gateway-store.ts';
import { SqlHandoverStore } from './devices/handover-store.ts';
import { SqlProjectStore } from './devices/project-store.ts';
import { SqlProtectedRecordStore } from './devices/protected-record-store.ts';
import { SqlRecordShareStore } from './devices/record-share-store.ts';
import { SqlRetentionStore } from './devices/retention-store.ts';
import { SqlAlarmStore } from './notifications/alarm-store.ts';
import { SqlMessageStore } from './notifications/message-store.ts';
import { SqlNotificationStore } from './notifications/notification-store.ts';
import { SqlWatchStore } from './notifications/watch-store.ts';
import type { Registry } from './registry.ts';

export function sqlStores(registry: Registry, clock: Clock): RegistryStores {
  return {
    accountLinks: new SqlAccountLinkStore(registry),
    actuatorSettings: new SqlActuatorSettingStore(registry),
    alarms: new SqlAlarmStore(registry),
    devices: new SqlDeviceStore(registry),
    drops: new SqlDropStore(registry),
    gateways: new SqlGatewayStore(registry),
    formerIds: new SqlFormerIdStore(registry),
    handovers: new SqlHandoverStore(registry),
    keys: new SqlKeyStore(registry),
    messages: new SqlMessageStore(registry),
    notifications: new SqlNotificationStore(registry),
    projects: new SqlProjectStore(registry),
    protectedRecords: new SqlProtectedRecordStore(registry),
    quotas: new SqlQuotaStore(registry, clock),
    recordShares: new SqlRecordShareStore(registry),
    refreshSessions: new SqlRefreshSessionStore(registry),
    retention: new SqlRetentionStore(registry),
    secrets: new SqlSecretStore(registry),
    settings: new SqlSettingStore(registry),
    users: new SqlUserStore(registry),
    watch: new SqlWatchStore(registry),
  };
}
