// Wires forgotten passwords and the confirmation of e-mail addresses. Called by wire-domain.ts and wire-accounts.ts.
import type { Ids } from '../base/ids.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { Config } from '../config/config.ts';
import { AccountLinks } from '../domain/accounts/account-links.ts';
import { AccountMails } from '../domain/accounts/account-mails.ts';
import type { Engine } from '../domain/ports/engine.ts';
import type { Users } from '../domain/users/users.ts';

/** Links, and the mails in which they are sent. */
export function wireAccountMails(parts: {
  readonly config: Config;
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly ids: Ids;
  readonly engine: Engine;
  readonly users: Users;
}): { readonly links: AccountLinks; readonly accountMails: AccountMails } {
  const { config, clocks, ids, users } = parts;
  const store = parts.engine.stores.accountLinks;
  const { baseUrl } = config;
  const links = new AccountLinks({ store, users, clock: clocks.forExpiry, ages: clocks.forAge, ids, baseUrl });
  return { links, accountMails: new AccountMails({ links, clock: clocks.forExpiry }) };
}
