// `dundun user add|list|password|webhook-key|import`: manages accounts, whether a server is running or not.

import { randomIds } from '../base/ids.ts';
import { systemClock } from '../base/time/clock.ts';
import { Callers } from '../domain/callers/callers.ts';
import { Passwords } from '../domain/users/passwords.ts';
import { changedProfile } from '../domain/users/profile.ts';
import type { User } from '../domain/users/user.ts';
import { Users } from '../domain/users/users.ts';
import { previousGoodUntilMs } from '../domain/users/webhook-keys.ts';
import { openStores } from '../engines/open.ts';
import { askPassword } from './ask-password.ts';
import { fail, readConfig } from './read-config.ts';
import { importUsers } from './user-import.ts';

interface AddOptions {
  readonly admin?: true;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly phone?: string[];
  readonly passwordStdin?: true;
}

export async function addUser(username: string, options: AddOptions): Promise<void> {
  const { admin = false, passwordStdin, ...profile } = options;
  await withUsers(async (users) => {
    const password = await readPassword(passwordStdin);
    const user = await users.create({ ...changedProfile({}, profile), username, password, admin });
    console.log(`Made the account ${user.username}${user.admin ? ' (admin)' : ''} with id ${user.id}.`);
  });
}

export async function listUsers(options: { readonly json?: true }): Promise<void> {
  await withUsers(async (users) => {
    for (let after: User | undefined; ; ) {
      const page: readonly User[] = await users.list({ limit: pageSize, offset: 0, after });
      for (const { id, username, admin, createdTime } of page) {
        const made = new Date(createdTime).toISOString();
        console.log(
          options.json
            ? JSON.stringify({ id, username, admin, createdTime })
            : `${username.padEnd(24)} ${admin ? 'admin' : 'user '}  ${made}  ${id}`,
        );
      }
      if (page.length < pageSize) return;
      after = page.at(-1);
    }
  });
}

export async function setPassword(username: string, options: { readonly passwordStdin?: true }): Promise<void> {
  await withUsers(async (users) => {
    await users.getByName(username);
    await users.setPassword(username, await readPassword(options.passwordStdin), { endKeys: true });
    console.log(`The password of ${username} is set; tokens and API keys made before are no longer good.`);
  });
}

export async function rotateWebhookKey(username: string): Promise<void> {
  await withUsers(async (users) => {
    const user = await users.rotateWebhookKey(await users.getByName(username));
    const until = new Date(previousGoodUntilMs(user) ?? 0).toISOString();
    console.log(
      `The webhooks of ${username} have a new key, shown in the profile; the one before is good until ${until}.`,
    );
  });
}

export async function importFile(file: string, options: { readonly dryRun?: true }): Promise<void> {
  const importAll = async (users: Users) => {
    const refused = await importUsers(file, {
      users,
      dryRun: options.dryRun === true,
      print: (line) => console.log(line),
    });
    if (refused > 0) process.exitCode = 1;
  };
  // Imported accounts may have common passwords from elsewhere.
  await withUsers(importAll, { allowCommon: true });
}

const pageSize = 500;

/** @param options `allowCommon`: accepts common passwords even where the settings refuse them. */
async function withUsers(work: (users: Users) => Promise<void>, { allowCommon = false } = {}): Promise<void> {
  const { config } = readConfig();
  const common = allowCommon ? 'allow' : config.commonPasswords;
  try {
    const { stores, coordination, close } = await openStores(config);
    const passwords = new Passwords({ ids: randomIds, lengthMin: config.passwordLengthMin, common });
    const parts = { store: stores.users, passwords, clock: systemClock, ids: randomIds };
    const users = new Users({ ...parts, coordination, callers: new Callers() });
    await work(users);
    await close();
  } catch (error) {
    fail(error);
  }
}

function readPassword(fromStdin: true | undefined): Promise<string> {
  return askPassword({ fromStdin: fromStdin === true || !process.stdin.isTTY });
}
