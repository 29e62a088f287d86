// Datapoints that are dated in the future: stored like all others, found, counted and logged; by a clock in doubt nobody is
// accused.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { confirmClock } from '../../support/clock.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
const yearMs = 365 * 24 * 60 * minuteMs;
const word = 'datapoints are dated in the future';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_LOG_LEVEL: 'info' });
  await addUsers(server.folder, sharers, server.clock);
});
after(() => server.stop());

async function device(id: string): Promise<void> {
  const sensors = [{ id: 's' }, { id: 't' }, { id: 'empty' }];
  await make(server, { as: 'owner', call: 'POST /devices', json: { id, sensors }, expect: 204 });
}

const later = (ms: number) => new Date(server.clock.now() + ms).toISOString().replace('.000Z', 'Z');

async function push(id: string, sensor: string, ...aheadMs: readonly number[]): Promise<void> {
  const json = aheadMs.map((ms) => ({ value: ms, timestamp: later(ms) }));
  await make(server, { as: 'owner', call: `POST /devices/${id}/sensors/${sensor}/values`, json, expect: 204 });
}

const find = async (id: string, query = '') =>
  (await make(server, { as: 'owner', call: `GET /devices/${id}/future${query}`, expect: 200 })).body;

async function counted(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_datapoints_future_total (\d+)$/m.exec(text)?.[1]);
}

const logged = () => server.logged.filter(({ msg }) => msg === word);

suite('what lies in the future of a device', () => {
  test('is found by sensor, with its count and span, beyond five minutes and whether it is sealed or not', async () => {
    await device('ahead');
    const at = { edge: later(5 * minuteMs), first: later(5 * minuteMs + 1), last: later(4 * yearMs) };
    await push('ahead', 's', -minuteMs, 0, 5 * minuteMs, 5 * minuteMs + 1);
    await server.running.engine.seal();
    await push('ahead', 's', 4 * yearMs, yearMs);
    await push('ahead', 't', yearMs);
    const s = { sensor_id: 's', count: 3, first: at.first, last: at.last };
    const t = { sensor_id: 't', count: 1, first: later(yearMs), last: later(yearMs) };
    const around = { now: later(0), after: at.edge, clock_in_doubt: false };
    assert.deepEqual(await find('ahead'), { ...around, sensors: [s, t] });
    assert.deepEqual(await find('ahead', '?sensor_id=t'), { ...around, sensors: [t] });
    assert.deepEqual(await find('ahead', '?sensor_id=empty,t,t'), { ...around, sensors: [t] });
  });

  test('becomes present as time passes', async () => {
    await device('passing');
    await push('passing', 's', 6 * minuteMs);
    assert.equal((await find('passing')).sensors.length, 1);
    server.clock.advance(minuteMs);
    assert.deepEqual((await find('passing')).sensors, []);
  });

  test('is stored and read like all others', async () => {
    await device('read');
    await push('read', 's', 4 * yearMs);
    await push('read', 's', -minuteMs);
    const { body } = await server.call('owner', 'GET', '/devices/read/sensors/s/values');
    assert.deepEqual(
      body.map(({ value }: { value: number }) => value),
      [-minuteMs, 4 * yearMs],
    );
    // The last value is the one that came last.
    const { last_value } = (await server.call('owner', 'GET', '/devices/read/sensors/s')).body;
    assert.equal(last_value.value, -minuteMs);
  });

  test('is refused for ids that are not there', async () => {
    await device('known');
    for (const call of ['GET /devices/nowhere/future', 'GET /devices/known/future?sensor_id=none']) {
      await make(server, { as: 'owner', call, expect: 404 });
    }
    await make(server, { as: 'owner', call: 'GET /devices/known/future?sensor_id=', expect: 400 });
  });

  test('is told to whom may read the values', async () => {
    await device('private');
    await push('private', 's', yearMs);
    await shareWithAll(server, 'private');
    for (const as of everybody) {
      const reads = ['reader', 'owner', 'admin'].includes(as);
      const { body } = await make(server, {
        as,
        call: 'GET /devices/private/future',
        expect: reads ? 200 : 403,
      });
      assert.equal(JSON.stringify(body).includes('count'), reads, as);
    }
    await make(server, { as: 'owner', call: 'PUT /devices/private/visibility', text: 'public', expect: 204 });
    await make(server, { as: 'guest', call: 'GET /devices/private/future', expect: 200 });
  });
});

suite('at their commit', () => {
  test('they are counted from every door, and logged once in ten minutes', async () => {
    await device('doors');
    server.clock.advance(10 * minuteMs);
    const [before, lines] = [await counted(), logged().length];
    await push('doors', 's', yearMs, 0, 5 * minuteMs);
    await push('doors', 's', yearMs);
    const text = { json: { value: 'a text', timestamp: later(yearMs) } };
    await server.call('owner', 'POST', '/devices/doors/sensors/s/values', text);
    const bulk = `{"device_id":"doors","sensor_id":"t","value":1,"timestamp":"${later(yearMs)}"}\n`;
    const headers = { 'content-type': 'application/x-ndjson' };
    await server.call('owner', 'POST', '/datapoints', { body: bulk, headers });
    const client = await Client.connect(server, 'owner');
    const message = JSON.stringify({ value: 1, timestamp: later(yearMs) });
    await client.publish('devices/doors/sensors/s/value', message, { qos: 1 });
    await client.end();
    await server.running.idle();
    assert.equal((await counted()) - before, 5);
    assert.equal(logged().length - lines, 1);
    server.clock.advance(10 * minuteMs);
    await push('doors', 's', yearMs);
    assert.equal(logged().length - lines, 2);
    assert.deepEqual(logged().at(-1), { ...logged().at(-1), datapoints: 5, device: 'doors', sensor: 's' });
  });

  test('they are not counted when they are refused', async () => {
    await device('refused');
    const before = await counted();
    const json = { value: 1, timestamp: later(yearMs) };
    await make(server, { as: 'stranger', call: 'POST /devices/refused/sensors/s/values', json, expect: 403 });
    assert.equal(await counted(), before);
  });
});

suite('while the clock is in doubt', () => {
  test('nobody is accused, and the dashboard is not told the time; then what lies ahead is found again', async () => {
    await device('doubt');
    await push('doubt', 's', 2 * yearMs);
    const before = await counted();
    server.jump(-yearMs);
    await server.running.idle();
    // By the clock that was set back, all that is right lies in the future.
    await push('doubt', 't', yearMs);
    const found = await find('doubt');
    assert.deepEqual([found.clock_in_doubt, found.sensors], [true, []]);
    assert.equal(await counted(), before);
    assert.equal((await server.send('GET', '/dashboard.json')).body.time, undefined);
    await make(server, { as: 'stranger', call: 'GET /devices/doubt/future', expect: 403 });
    server.jump(yearMs);
    await confirmClock(server);
    const sensors = (await find('doubt')).sensors.map(({ sensor_id }: { sensor_id: string }) => sensor_id);
    assert.deepEqual(sensors, ['s']);
    assert.equal((await server.send('GET', '/dashboard.json')).body.time, server.clock.now());
  });
});
