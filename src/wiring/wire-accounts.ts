// Wires accounts, sign-in and API keys. Called by wire-domain.ts alone.

import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { Config } from '../config/config.ts';
import { mailsLinks } from '../config/provider-settings.ts';
import type { AccountLinks } from '../domain/accounts/account-links.ts';
import type { AccountMailOutbox } from '../domain/accounts/account-mail.ts';
import { AccountMailLimits } from '../domain/accounts/account-mail-limits.ts';
import { AccountRemovals } from '../domain/accounts/account-removals.ts';
import { Accounts } from '../domain/accounts/accounts.ts';
import { CurrentPassword } from '../domain/accounts/current-password.ts';
import { EmailConfirmations } from '../domain/accounts/email-confirmations.ts';
import { LastAdmin } from '../domain/accounts/last-admin.ts';
import { PasswordResets } from '../domain/accounts/password-resets.ts';
import { RefreshSessions } from '../domain/accounts/refresh-sessions.ts';
import { Registrations } from '../domain/accounts/registrations.ts';
import type { Callers } from '../domain/callers/callers.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { Devices } from '../domain/devices/devices.ts';
import { Handovers } from '../domain/devices/handovers.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import { Keys } from '../domain/keys/keys.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Engine } from '../domain/ports/engine.ts';
import { ClockConfirmation } from '../domain/settings/clock-confirmation.ts';
import { GuestAccessSetting } from '../domain/settings/guest-access.ts';
import { Logins } from '../domain/users/logins.ts';
import type { Passwords } from '../domain/users/passwords.ts';
import type { SessionRevocations } from '../domain/users/session-revocations.ts';
import type { User } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { WebhookKeys } from '../domain/users/webhook-keys.ts';

export function wireAccounts(parts: {
  readonly config: Config;
  readonly callers: Callers;
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly ids: Ids;
  readonly engine: Engine;
  readonly permissions: Permissions;
  readonly passwords: Passwords;
  readonly users: Users;
  readonly devices: Devices;
  readonly gateways: Gateways;
  readonly revocations: SessionRevocations;
  readonly directory: DeviceDirectory;
  readonly rotationKey: Uint8Array;
  readonly webhookKeys: WebhookKeys;
  readonly guest: User;
  readonly log: Log;
  readonly links: AccountLinks;
  readonly mails: AccountMailOutbox;
}) {
  const { config, clock, permissions, clocks } = parts;
  const expiring = { ...parts, clock: clocks.forExpiry };
  const { stores, coordination } = parts.engine;
  const logins = new Logins({ ...parts, counts: coordination.counts });
  const { selfRegistration } = config;
  const registrations = new Registrations({ clock, counts: coordination.counts });
  const keys = new Keys({ ...expiring, coordination, store: stores.keys });
  const onKeysChanged = () => keys.changed();
  const handovers = new Handovers({ ...parts, ages: clocks.forAge, store: stores.handovers, onKeysChanged });
  const mailing = {
    ...parts,
    mailLimits: new AccountMailLimits({ clock, counts: coordination.counts }),
    mailsAreOn: mailsLinks(config),
    clock: clocks.forExpiry,
  };
  const confirmations = new EmailConfirmations(mailing);
  const guards = { lastAdmin: new LastAdmin({ store: stores.users }), current: new CurrentPassword({ logins }) };
  const managing = { ...parts, ...guards, store: stores.users, keys, handovers, registrations, confirmations };
  return {
    confirmations,
    passwordResets: new PasswordResets({ ...mailing, store: stores.users, keys }),
    logins,
    keys,
    handovers,
    accounts: new Accounts({ ...managing, selfRegistration }),
    removals: new AccountRemovals(managing),
    guestAccess: new GuestAccessSetting({
      ...parts,
      coordination,
      store: stores.settings,
      fixed: config.guestAccess,
    }),
    clockConfirmation: new ClockConfirmation({ permissions, clocks }),
    refreshSessions: new RefreshSessions({
      ...expiring,
      ages: clocks.forAge,
      coordination,
      store: stores.refreshSessions,
    }),
  };
}
