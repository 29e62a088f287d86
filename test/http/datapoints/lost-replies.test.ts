// Arrays that gateways push again because the answer was lost (contract 5): without an Idempotency-Key, the same bytes of
// the same caller to the same path are stored once. In doubt they are stored.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { CuttingProxy } from '../../support/cutting-proxy.ts';
import { runSql } from '../../support/data.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
let server: TestServer;
let count = 0;
let d = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  count += 1;
  d = `/devices/device-${count}`;
  await makeDevice();
});

async function makeDevice(): Promise<void> {
  const sensors = [{ id: 's' }, { id: 't' }];
  const json = { id: `device-${count}`, visibility: 'public', sensors };
  const { status, text } = await server.call('owner', 'POST', '/devices', { json });
  assert.equal(status, 204, text);
}

/** As many readings, one a second, as a gateway has them: with line feeds between. */
function bodyOf(values: number): string {
  const timeOf = (n: number) => new Date(Date.UTC(2026, 0, 15, 10) + n * 1000).toISOString();
  const items = Array.from({ length: values }, (_, n) => `{"value":${n},"timestamp":"${timeOf(n)}"}`);
  return `[${items.join(',\n')}]`;
}

interface Where {
  readonly as?: string;
  readonly door?: string;
  readonly expect?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly from?: string;
}

async function push(body: string, { as = 'owner', door = 's/values', expect = 204, ...rest }: Where = {}) {
  const carries: Carries = { ...rest, body, headers: { 'content-type': 'application/json', ...rest.headers } };
  const answer = await server.call(as, 'POST', `${d}/sensors/${door}`, carries);
  assert.equal(answer.status, expect, answer.text);
}

async function stored(sensor = 's'): Promise<number> {
  const { text } = await server.call('owner', 'GET', `${d}/sensors/${sensor}/values?format=ndjson`);
  return text.split('\n').filter((line) => line !== '').length;
}

test('a client that pushes 500 values again because a proxy cut the answer has 500 of them', async () => {
  const proxy = await CuttingProxy.open(server.running.ports.http);
  const authorization = `Bearer ${await server.token('owner')}`;
  const send = async () => {
    const url = `http://127.0.0.1:${proxy.port}/api/v2${d}/sensors/s/values`;
    const headers = { authorization, 'content-type': 'application/json', connection: 'close' };
    return (await fetch(url, { method: 'POST', headers, body: bodyOf(500) })).status;
  };
  proxy.answersToLose = 3;
  for (let tries = 0; tries < 3; tries++) await assert.rejects(send());
  assert.equal(proxy.lost, 3);
  assert.equal(await send(), 204);
  assert.equal(await stored(), 500);
  await proxy.close();
});

test('it is known over sealing, a restart and a crash', async () => {
  for (const go of [() => server.running.engine.seal(), () => server.restart(), () => server.crash()]) {
    await push(bodyOf(7));
    await go();
    await push(bodyOf(7));
    assert.equal(await stored(), 7);
  }
});

test('those that come while the first is under way wait for it', async () => {
  await Promise.all(Array.from({ length: 10 }, () => push(bodyOf(100))));
  assert.equal(await stored(), 100);
});

test('after ten minutes the same is stored again', async () => {
  await push(bodyOf(3));
  server.clock.advance(10 * minuteMs - 1);
  await push(bodyOf(3));
  assert.equal(await stored(), 3);
  server.clock.advance(1);
  await push(bodyOf(3));
  assert.equal(await stored(), 6);
});

test('a clock that was set back makes it known no longer', async () => {
  await push(bodyOf(3));
  server.jump(-60 * minuteMs);
  server.clock.advance(10 * minuteMs);
  await push(bodyOf(3));
  assert.equal(await stored(), 6);
  server.jump(60 * minuteMs);
});

test('what came while the clock was ahead is known for no longer than ten minutes', async () => {
  server.jump(365 * 24 * 60 * minuteMs);
  await push(bodyOf(3));
  server.jump(-365 * 24 * 60 * minuteMs);
  server.clock.advance(10 * minuteMs);
  await push(bodyOf(3));
  assert.equal(await stored(), 6);
});

const differences: readonly (readonly [what: string, body: string, where: Where])[] = [
  ['another byte', bodyOf(4).replace(',\n', ', '), {}],
  ['another value', bodyOf(4).replace('"value":0', '"value":9'), {}],
  ['another caller', bodyOf(4), { as: 'stranger' }],
  ['a guest', bodyOf(4), { as: 'guest' }],
  ['the other path', bodyOf(4), { door: 's/value' }],
  ['other rules', bodyOf(4), { headers: { prefer: 'notify=none' } }],
  ['a key', bodyOf(4), { headers: { 'idempotency-key': 'k' } }],
];
for (const [what, body, where] of differences) {
  test(`${what} makes it another push, which has repeats of its own`, async () => {
    await push(bodyOf(4));
    await push(body, where);
    assert.equal(await stored(), 8);
    await push(body, where);
    await push(bodyOf(4));
    assert.equal(await stored(), 8);
  });
}

test('another sensor, and the path of version 1, are others', async () => {
  await push(bodyOf(4));
  await push(bodyOf(4), { door: 't/values' });
  assert.deepEqual([await stored(), await stored('t')], [4, 4]);
  const older = `/api/v1/sensors/device-${count}/measurements/s/values`;
  const carries = { body: bodyOf(4), headers: { 'content-type': 'application/json' } };
  for (let n = 0; n < 2; n++) assert.equal((await server.request('owner', 'POST', older, carries)).status, 200);
  assert.equal(await stored(), 8);
});

const untimed: readonly (readonly [what: string, body: string, each: number])[] = [
  ['a single value with a timestamp', '{"value":1,"timestamp":"2026-01-15T10:00:00Z"}', 1],
  ['an array of values without timestamps', '[{"value":1},{"value":1}]', 2],
  ['an array in which one item has no timestamp', '[{"value":1,"timestamp":"2026-01-15T10:00:00Z"},{"value":1}]', 2],
  ['the same with other values', '[{"value":"a","timestamp":"2026-01-15T10:00:00Z"},{"value":[1]}]', 2],
];
for (const [what, body, each] of untimed) {
  test(`${what} is never taken for a repeat`, async () => {
    await push(body);
    await push(body);
    assert.equal(await stored(), 2 * each);
  });
}

test('an array of other values than numbers is known, too', async () => {
  const body = '[{"value":{"a":[1,null]},"timestamp":"2026-01-15T10:00:00Z","more":1}]';
  await push(body);
  await push(body);
  assert.equal(await stored(), 1);
});

test('guests of two addresses have theirs apart', async () => {
  for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.1', '127.0.0.2']) await push(bodyOf(5), { as: 'guest', from });
  assert.equal(await stored(), 10);
});

test('a refused push leaves nothing behind, and a repeat without access is refused', async () => {
  await push('[{"value":1,"timestamp":"never"}]', { expect: 400 });
  await server.call('owner', 'PUT', `${d}/visibility`, { text: 'private' });
  await push(bodyOf(4), { as: 'stranger', expect: 403 });
  await server.call('owner', 'PUT', `${d}/visibility`, { text: 'public' });
  await push(bodyOf(4), { as: 'stranger' });
  assert.equal(await stored(), 4);
  await server.call('owner', 'PUT', `${d}/visibility`, { text: 'private' });
  await push(bodyOf(4), { as: 'stranger', expect: 403 });
});

test('a sensor, or device, that was removed and made again has nothing yet', async () => {
  await push(bodyOf(4));
  await server.call('owner', 'DELETE', `${d}/sensors/s`);
  await server.call('owner', 'POST', `${d}/sensors`, { json: { id: 's' } });
  await push(bodyOf(4));
  assert.equal(await stored(), 4);
  await server.call('owner', 'DELETE', d);
  await makeDevice();
  await push(bodyOf(4));
  assert.equal(await stored(), 4);
});

test('what retention has deleted is stored when it is sent again', async () => {
  await server.restart({ DUNDUN_REPEAT_WINDOW: '24h' });
  await push(bodyOf(4));
  await push(bodyOf(4), { door: 't/values' });
  await server.running.engine.seal();
  await server.call('owner', 'PUT', `${d}/sensors/s/retention_days`, { text: '1' });
  server.clock.advance(22 * 60 * minuteMs);
  await server.running.idle();
  assert.deepEqual([await stored(), await stored('t')], [0, 4]);
  await push(bodyOf(4));
  await push(bodyOf(4), { door: 't/values' });
  assert.deepEqual([await stored(), await stored('t')], [4, 4]);
  await server.restart();
});

test('the window is a setting, and may be off', async () => {
  await server.restart({ DUNDUN_REPEAT_WINDOW: '1h' });
  await push(bodyOf(2));
  server.clock.advance(59 * minuteMs);
  await push(bodyOf(2));
  assert.equal(await stored(), 2);
  await server.restart({ DUNDUN_REPEAT_WINDOW: 'off' });
  await push(bodyOf(2));
  await push(bodyOf(2));
  assert.equal(await stored(), 6);
  await server.restart();
});

test('bodies count against a bound of their own, apart from the keys of their caller', async () => {
  await push(bodyOf(1), { headers: { 'idempotency-key': `mine ${count}` } });
  await push(bodyOf(1));
  const found = await runSql(server.folder, 'SELECT DISTINCT caller FROM receipt ORDER BY caller');
  const callers = found.map((row) => String(row['caller']));
  const [key] = callers.filter((caller) => callers.includes(`${caller} repeats`) && !caller.startsWith('address '));
  assert.ok(key !== undefined, callers.join());
});
