// Online calibration (contract 4): reads are corrected by a line through two points; stored values do not change.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const s = '/devices/d/sensors/s';

const line = (low: readonly [number, number], high: readonly [number, number], enabled = true) => ({
  linear: {
    enabled,
    value_min: { sensor_value: low[0], real_value: low[1] },
    value_max: { sensor_value: high[0], real_value: high[1] },
  },
});

before(async () => {
  server = await TestServer.start();
  await server.call(as, 'POST', '/devices', { json: { id: 'd', visibility: 'public', sensors: [{ id: 's' }] } });
  const raw = [0, 10, -5, 2.5, '10', null, true, [10], { value: 10 }];
  await server.call(as, 'POST', `${s}/values`, { json: raw.map((value) => ({ value })) });
  await server.call(as, 'POST', `${s}/value`, { json: { value: 10 } });
});
after(() => server.stop());

const read = async (query = '') => {
  const { body } = await make(server, { as: 'stranger', call: `GET ${s}/values${query}`, expect: 200 });
  return body.map((point: { value: unknown }) => point.value);
};
const others = ['10', null, true, [10], { value: 10 }];
const raw = [0, 10, -5, 2.5, ...others, 10];

suite('a calibrated sensor', () => {
  const rows: readonly (readonly [what: string, calib: object, values: readonly number[]])[] = [
    ['a line', line([0, 1], [10, 21]), [1, 21, -9, 6, 21]],
    ['a line given from its other end', line([10, 21], [0, 1]), [1, 21, -9, 6, 21]],
    ['a falling line', line([0, 100], [100, 0]), [100, 90, 105, 97.5, 90]],
    ['a level line', line([0, 7], [1, 7]), [7, 7, 7, 7, 7]],
    ['one that is switched off', line([0, 1], [10, 21], false), [0, 10, -5, 2.5, 10]],
    ['none', {}, [0, 10, -5, 2.5, 10]],
  ];
  for (const [what, calib, [a, b, c, d, last]] of rows) {
    test(`by ${what} reads corrected numbers, and everything else as it is`, async () => {
      await make(server, { as, call: `PUT ${s}/calib`, json: calib, expect: 204 });
      assert.deepEqual(await read(), [a, b, c, d, ...others, last]);
      assert.deepEqual(await read('?calibrated=true'), [a, b, c, d, ...others, last]);
      assert.deepEqual(await read('?calibrated=false'), raw);
      assert.deepEqual(await read('?lastN=1'), [last]);
    });

    test(`by ${what} reads alike in every place and format`, async () => {
      const csv = await make(server, { as, call: `GET ${s}/values?format=csv&limit=2&offset=1`, expect: 200 });
      assert.deepEqual(
        csv.text
          .split('\r\n')
          .slice(1, 3)
          .map((row) => Number(row.split(',')[2])),
        [b, c],
      );
      const plain = await make(server, {
        as,
        call: `GET ${s}/values?format=csv&limit=1&offset=1&calibrated=false`,
        expect: 200,
      });
      assert.equal(plain.text.split(/,|\r\n/)[5], '10');
      const lines = await make(server, { as, call: `GET ${s}/values?format=ndjson&limit=1&offset=1`, expect: 200 });
      assert.equal(JSON.parse(lines.text).value, b);
      for (const path of ['/devices/d', '/devices/d/sensors', s, '/devices?q=id==d']) {
        const { body } = await make(server, { as, call: `GET ${path}`, expect: 200 });
        const sensor = body.id === 's' ? body : (body.sensors ?? body[0].sensors ?? body)[0];
        assert.equal((sensor.last_value ?? sensor.sensors[0].last_value).value, last, path);
      }
    });
  }

  test('is not calibrated twice, and rows stay raw', async () => {
    await make(server, { as, call: `PUT ${s}/calib`, json: line([0, 1], [10, 21]), expect: 204 });
    const stored = (await server.rows())['datapoints']?.map((row) => (row as { value: unknown }).value);
    await server.running.engine.seal();
    await server.restart();
    assert.deepEqual(await read(), [1, 21, -9, 6, ...others, 21]);
    assert.deepEqual(
      (await server.rows())['datapoints']?.map((row) => (row as { value: unknown }).value),
      stored,
    );
  });

  test('loses its calibration when it is posted without one', async () => {
    await make(server, { as, call: 'POST /devices/d/sensors', json: { id: 's' }, expect: 204 });
    assert.deepEqual(await read(), raw);
    await make(server, {
      as,
      call: 'POST /devices/d/sensors',
      json: { id: 's', calib: line([0, 1], [1, 2]) },
      expect: 204,
    });
    assert.deepEqual((await read()).slice(0, 3), [1, 11, -4]);
  });

  test('shows a number raw that the line would take beyond all numbers', async () => {
    await server.call(as, 'POST', '/devices/d/sensors', { json: { id: 'big', calib: line([0, 0], [1, 100]) } });
    await server.call(as, 'POST', '/devices/d/sensors/big/value', { json: { value: 1e308 } });
    const { body } = await make(server, { as, call: 'GET /devices/d/sensors/big/values', expect: 200 });
    assert.equal(body[0].value, 1e308);
  });
});

test('two equal sensor values make no line', async () => {
  const { body } = await make(server, { as, call: `PUT ${s}/calib`, json: line([1, 1], [1, 2]), expect: 400 });
  assert.equal(body.errors[0].pointer, '/linear/value_max/sensor_value');
  const sensors = [{ id: 's', calib: line([1, 1], [1, 2]) }];
  await make(server, { as, call: 'POST /devices', json: { id: 'x', sensors }, expect: 400 });
});
