// What the service does while its wall clock is wrong (decision 30): what waits and goes on by itself, what does not wait, who
// may confirm it, and where it is said.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { confirmClock, settleClock } from '../../support/clock.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const yearMs = 365 * dayMs;
const steadyMs = 5 * minuteMs;

let server: TestServer;
let devices = 0;
let d = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

beforeEach(async () => {
  await confirmClock(server);
  devices += 1;
  d = `clock-${devices}`;
  const json = { id: d, retention_days: 30, sensors: [{ id: 's' }, { id: 't' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
});

/** What the clock of the service shows, as an admin tells it; off by `ms`. */
const time = (ms = 0) => ({ time: new Date(server.clock.now() + ms).toISOString() });

async function push(value: unknown, { sensor = 's', headers = {} } = {}): Promise<void> {
  const call = `POST /devices/${d}/sensors/${sensor}/values`;
  await make(server, { as: 'owner', call, json: { value }, headers, expect: 204 });
}

async function values(query = 'limit=100'): Promise<unknown[]> {
  const { body } = await server.call('owner', 'GET', `/devices/${d}/sensors/s/values?${query}`);
  return body.map(({ value }: { value: unknown }) => value);
}

/** Lets so much time pass, and all rounds that it makes due be done. */
async function pass(ms: number): Promise<void> {
  server.clock.advance(ms);
  await server.running.idle();
}

suite('what is kept for thirty days', () => {
  beforeEach(async () => {
    await push(1);
    await server.running.engine.seal();
  });

  test('is there after the clock was a year ahead for a minute, and goes when its time has come', async () => {
    server.jump(yearMs);
    await pass(minuteMs);
    assert.deepEqual(await values(), [1]);
    server.jump(-yearMs);
    await pass(steadyMs + hourMs);
    assert.deepEqual(await values(), [1]);
    await pass(31 * dayMs);
    assert.deepEqual(await values(), [], 'retention has come back by itself');
  });

  test('goes when the clock that was set ahead has been steady, and no sooner', async () => {
    await server.restart();
    await settleClock(server);
    // The next round is due in an hour.
    await pass(hourMs - 2 * minuteMs);
    server.jump(yearMs);
    for (let minute = 0; minute < 4; minute++) {
      await pass(minuteMs);
      assert.deepEqual(await values(), [1], `after ${minute + 1} minutes`);
    }
    await pass(2 * minuteMs);
    assert.deepEqual(await values(), []);
  });

  test('waits some minutes after each start', async () => {
    await server.restart();
    server.clock.advance(31 * dayMs - 2 * minuteMs);
    await server.restart({ DUNDUN_CLOCK_STEADY_MINUTES: '30' });
    await pass(2 * minuteMs);
    assert.deepEqual(await values(), [1]);
    await pass(27 * minuteMs);
    assert.deepEqual(await values(), [1]);
    await pass(2 * minuteMs);
    assert.deepEqual(await values(), []);
    await server.restart();
  });
});

suite('a stored MQTT session', () => {
  test('is not lost because the clock is ahead for a minute, and ends when its time has come', async () => {
    const clientId = `session-${d}`;
    const connect = () => Client.connect(server, 'owner', { clientId, clean: false });
    const first = await connect();
    await first.subscribe(`devices/${d}/#`, 1);
    await first.end();
    await server.running.idle();
    server.jump(yearMs);
    await pass(minuteMs);
    const second = await connect();
    assert.equal(second.sessionPresent, true);
    await second.end();
    await server.running.idle();
    server.jump(-yearMs);
    await settleClock(server);
    await pass(29 * dayMs);
    const third = await connect();
    assert.equal(third.sessionPresent, true);
    await third.end();
    await server.running.idle();
    await pass(30 * dayMs);
    const fourth = await connect();
    assert.equal(fourth.sessionPresent, false);
    await fourth.end();
  });
});

suite('a repeat of a push', () => {
  test('is known by its Idempotency-Key, though the clock is two days ahead', async () => {
    const headers = { 'idempotency-key': d };
    await push(1, { headers });
    server.jump(2 * dayMs);
    await push(1, { headers });
    server.jump(-2 * dayMs);
    await push(1, { headers });
    assert.deepEqual(await values(), [1]);
    server.clock.advance(dayMs);
    await push(1, { headers });
    assert.deepEqual(await values(), [1, 1]);
  });
});

suite('the order of datapoints', () => {
  test('is that in which they came, whatever the clock says', async () => {
    const stream = await EventStream.open(server, 'owner', `/devices/${d}/live`);
    await push('before');
    server.jump(-yearMs);
    await push('after');
    assert.deepEqual(await stream.values(2), ['before', 'after']);
    stream.close();
    const last = async () => (await server.call('owner', 'GET', `/devices/${d}/sensors/s`)).body.last_value.value;
    assert.equal(await last(), 'after');
    await server.running.engine.seal();
    assert.equal(await last(), 'after');
    await server.restart();
    server.jump(0);
    assert.equal(await last(), 'after');
    // Without a timestamp the time of receiving is the time of a datapoint in a range (contract 5).
    assert.deepEqual((await values()).sort(), ['after', 'before']);
  });
});

suite('the clock of the service', () => {
  const path = '/settings/clock';
  const ready = async () => (await server.request('guest', 'GET', '/health/ready')).body.status;
  const figure = async (name: string) => {
    const { text } = await server.request('admin', 'GET', '/metrics');
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  test('is said to be in doubt by readiness, which stays 200, by a figure, and to admins', async () => {
    await server.restart();
    const read = async () => (await make(server, { as: 'admin', call: `GET ${path}`, expect: 200 })).body;
    assert.deepEqual([await ready(), await figure('dundun_clock_in_doubt')], ['ok', 0]);
    assert.equal((await read()).in_doubt, false);
    server.jump(yearMs);
    const { status, body } = await server.request('guest', 'GET', '/health/ready');
    assert.equal(status, 200);
    assert.match(
      body.status,
      /^the clock is in doubt: it jumped \(by 31536000 s\); deletion by age, .* for 5 min or is confirmed$/,
    );
    assert.deepEqual([await figure('dundun_clock_in_doubt'), await figure('dundun_clock_jumps_total')], [1, 1]);
    const { reason, ...state } = await read();
    assert.deepEqual([Date.parse(state.time), state.in_doubt, reason], [server.clock.now(), true, body.status]);
    server.jump(-yearMs);
    await settleClock(server);
    assert.deepEqual([await ready(), await figure('dundun_clock_in_doubt')], ['ok', 0]);
    assert.equal(await figure('dundun_clock_jumps_total'), 2);
  });

  test('is in doubt at a start before the newest datapoint, or long after it', async () => {
    await push(1);
    server.jump(-hourMs);
    await server.restart();
    assert.match(await ready(), /it is behind the stored data \(by -3600 s\)/);
    server.jump(hourMs);
    await server.restart();
    assert.equal(await ready(), 'ok');
    server.jump(31 * dayMs);
    await server.restart();
    assert.match(await ready(), /it is far ahead of the stored data/);
    await push(2);
    await server.restart();
    assert.equal(await ready(), 'ok', 'something was received since');
  });

  test('is read and confirmed by admins who signed in, and by nobody else', async () => {
    const made = await make(server, {
      as: 'admin',
      call: 'POST /auth/keys',
      json: { name: 'k', scopes: ['admin'] },
      expect: 200,
    });
    server.jump(yearMs);
    const headers = { authorization: `Bearer ${made.body.key}` };
    for (const as of ['guest', 'stranger', 'sharer', 'owner'] as const)
      await makeAll(server, [
        { as, call: `GET ${path}`, expect: 403 },
        { as, call: `PUT ${path}`, json: time(), expect: 403 },
      ]);
    await makeAll(server, [
      { call: `GET ${path}`, headers, expect: 403 },
      { call: `PUT ${path}`, json: time(), headers, expect: 403 },
      { as: 'admin', call: `PUT ${path}`, json: {}, expect: 400 },
      { as: 'admin', call: `PUT ${path}`, json: { time: 'now' }, expect: 400 },
      { as: 'admin', call: `PUT ${path}`, json: time(-yearMs), expect: 422 },
      { as: 'admin', call: `PUT ${path}`, json: time(minuteMs + 1), expect: 422 },
    ]);
    assert.notEqual(await ready(), 'ok');
    await make(server, { as: 'admin', call: `PUT ${path}`, json: time(minuteMs), expect: 204 });
    assert.equal(await ready(), 'ok');
  });

  test('is trusted at once when it is confirmed: what waited goes on', async () => {
    await push(1);
    await server.running.engine.seal();
    server.jump(yearMs);
    await pass(minuteMs);
    assert.deepEqual(await values(), [1]);
    await make(server, { as: 'admin', call: `PUT ${path}`, json: time(), expect: 204 });
    await pass(hourMs - minuteMs);
    assert.deepEqual(await values(), []);
  });

  test('has been confirmed: nobody is signed out, and expiries go by it', async () => {
    server.jump(-yearMs);
    await make(server, { as: 'admin', call: `PUT ${path}`, json: time(), expect: 204 });
    // Tokens that were issued by the clock before are good no longer.
    const { text } = await make(server, {
      call: 'POST /auth/token',
      json: { username: 'owner', password },
      expect: 200,
    });
    await make(server, { call: 'GET /users/me', headers: { authorization: `Bearer ${text}` }, expect: 200 });
  });
});
