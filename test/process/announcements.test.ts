// A change that one process has acknowledged holds in all of them: nothing that it forbids passes anywhere, though the
// others held in memory what was before.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import type { DeviceDraft } from '../../src/domain/devices/device.ts';
import { scope } from '../../src/domain/scopes.ts';
import type { SessionRevocation } from '../../src/domain/users/session-revocation.ts';
import type { Actor } from '../../src/domain/users/user.ts';
import { type JoinedProcess, SeveralProcesses } from '../support/several-processes.ts';
import { until } from '../support/until.ts';

let processes: SeveralProcesses;
let first: JoinedProcess;
let second: JoinedProcess;

const device: DeviceDraft = {
  id: 'd',
  visibility: 'private',
  sensors: [{ id: 'T', kindName: 'sensor_kind' }],
  actuators: [],
};
const address = '127.0.0.1';
const password = 'quite a long password';

beforeEach(async () => {
  processes = await SeveralProcesses.open();
  first = await processes.join();
  second = await processes.join();
  await first.services.devices.create(first.admin, device);
});
afterEach(() => processes.close());

function push({ services }: JoinedProcess, actor: Actor, value = 1): Promise<void> {
  return services.ingest.accept(actor, { device: 'd', sensor: 'T', readings: [{ value, timestampMs: Number.NaN }] });
}

/** A new user, as the process knows them. */
async function makeUser(username: string): Promise<Actor> {
  await first.services.accounts.create(first.admin, { username, password, admin: false }, address);
  return actorIn(second, username);
}

async function actorIn({ users }: JoinedProcess, username: string): Promise<Actor> {
  return users.actorOf(await users.getByName(username));
}

test('a share that was withdrawn permits nothing in another process', async () => {
  const ana = await makeUser('ana');
  await first.services.devices.share(first.admin, 'd', 'ana', scope.dataCreate);
  await push(second, ana);
  await first.services.devices.share(first.admin, 'd', 'ana', 0);
  await assert.rejects(push(second, ana), { code: 'forbidden' });
});

test('a sensor and a device that were removed are gone in another process', async () => {
  await push(second, second.admin);
  await first.services.sensors.remove(first.admin, 'd', 'T');
  await assert.rejects(push(second, second.admin), { code: 'not-found' });
  await first.services.devices.remove(first.admin, 'd');
  await assert.rejects(second.services.devices.get(second.admin, 'd'), { code: 'not-found' });
});

test('while one process removes a sensor, another accepts nothing for it', async () => {
  await push(second, second.admin);
  const { promise, resolve } = Promise.withResolvers<void>();
  const leaving = first.directory.leave({ device: 'd', sensor: 'T' }, () => promise);
  await until(() => second.directory.isLeaving('d', 'T'));
  await assert.rejects(push(second, second.admin), { code: 'not-found' });
  resolve();
  await leaving;
  // The removal did nothing, so the sensor is as before.
  await push(second, second.admin);
});

test('a key that was revoked is good nowhere', async () => {
  const ana = await makeUser('ana');
  const { id, key } = await second.services.keys.create(ana, { name: 'k' });
  await second.services.keys.verify(key);
  const before = second.services.keys.changes;
  await first.services.keys.remove(await actorIn(first, 'ana'), id);
  await assert.rejects(second.services.keys.verify(key), { code: 'unauthenticated' });
  assert.ok(second.services.keys.changes > before);
});

test('a new password ends sign-ins everywhere, and is asked for everywhere', async () => {
  const ana = await makeUser('ana');
  const ended: SessionRevocation[] = [];
  second.revocations.subscribe(async (revocation) => void ended.push(revocation));
  await second.services.logins.verify({ username: 'ana', password, address });
  await first.services.accounts.setPassword(first.admin, ana.userId, { password: `${password} 2` }, address);
  assert.deepEqual(
    ended.map(({ username, withKeys }) => ({ username, withKeys })),
    [{ username: 'ana', withKeys: true }],
  );
  const again = second.services.logins.verify({ username: 'ana', password, address });
  await assert.rejects(again, { code: 'unauthenticated' });
});

test('a user who was removed is found nowhere, and one who was created everywhere', async () => {
  assert.equal(await second.users.findByName('ana'), undefined);
  const ana = await makeUser('ana');
  assert.equal(ana.username, 'ana');
  await first.services.removals.remove(first.admin, ana.userId, {});
  assert.equal(await second.users.findByName('ana'), undefined);
});

test('guest access is chosen for all processes', async () => {
  await first.services.guestAccess.set(first.admin, 'none');
  assert.equal(second.permissions.guestAccess, 'none');
  assert.equal(second.services.guestAccess.get(second.admin).isAnswered, true);
});

test('a gateway is as it was changed last, whoever changed it', async () => {
  await second.services.gateways.create(second.admin, { id: 'g', visibility: 'public' });
  assert.equal((await second.services.gateways.find('g'))?.visibility, 'public');
  await first.services.gateways.update(first.admin, 'g', { visibility: 'private' });
  assert.equal((await second.services.gateways.find('g'))?.visibility, 'private');
});

test('a refresh session that was ended is off everywhere', async () => {
  const ana = await makeUser('ana');
  const user = await second.users.getByName('ana');
  const { id } = await second.services.refreshSessions.begin(user, { agent: undefined, address });
  assert.equal(await second.services.refreshSessions.isOn(id), true);
  await first.services.refreshSessions.remove(first.admin, ana.userId, id);
  assert.equal(await second.services.refreshSessions.isOn(id), false);
});

test('the process that evaluates takes in rules of others, and sends what others have to send', async () => {
  const action = { usernames: ['admin'], channels: ['email'], message: 'hot' };
  const condition = { devices: ['d'], sensors: ['T'], expression: 'T>1' };
  const fields = { condition, action, status: 'active', throttlingS: 0 } as const;
  const id = await second.services.notifications.create(second.admin, fields);
  await push(first, first.admin, 5);
  await until(() => processes.sent.length === 1);
  await second.services.notifications.setStatus(second.admin, id, 'inactive');
  await push(first, first.admin, 6);
  await first.rules.watcher.idle();
  await second.services.messages.send(second.admin, { usernames: ['admin'], channels: ['email'], text: 'by hand' });
  await until(() => processes.sent.length === 2);
  assert.deepEqual(
    processes.sent.map(({ text }) => text),
    ['hot', 'by hand'],
  );
});

test('failed sign-ins at one process slow down those at another', async () => {
  const wrong = { username: 'admin', password: 'wrong', address };
  for (let n = 0; n < limits.loginFailuresMax; n++) {
    const { logins } = (n % 2 === 0 ? first : second).services;
    await assert.rejects(logins.verify(wrong), { code: 'unauthenticated' });
  }
  for (const { services } of [first, second]) await assert.rejects(services.logins.verify(wrong), { code: 'too-many' });
  // From another address it is as before.
  await assert.rejects(second.services.logins.verify({ ...wrong, address: '127.0.0.2' }), { code: 'unauthenticated' });
});

test('a client id is let go of by the process that serves it', async () => {
  const letGo: unknown[] = [];
  second.clientIds.follow({ holdersOf: () => [], letGo: async (...of) => void letGo.push(of) });
  await first.clientIds.takeOver('c1', first.admin.key);
  assert.deepEqual(letGo, [['c1', first.admin.key]]);
});

test('no gateway is declared under the client id of somebody else at another process', async () => {
  const ana = await makeUser('ana');
  second.clientIds.follow({ holdersOf: (id) => (id === 'taken' ? [ana.key] : []), letGo: async () => {} });
  const declare = (actor: Actor, id: string) => first.services.gateways.create(actor, { id, visibility: 'private' });
  await assert.rejects(declare(first.admin, 'taken'), { code: 'exists' });
  assert.equal(await second.services.gateways.find('taken'), undefined);
  await declare(first.admin, 'free');
  await declare(await actorIn(first, 'ana'), 'taken');
});

test('while one process declares a gateway, nobody else connects under its id at another', async () => {
  const ana = await makeUser('ana');
  await second.clientIds.declare('g', ana.key, async () => {
    await assert.rejects(first.clientIds.takeOver('g', first.admin.key), { code: 'exists' });
    await assert.rejects(first.clientIds.declare('g', first.admin.key, assert.fail), { code: 'exists' });
    await first.clientIds.takeOver('g', ana.key);
  });
  await first.clientIds.takeOver('g', first.admin.key);
});

test('of the last two admins, demoted at two processes at once, one stays', async () => {
  await first.services.accounts.create(first.admin, { username: 'ana', password, admin: true }, address);
  const ana = await actorIn(second, 'ana');
  const origin = { address, language: 'en' } as const;
  const demotions = await Promise.allSettled([
    first.services.accounts.update(first.admin, ana.userId, { admin: false }, origin),
    second.services.accounts.update(ana, first.admin.userId, { admin: false }, origin),
  ]);
  assert.equal(demotions.filter(({ status }) => status === 'fulfilled').length, 1);
});
