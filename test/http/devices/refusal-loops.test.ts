// Clients that are refused again and again (contract 2, 6): a user and address whose last calls with a token were all refused
// with 403 are slowed down with 429, logins included; one accepted call ends it, and logins that lead to accepted calls are
// not slowed down.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { CuttingProxy } from '../../support/cutting-proxy.ts';
import { password } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

let server: TestServer;
const d = '/devices/mote/sensors/s/values';

before(async () => {
  server = await TestServer.start({ DUNDUN_REFUSED_IN_ROW: '20' });
  await server.call('owner', 'POST', '/gateways', { json: { id: 'gw', visibility: 'public' } });
  const device = { id: 'mote', gateway_id: 'gw', visibility: 'private', sensors: [{ id: 's' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  await server.call('stranger', 'POST', '/devices', { json: { id: 'own', sensors: [{ id: 's' }] } });
});
after(() => server.stop());
/** Forgets what tests before have done, accepted calls too. */
beforeEach(() => server.clock.advance(16 * 60_000));

const push = (as: string, path = d, from = '127.0.0.1') => server.call(as, 'POST', path, { json: { value: 1 }, from });
const login = (username: string, from = '127.0.0.1') =>
  server.send('POST', '/api/v2/auth/token', { json: { username, password }, from });

async function refuse(times: number, from?: string): Promise<void> {
  for (let n = 0; n < times; n++) assert.equal((await push('stranger', d, from)).status, 403);
}

function assertSlowed({ status, headers, text }: Answer, seconds: number): void {
  assert.equal(status, 429, text);
  assert.equal(headers['retry-after'], String(seconds));
  assert.match(text, /stranger.*devices-data:create/s);
}

test('a gateway whose account may no longer push, and fetches a token before each call, is told to wait', async () => {
  const proxy = await CuttingProxy.open(server.running.ports.http);
  const base = `http://127.0.0.1:${proxy.port}/api/v2`;
  const headers = { 'content-type': 'application/json' };
  const statuses: number[] = [];
  // As the field has it: over and over, whatever comes; now and then the line breaks.
  for (let n = 0; n < 200; n++) {
    if (n % 40 === 7) proxy.cut();
    const body = JSON.stringify({ username: 'stranger', password });
    const signedIn = await fetch(`${base}/auth/token`, { method: 'POST', headers, body }).catch(() => undefined);
    if (signedIn === undefined) continue;
    statuses.push(signedIn.status);
    if (signedIn.status !== 200) continue;
    const authorization = `Bearer "${await signedIn.text()}"`;
    const call = { method: 'POST', headers: { ...headers, authorization }, body: '{"value":1}' };
    const pushed = await fetch(base + d, call).catch(() => undefined);
    if (pushed !== undefined) statuses.push(pushed.status);
  }
  const count = (status: number) => statuses.filter((of) => of === status).length;
  assert.ok(count(200) <= 21 && count(403) <= 20 && count(403) > 15, statuses.join());
  assert.ok(count(429) > 100, String(count(429)));
  await proxy.close();
});

test('the wait doubles with each call that is refused behind it, up to a minute', async () => {
  await refuse(20);
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    assertSlowed(await push('stranger'), seconds);
    assertSlowed(await login('stranger'), seconds);
    server.clock.advance(seconds * 1000);
    assert.equal((await login('stranger')).status, 200);
    await refuse(1);
  }
});

test('fewer, or with one in between that is not refused, slow down nothing', async () => {
  await refuse(19);
  assert.equal((await push('stranger', '/devices/own/sensors/s/values')).status, 204);
  await refuse(19);
  assert.equal((await server.call('stranger', 'GET', '/devices/none')).status, 404);
  await refuse(19);
  assert.equal((await login('stranger')).status, 200);
});

test('one accepted call ends it, also a push that takes the fast path, and also while it lasts', async () => {
  await push('stranger', '/devices/own/sensors/s/values');
  await push('stranger', '/devices/own/sensors/s/values');
  server.clock.advance(61_000);
  for (const path of ['/devices/own/sensors/s/values', '/devices/own']) {
    await refuse(20);
    assertSlowed(await push('stranger'), 1);
    const accepted = path.endsWith('values')
      ? await push('stranger', path)
      : await server.call('stranger', 'GET', path);
    assert.ok(accepted.status < 300, accepted.text);
    await refuse(19);
    assert.equal((await server.call('stranger', 'GET', '/devices/own')).status, 200);
  }
});

test('others with the same account and address, whose calls are accepted, are not slowed down', async () => {
  assert.equal((await server.call('stranger', 'GET', '/devices/own')).status, 200);
  for (let n = 0; n < 10; n++) {
    for (let loop = 0; loop < 30; loop++) assert.ok((await push('stranger')).status >= 403);
    assert.equal((await login('stranger')).status, 200);
    assert.equal((await server.call('stranger', 'GET', '/devices/own')).status, 200);
    server.clock.advance(5_000);
  }
});

test('another address and another user, and guests, are not slowed down', async () => {
  await refuse(20);
  assertSlowed(await push('stranger'), 1);
  assert.equal((await push('stranger', d, '127.0.0.2')).status, 403);
  assert.equal((await login('stranger', '127.0.0.2')).status, 200);
  assert.equal((await push('owner')).status, 204);
  for (let n = 0; n < 30; n++) assert.equal((await push('guest')).status, 403);
});

test('wrong tokens and wrong passwords count for nothing', async () => {
  await refuse(19);
  const authorization = 'Bearer wrong';
  assert.equal((await server.send('GET', '/api/v2/users/me', { headers: { authorization } })).status, 401);
  await refuse(1);
  assertSlowed(await push('stranger'), 1);
});

test('it is forgotten after a quarter of an hour', async () => {
  await refuse(20);
  server.clock.advance(15 * 60_000 + 1);
  await refuse(19);
});

test('who may change the gateway sees who is refused, how often, and why; others do not', async () => {
  const read = (as: string) => server.call(as, 'GET', '/gateways/gw');
  await refuse(19);
  assert.equal((await read('owner')).body.refused, undefined);
  await refuse(1);
  for (let n = 0; n < 45; n++) await push('stranger');
  const since = '2026-01-15T';
  for (const as of ['owner', 'admin']) {
    const { refused } = (await read(as)).body;
    assert.deepEqual([refused.times, refused.username], [65, 'stranger']);
    assert.equal(refused.reason, 'You need the right devices-data:create on device mote.');
    assert.ok(refused.since.startsWith(since) && refused.last >= refused.since);
    const listed = (await server.call(as, 'GET', '/gateways')).body;
    assert.equal(listed.find(({ id }: { id: string }) => id === 'gw').refused.times, 65);
  }
  assert.equal((await read('guest')).body.refused, undefined);
  assert.equal((await read('stranger')).body.refused, undefined);
  // That call of theirs was accepted, and so ended it.
  assert.equal((await read('owner')).body.refused, undefined);
});

test('a setting switches it off', async () => {
  await server.restart({ DUNDUN_REFUSED_IN_ROW: 'off' });
  await refuse(60);
  await server.restart();
});
