// Wires who may sign in, and how. Called by server.ts alone.
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Config } from '../config/config.ts';
import type { Devices } from '../domain/devices/devices.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import { Keys } from '../domain/keys/keys.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import { Accounts } from '../domain/users/accounts.ts';
import type { Endings } from '../domain/users/endings.ts';
import { Logins } from '../domain/users/logins.ts';
import type { Passwords } from '../domain/users/passwords.ts';
import { Registrations } from '../domain/users/registrations.ts';
import { Renewals } from '../domain/users/renewals.ts';
import type { Users } from '../domain/users/users.ts';
import type { WebhookKeys } from '../domain/users/webhook-keys.ts';
import { SqlKeyStore } from '../storage/sql/key-store.ts';
import { SqlRenewalStore } from '../storage/sql/renewal-store.ts';
import type { SqlUserStore } from '../storage/sql/user-store.ts';
import type { EmbeddedStore } from '../storage/sqlite/open.ts';

export function wireAccounts(parts: {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: EmbeddedStore;
  readonly permissions: Permissions;
  readonly passwords: Passwords;
  readonly users: Users;
  readonly userStore: SqlUserStore;
  readonly devices: Devices;
  readonly gateways: Gateways;
  readonly endings: Endings;
  readonly webhookKeys: WebhookKeys;
}) {
  const { config, clock, store, userStore } = parts;
  const logins = new Logins(parts);
  const { selfRegistration } = config;
  const registrations = new Registrations({ clock });
  return {
    logins,
    accounts: new Accounts({ ...parts, store: userStore, logins, registrations, selfRegistration }),
    keys: new Keys({ ...parts, store: new SqlKeyStore(store.registry) }),
    renewals: new Renewals({ ...parts, store: new SqlRenewalStore(store.registry) }),
  };
}
