// Makes all stores of the registry over one `Registry`, for every engine that has SQL.
import type { Clock } from '../../../base/time/clock.ts';
import type { RegistryStores } from '../../../domain/ports/registry-stores.ts';
import { SqlDeviceStore } from './device-store.ts';
import { SqlDropStore } from './drop-store.ts';
import { SqlGatewayStore } from './gateway-store.ts';
import { SqlHandoverStore } from './handover-store.ts';
import { SqlKeyStore } from './key-store.ts';
import { SqlMessageStore } from './message-store.ts';
import { SqlNotificationStore } from './notification-store.ts';
import { SqlProjectStore } from './project-store.ts';
import { SqlProtectedRecordStore } from './protected-record-store.ts';
import { SqlQuotaStore } from './quota-store.ts';
import { SqlRefreshSessionStore } from './refresh-session-store.ts';
import type { Registry } from './registry.ts';
import { SqlRetentionStore } from './retention-store.ts';
import { SqlSecretStore } from './secret-store.ts';
import { SqlSettingStore } from './setting-store.ts';
import { SqlUserStore } from './user-store.ts';
import { SqlWatchStore } from './watch-store.ts';

export function sqlStores(registry: Registry, clock: Clock): RegistryStores {
  return {
    devices: new SqlDeviceStore(registry),
    drops: new SqlDropStore(registry),
    gateways: new SqlGatewayStore(registry),
    handovers: new SqlHandoverStore(registry),
    keys: new SqlKeyStore(registry),
    messages: new SqlMessageStore(registry),
    notifications: new SqlNotificationStore(registry),
    projects: new SqlProjectStore(registry),
    protectedRecords: new SqlProtectedRecordStore(registry),
    quotas: new SqlQuotaStore(registry, clock),
    refreshSessions: new SqlRefreshSessionStore(registry),
    retention: new SqlRetentionStore(registry),
    secrets: new SqlSecretStore(registry),
    settings: new SqlSettingStore(registry),
    users: new SqlUserStore(registry),
    watch: new SqlWatchStore(registry),
  };
}
