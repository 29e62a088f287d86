// Numbers that a double cannot carry (contract 5): they come back digit for digit from every door by every way, from the
// log, sealed and after a restart; aggregates, calibration, charts and rules take the double nearest to them.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';

const exact = ['9007199254740993', '-12345678901234567890', '3.14159265358979323846', '1e-400'];
const json = { 'content-type': 'application/json' };
const as = 'owner';

let server: TestServer;
let sensors = 0;

before(async () => {
  server = await TestServer.start();
  await server.call(as, 'POST', '/devices', { json: { id: 'd' } });
});
after(() => server.stop());

async function makeSensor(more: object = {}): Promise<string> {
  sensors += 1;
  const id = `s${sensors}`;
  assert.equal((await server.call(as, 'POST', '/devices/d/sensors', { json: { id, ...more } })).status, 204);
  return id;
}

const valuesIn = (text: string) => [...text.matchAll(/"value":(.*?),"(?:timestamp|date_received)"/g)].map(([, v]) => v);

/** Pushes of values by each door, as texts. */
const doors: Record<string, (sensor: string, values: readonly string[]) => Promise<unknown>> = {
  'one by one': async (sensor, values) => {
    for (const value of values) await push(`/devices/d/sensors/${sensor}/value`, `{"value":${value}}`);
  },
  'as an array': (sensor, values) =>
    push(`/devices/d/sensors/${sensor}/values`, `[${values.map((value) => `{"value":${value}}`).join(',\n')}]`),
  'in bulk as JSON': (sensor, values) => push('/datapoints', `[${lines(sensor, values).join(',')}]`, 200),
  'in bulk as NDJSON': (sensor, values) =>
    push('/datapoints', lines(sensor, values).join('\n'), 200, { 'content-type': 'application/x-ndjson' }),
  'in bulk as CSV': (sensor, values) =>
    push('/datapoints', values.map((value) => `d,${sensor},,${value}\n`).join(''), 200, { 'content-type': 'text/csv' }),
  'imported as NDJSON': (sensor, values) =>
    push('/import', lines(sensor, values, true).join('\n'), 200, { 'content-type': 'application/x-ndjson' }),
  'imported as JSON': (sensor, values) => push('/import', `[${lines(sensor, values, true).join(',')}]`, 200),
  'imported as CSV': (sensor, values) => {
    const rows = values.map((value, n) => `d,${sensor},2026-01-01T00:00:0${n}Z,${value}\n`);
    return push('/import', `device_id,sensor_id,timestamp,value\n${rows.join('')}`, 200, {
      'content-type': 'text/csv',
    });
  },
  'over MQTT': async (sensor, values) => {
    const client = await Client.connect(server, as);
    for (const value of values) {
      await client.publish(`devices/d/sensors/${sensor}/value`, `{"value":${value}}`, { qos: 1 });
    }
    await client.roundTrip();
    await client.end();
  },
};

function lines(sensor: string, values: readonly string[], isTimed = false): string[] {
  const time = (n: number) => (isTimed ? `"timestamp":"2026-01-01T00:00:0${n}Z",` : '');
  return values.map((value, n) => `{"device_id":"d","sensor_id":"${sensor}",${time(n)}"value":${value}}`);
}

async function push(path: string, body: string, expect = 204, headers: Record<string, string> = json): Promise<void> {
  const { status, text } = await server.call(as, 'POST', path, { body, headers });
  assert.equal(status, expect, text);
  assert.doesNotMatch(text, /"refused":\[\{/, text);
}

suite('a number that a double cannot carry', () => {
  for (const [door, send] of Object.entries(doors)) {
    test(`comes back digit for digit where it came ${door}`, async () => {
      const sensor = await makeSensor();
      const values = [...exact, `{"a":[${exact.join(',')}]}`, '21.5'];
      await send(sensor, door.includes('CSV') ? exact : values);
      const sent = door.includes('CSV') ? exact : values;
      const path = `/devices/d/sensors/${sensor}`;
      const check = async () => {
        assert.deepEqual(valuesIn((await server.call(as, 'GET', `${path}/values`)).text), sent);
        assert.deepEqual(valuesIn((await server.call(as, 'GET', `${path}/values?format=ndjson`)).text), sent);
        assert.deepEqual(
          valuesIn((await server.call(as, 'GET', `${path}/values?lastN=2`)).text),
          sent.slice(-2).reverse(),
        );
        const { text } = await server.call(as, 'GET', `/sensors_data?device_id=d&sensor_id=${sensor}`);
        assert.deepEqual(valuesIn(text), sent);
        const record = (await server.call(as, 'GET', path)).text;
        assert.equal(valuesIn(record)[0], sent.at(-1));
        const older = await server.request(as, 'GET', `/api/v1/sensors/d/measurements/${sensor}/values`);
        assert.deepEqual(valuesIn(older.text), sent);
        const csv = (await server.call(as, 'GET', `${path}/values?format=csv`)).text
          .split('\r\n')
          .slice(1, 1 + exact.length);
        assert.deepEqual(
          csv.map((line) => line.split(',')[2]),
          exact,
        );
      };
      await check();
      await server.running.engine.seal();
      await check();
    });
  }

  test('is the last value of its sensor after sealing and a restart', async () => {
    const sensor = await makeSensor();
    for (const value of exact) {
      await push(`/devices/d/sensors/${sensor}/values`, `{"value":${value}}`);
      await server.running.engine.seal();
      assert.deepEqual(valuesIn((await server.call(as, 'GET', `/devices/d/sensors/${sensor}`)).text)[0], value);
      await server.restart();
      assert.deepEqual(valuesIn((await server.call(as, 'GET', `/devices/d/sensors/${sensor}`)).text)[0], value);
    }
  });

  test('is its nearest double to aggregates, charts and calibration', async () => {
    const point = (sensor_value: number, real_value: number) => ({ sensor_value, real_value });
    const linear = { enabled: true, value_min: point(0, 0), value_max: point(1, 2) };
    const sensor = await makeSensor({ calib: { linear } });
    const values = ['1.5', '3.14159265358979323846', '9007199254740993', '"text"'];
    const timed = values.map((value, n) => `{"value":${value},"timestamp":"2026-01-01T00:00:0${n}Z"}`);
    await push(`/devices/d/sensors/${sensor}/values`, `[${timed.join(',')}]`);
    const path = `/devices/d/sensors/${sensor}/values`;
    for (const isSealed of [false, true]) {
      if (isSealed) await server.running.engine.seal();
      const read = async (query: string) => (await server.call(as, 'GET', `${path}?${query}`)).body;
      const raw = (await read('bucket=1d&aggregate=min,max,count,sum&calibrated=false'))[0];
      assert.deepEqual([raw.min, raw.max, raw.count], [1.5, 2 ** 53, 4]);
      assert.equal(raw.sum, 1.5 + Math.PI + 2 ** 53);
      const corrected = (await read('bucket=1d&aggregate=min,max'))[0];
      assert.deepEqual([corrected.min, corrected.max], [3, 2 ** 54]);
      const rows = (await read('')) as { value: unknown }[];
      assert.deepEqual(
        rows.map(({ value }) => value),
        [3, 2 * Math.PI, 2 ** 54, 'text'],
      );
      const points = (await read('points=4&calibrated=false')) as { value: unknown }[];
      assert.deepEqual(
        points.map(({ value }) => value),
        [1.5, Math.PI, 2 ** 53, 'text'],
      );
    }
  });

  test('makes rules fire by its nearest double, and is told digit for digit', async () => {
    const sensor = await makeSensor();
    await make(server, {
      as,
      call: 'POST /notifications',
      expect: 200,
      json: {
        condition: { devices: ['d'], sensors: [sensor], expression: `${sensor}>9007199254740990` },
        action: { usernames: [as], channels: ['none'], message: `at {${sensor}}` },
      },
    });
    await push(`/devices/d/sensors/${sensor}/values`, '[{"value":3.14159265358979323846},{"value":9007199254740993}]');
    await server.running.idle();
    const { body } = await server.call(as, 'GET', '/socials');
    assert.deepEqual(
      body.map(({ message }: { message: string }) => message),
      ['at 9007199254740993'],
    );
  });

  test('goes out digit for digit to MQTT subscribers', async () => {
    const sensor = await makeSensor();
    const client = await Client.connect(server, as);
    await client.subscribe([`devices/d/sensors/${sensor}/value`]);
    await push(`/devices/d/sensors/${sensor}/value`, '{"value":12345678901234567890}');
    const [seen = []] = await takeAll(server, client);
    assert.equal(String(seen[0]?.payload), '{"value":12345678901234567890}');
    await client.end();
  });

  test('has its bound like any value', async () => {
    const sensor = await makeSensor();
    const path = `/devices/d/sensors/${sensor}/values`;
    const long = `0.${'3'.repeat(70_000)}`;
    const { status } = await server.call(as, 'POST', path, { body: `{"value":${long}}`, headers: json });
    assert.equal(status, 413);
    assert.equal(
      (await server.call(as, 'POST', path, { body: '{"value":12345678901234567890e300}', headers: json })).status,
      400,
    );
    assert.deepEqual((await server.call(as, 'GET', path)).body, []);
  });
});
