// Datapoints as Parquet (contract 5), read by another library; and CSV with a column for the type of each value.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const type = 'application/vnd.apache.parquet';
const start = Date.UTC(2020, 0, 1);
const values = [21.5, -0, 5e-324, true, null, '', '42', 'null', 'naïve 場', [1, 'a'], { latitude: 46.5 }];

before(async () => {
  server = await TestServer.start();
  const sensors = ['s', 'many', 'empty', 'large'].map((id) => ({ id }));
  await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors } });
  const points = values.map((value, n) => ({ value, timestamp: new Date(start + n).toISOString() }));
  await push('s', [...points.slice(1), points[0]]);
  // JSON of JavaScript has no negative zero.
  await server.call(as, 'POST', '/devices/d/sensors/s/values', {
    body: `[{"value":-0,"timestamp":"${new Date(start - 1).toISOString()}"},{"value":"clockless"}]`,
    headers: { 'content-type': 'application/json' },
  });
});
after(() => server.stop());

const push = (sensor: string, json: unknown) =>
  server.call(as, 'POST', `/devices/d/sensors/${sensor}/values`, { json });

async function rowsOf(path: string, headers: Record<string, string> = {}): Promise<Record<string, unknown>[]> {
  const { bytes, headers: got } = await make(server, { as, call: `GET ${path}`, headers, expect: 200 });
  assert.equal(got['content-type'], type);
  return parquetReadObjects({ file: toArrayBuffer(bytes) });
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

suite('a Parquet file', () => {
  test('has every value as it is: numbers as doubles, anything else as JSON', async () => {
    const rows = await rowsOf('/sensors_data?device_id=d&sensor_id=s&format=parquet');
    const { body } = await server.call(as, 'GET', '/devices/d/sensors/s/values?limit=100');
    assert.equal(rows.length, values.length + 2);
    assert.ok(Object.is(rows[0]?.['value'], -0));
    for (const [n, row] of rows.entries()) {
      const { value, timestamp, date_received } = body[n];
      assert.equal(row['device_id'], 'd');
      assert.equal(row['sensor_id'], 's');
      const time = row['timestamp'] as Date | null;
      assert.equal(time?.getTime(), timestamp === undefined ? undefined : Date.parse(timestamp));
      assert.equal((row['date_received'] as Date).getTime(), Date.parse(date_received));
      if (n > 0) assert.deepEqual(row['value'] ?? JSON.parse(row['value_json'] as string), value);
      assert.equal(typeof value === 'number', row['value_json'] == null);
    }
  });

  test('is asked for by Accept too, has no ids for one sensor, and of nothing it has no rows', async () => {
    const [row] = await rowsOf('/devices/d/sensors/s/values?limit=1', { accept: type });
    assert.deepEqual(Object.keys(row ?? {}), ['timestamp', 'date_received', 'value', 'value_json']);
    assert.deepEqual(await rowsOf('/devices/d/sensors/empty/values?format=parquet'), []);
    await make(server, { as: 'stranger', call: 'GET /devices/d/sensors/s/values?format=parquet', expect: 403 });
    const head = await make(server, { as, call: 'HEAD /devices/d/sensors/s/values?format=parquet', expect: 200 });
    assert.equal(head.bytes.length, 0);
  });

  test('has the buckets that were asked for', async () => {
    const [row] = await rowsOf(
      '/devices/d/sensors/s/values?bucket=1y&dateTo=2021-01-01T00:00:00Z&format=parquet&sort=desc&aggregate=min,count,first',
    );
    assert.deepEqual(row, {
      timestamp: new Date(start),
      min: 0,
      count: BigInt(values.length),
      first: 21.5,
      first_json: null,
    });
  });

  test('of a long range has several row groups, and large values make them smaller', async () => {
    const points = Array.from({ length: 25_000 }, (_, n) => ({
      value: n / 10,
      timestamp: new Date(start + n * 1000).toISOString(),
    }));
    await push('many', points);
    await push(
      'large',
      Array.from({ length: 150 }, (_, n) => ({ value: `${n}${'x'.repeat(60_000)}` })),
    );
    const { bytes } = await server.call(as, 'GET', '/devices/d/sensors/many/values?format=parquet');
    const file = toArrayBuffer(bytes);
    assert.equal(parquetMetadata(file).row_groups.length, Math.ceil(25_000 / limits.parquetGroupRows));
    const rows = await parquetReadObjects({ file });
    assert.deepEqual(
      rows.map(({ value }) => value),
      points.map(({ value }) => value),
    );
    const large = await server.call(as, 'GET', '/devices/d/sensors/large/values?format=parquet');
    assert.ok(parquetMetadata(toArrayBuffer(large.bytes)).row_groups.length > 1);
    const texts = await parquetReadObjects({ file: toArrayBuffer(large.bytes) });
    assert.ok(texts.every(({ value_json }, n) => JSON.parse(value_json as string).startsWith(`${n}x`)));
  });
});

test('exact CSV tells texts from numbers and null from nothing', async () => {
  const { text } = await make(server, {
    as,
    call: 'GET /devices/d/sensors/s/values?format=csv&exact=true&dateTo=2021-01-01T00:00:00Z',
    expect: 200,
  });
  const fields = text.split('\r\n').map((line) => line.split(/^[^,]*,[^,]*,/)[1]);
  assert.deepEqual(fields.slice(1, -1), [
    ...['-0', '21.5', '0', '5e-324', 'true', 'null', '""""""', '"""42"""', '"""null"""', '"""naïve 場"""'],
    ...['"[1,""a""]"', '"{""latitude"":46.5}"'],
  ]);
});
