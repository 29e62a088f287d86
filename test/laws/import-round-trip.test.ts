// Data that is exported and imported into a fresh service is exported from there in the same bytes (contract 10),
// whatever the values, times, orders and sensors: CSV, NDJSON, and Parquet.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { properties } from '../support/properties.ts';
import { TestServer } from '../support/test-server.ts';

let first: TestServer;
let second: TestServer;
const as = 'owner';

before(async () => {
  first = await TestServer.start();
  second = await TestServer.start();
});
after(async () => {
  await first.stop();
  await second.stop();
});

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }).filter((s) => s.isWellFormed() && !s.includes('\0')),
  fc.constantFrom('', '42', 'null', 'NaN', 'a,b', '"', ' x ', 'two\r\nlines', '-0', 'true', '1,5', '=1+1', 'n/a'),
);
const value = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  text,
  fc.constantFrom(null, true, false, -0, 5e-324, 1.7976931348623157e308),
  fc.jsonValue({ maxDepth: 2 }).filter((json) => !JSON.stringify(json).includes('\\u') && !/__proto__|constructor/.test(JSON.stringify(json))), // biome-ignore format: one line
);
const timestamp = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20 }).map((n) => Date.UTC(2024, 2, 31) + n * 600_000) },
  { weight: 2, arbitrary: fc.integer({ min: Date.UTC(1, 0), max: Date.UTC(9999, 0) }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const push = fc.record({
  device: fc.constantFrom('d1', 'd2'),
  sensor: fc.constantFrom('TC', 'RH', 'timestamp', 'a,b'),
  value,
  timestamp,
  pauseMs: fc.constantFrom(0, 0, 1, 1500),
});
type Pushed = typeof push extends fc.Arbitrary<infer T> ? T : never;

async function fill(server: TestServer, pushes: readonly Pushed[]): Promise<void> {
  const sensors = ['TC', 'RH', 'timestamp', 'a,b'].map((id) => ({ id }));
  for (const id of ['d1', 'd2']) await server.call(as, 'POST', '/devices', { json: { id, sensors } });
  for (const { device, sensor, value: pushed, timestamp: time, pauseMs } of pushes) {
    server.clock.advance(pauseMs);
    const { status } = await server.call(as, 'POST', `/devices/${device}/sensors/${sensor}/values`, {
      json: { value: pushed, ...(time === undefined ? {} : { timestamp: new Date(time).toISOString() }) },
    });
    assert.equal(status, 204);
  }
}

async function drop(server: TestServer): Promise<void> {
  for (const id of ['d1', 'd2']) await server.call(as, 'DELETE', `/devices/${id}`);
}

async function dump(server: TestServer, format: string): Promise<Buffer> {
  const answer = await server.call(
    as,
    'GET',
    `/sensors_data?device_id=d1,d2&calibrated=false&exact=true&format=${format}`,
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.bytes;
}

const rowsOf = (bytes: Buffer) => parquetReadObjects({ file: new Uint8Array(bytes).buffer });

test('export, import into a fresh service, and export give the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(push, { minLength: 1, maxLength: 12 }), fc.constantFrom('csv', 'ndjson'), async (pushes, format) => {
      await fill(first, pushes);
      const before = await dump(first, format);
      const parquet = await rowsOf(await dump(first, 'parquet'));
      second.clock.advance(86_400_000);
      for (const id of ['d1', 'd2']) await second.call(as, 'POST', '/devices', { json: { id } });
      const { body } = await second.call(as, 'POST', '/import?received=keep&create_sensors=true', {
        body: before,
        headers: { 'content-type': format === 'csv' ? 'text/csv' : 'application/x-ndjson' },
      });
      const { accepted, refused } = body;
      assert.deepEqual([accepted, refused], [pushes.length, []]);
      assert.deepEqual((await dump(second, format)).toString(), before.toString());
      assert.deepEqual(await rowsOf(await dump(second, 'parquet')), parquet);
      await drop(first);
      await drop(second);
    }), // biome-ignore format: one line
    { ...properties({ factor: 0.2 }), endOnFailure: true },
  );
});
