// The users of the tests, created directly in the data folder as the command line does. All have the same password
// hash, of the least cost there is: one of the usual cost takes tens of milliseconds, at every sign-in again.
import { argon2Sync } from 'node:crypto';
import { randomIds } from '../../src/base/ids.ts';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import { Callers } from '../../src/domain/callers/callers.ts';
import { Passwords } from '../../src/domain/users/passwords.ts';
import { Users } from '../../src/domain/users/users.ts';
import { SqlUserStore } from '../../src/engines/shared/registry/accounts/user-store.ts';
import { layData, openRegistryOf } from './data.ts';

/** Who calls: a user by name, or `guest`, which sends no token. */
export type As = string;

/** The password of everybody who is not given another. */
export const password = 'talking drum';

/** Those that every test server knows, beside guest. */
const people = ['admin', 'owner', 'stranger', 'sharer'] as const;

const passwords = new Passwords({ ids: randomIds, lengthMin: 8 });
const sharedHash = cheapHash();

function cheapHash(): string {
  const nonce = randomIds.bytes(16);
  const cost = { memory: 8, passes: 1, parallelism: 1 };
  const tag = argon2Sync('argon2id', { message: password, nonce, tagLength: 32, ...cost });
  const [salt, hash] = [nonce, tag].map((bytes) => Buffer.from(bytes).toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${salt}$${hash}`;
}

/** Lays a database with `people` into a new folder. They are the same users, made once, in all folders of a process. */
export async function layPeople(folder: string, clock: Clock): Promise<void> {
  await layData(folder, 'people', (made) => addUsers(made, people, clock));
}

/** Makes users with the shared password; `admin` in the name's place makes an admin. */
export async function addUsers(folder: string, names: readonly string[], clock: Clock): Promise<void> {
  const { registry, close } = await openRegistryOf(folder);
  const store = new SqlUserStore(registry);
  for (const username of names) {
    const admin = username.startsWith('admin');
    await store.create({ id: randomIds.uuid(), username, admin, createdTime: clock.now(), passwordHash: sharedHash });
  }
  await close();
}

/** Sets a new password beside a running server, as `dundun user password` does. */
export async function setPassword(folder: string, username: string, newPassword: string): Promise<void> {
  const { registry, close } = await openRegistryOf(folder);
  const store = new SqlUserStore(registry);
  await new Users({
    store,
    passwords,
    clock: systemClock,
    ids: randomIds,
    callers: new Callers(),
    coordination: { announce: async () => {} },
  }).setPassword(username, newPassword);
  await close();
}

/** Takes a user out of the registry, who must own nothing. */
export async function removeUser(folder: string, username: string): Promise<void> {
  const { registry, close } = await openRegistryOf(folder);
  await registry.write([registry.read.deleteFrom('user').where('username', '=', username)]);
  await close();
}

/** Makes a user an admin, or takes it away. */
export async function setAdmin(folder: string, username: string, admin: boolean): Promise<void> {
  const { registry, close } = await openRegistryOf(folder);
  const admins = registry.read.updateTable('user').set({ admin: Number(admin) });
  await registry.write([admins.where('username', '=', username)]);
  await close();
}
