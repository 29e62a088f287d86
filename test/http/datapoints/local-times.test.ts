// `timezone` without buckets (contract 5): bounds without an offset are read by the clocks of the zone, also where these
// change, and CSV and Parquet carry local times beside those in UTC.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const path = '/devices/d/sensors/s/values';
const hourMs = 3_600_000;
/** Values are hours since this time; Berlin skips an hour on 31 March and has one twice on 27 October. */
const days = ['2024-03-30', '2024-03-31', '2024-04-01', '2024-06-01', '2024-10-26', '2024-10-27', '2024-10-28'];

before(async () => {
  server = await TestServer.start();
  await make(server, { as, call: 'POST /devices', json: { id: 'd', sensors: [{ id: 's' }] }, expect: 204 });
  const points = days.flatMap((day) => {
    return Array.from({ length: 48 }, (_, half) => {
      const timestamp = new Date(Date.parse(`${day}T00:00:00Z`) + (half * hourMs) / 2).toISOString();
      return { value: timestamp.slice(0, 16), timestamp };
    });
  });
  await make(server, { as, call: `POST ${path}`, json: points, expect: 204 });
});
after(() => server.stop());

/** First and last value of the range, and how many there are. */
async function range(query: string): Promise<unknown[]> {
  const { body } = await make(server, { as, call: `GET ${path}?limit=1000&${query}`, expect: 200 });
  return [body[0]?.value, body.at(-1)?.value, body.length];
}

test('bounds without an offset are read by the clocks of the zone', async () => {
  const rows: readonly (readonly [query: string, first: string, last: string, count: number])[] = [
    ['dateFrom=2024-06-01T12:00:00&dateTo=2024-06-01T13:00', '2024-06-01T10:00', '2024-06-01T11:00', 3],
    ['date_from=20240601T120000&date_to=20240601T1300', '2024-06-01T10:00', '2024-06-01T11:00', 3],
    // With an offset nothing changes.
    ['dateFrom=2024-06-01T12:00:00Z&dateTo=2024-06-01T13:00:00%2B00:00', '2024-06-01T12:00', '2024-06-01T13:00', 3],
    // Days of 23 and 25 hours.
    ['dateFrom=2024-03-31&dateTo=2024-03-31', '2024-03-30T23:00', '2024-03-31T21:30', 46],
    ['dateFrom=2024-10-27&dateTo=2024-10-27', '2024-10-26T22:00', '2024-10-27T22:30', 50],
    // A time that the clocks show twice: from its first to its last.
    ['dateFrom=2024-10-27T02:30&dateTo=2024-10-27T02:30', '2024-10-27T00:30', '2024-10-27T01:30', 3],
    // One that they never show: from the skip on, and up to it.
    ['dateFrom=2024-03-31T02:30&dateTo=2024-03-31T04:00', '2024-03-31T01:00', '2024-03-31T02:00', 3],
    ['dateFrom=2024-03-31T01:30&dateTo=2024-03-31T02:30', '2024-03-31T00:30', '2024-03-31T00:30', 1],
  ];
  for (const [query, ...expected] of rows) {
    assert.deepEqual(await range(`timezone=Europe/Berlin&${query}`), expected, query);
  }
  // Without a zone, UTC as ever.
  assert.deepEqual(await range('dateFrom=2024-06-01T12:00&dateTo=2024-06-01T13:00'), ['2024-06-01T12:00', '2024-06-01T13:00', 3]); // biome-ignore format: one line
});

test('so are those of several sensors, of buckets and of charts', async () => {
  const zone = 'timezone=Asia/Kolkata&dateFrom=2024-06-01T05:30:00&dateTo=2024-06-01T06:30:00';
  const { body } = await make(server, { as, call: `GET /sensors_data?device_id=d&${zone}`, expect: 200 });
  assert.deepEqual(body.map(({ value }: { value: string }) => value), ['2024-06-01T00:00', '2024-06-01T00:30', '2024-06-01T01:00']); // biome-ignore format: one line
  const chart = await make(server, { as, call: `GET ${path}?points=10&${zone}`, expect: 200 });
  assert.equal(chart.body.length, 3);
  const buckets = await make(server, { as, call: `GET ${path}?bucket=1d&aggregate=count&${zone}`, expect: 200 });
  assert.deepEqual(buckets.body, [{ timestamp: '2024-05-31T18:30:00Z', count: 3 }]);
});

test('CSV has local times with their offsets beside those in UTC', async () => {
  const query = 'dateFrom=2024-10-27T02:30&dateTo=2024-10-27T02:30&timezone=Europe/Berlin&format=csv';
  const { text } = await make(server, { as, call: `GET ${path}?${query}`, expect: 200 });
  const lines = text.trimEnd().split('\r\n');
  assert.equal(lines[0], 'timestamp,date_received,value,timestamp_local,date_received_local');
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(',')[3]),
    ['2024-10-27T02:30:00+02:00', '2024-10-27T02:00:00+01:00', '2024-10-27T02:30:00+01:00'],
  );
  assert.equal(lines[1]?.split(',')[4], '2026-01-15T13:00:00+01:00');
  const kolkata = `GET /sensors_data?device_id=d&limit=1&timezone=America/St_Johns&format=csv`;
  const [header, first] = (await make(server, { as, call: kolkata, expect: 200 })).text.split('\r\n');
  assert.equal(header, 'device_id,sensor_id,timestamp,date_received,value,timestamp_local,date_received_local');
  assert.equal(first?.split(',')[5], '2024-03-29T21:30:00-02:30');
  const buckets = `GET ${path}?bucket=1d&aggregate=count&timezone=Europe/Berlin&dateFrom=2024-10-27&dateTo=2024-10-28&format=csv`;
  const { text: counted } = await make(server, { as, call: buckets, expect: 200 });
  assert.equal(counted, 'timestamp,count,timestamp_local\r\n2024-10-26T22:00:00Z,50,2024-10-27T00:00:00+02:00\r\n2024-10-27T23:00:00Z,48,2024-10-28T00:00:00+01:00\r\n'); // biome-ignore format: one line
});

test('Parquet has local times as columns that are not adjusted to UTC', async () => {
  const query = 'dateFrom=2024-06-01T12:00&limit=1&timezone=Europe/Berlin&format=parquet';
  const { bytes } = await make(server, { as, call: `GET ${path}?${query}`, expect: 200 });
  const file = new Uint8Array(bytes).buffer;
  const { schema } = parquetMetadata(file);
  const adjusted = Object.fromEntries(schema.map(({ name, logical_type }) => [name, logical_type?.type === 'TIMESTAMP' ? logical_type.isAdjustedToUTC : undefined])); // biome-ignore format: one line
  assert.deepEqual([adjusted['timestamp'], adjusted['timestamp_local'], adjusted['date_received_local']], [true, false, false]); // biome-ignore format: one line
  const [row] = await parquetReadObjects({ file });
  const msOf = (value: unknown) => (value instanceof Date ? value.getTime() : Number(value));
  assert.equal(msOf(row?.['timestamp']), Date.parse('2024-06-01T10:00:00Z'));
  assert.equal(msOf(row?.['timestamp_local']), Date.parse('2024-06-01T12:00:00Z'));
});

test('a zone that there is not is refused, and JSON stays as it is', async () => {
  for (const zone of ['Mars/Olympus', '', 'x'.repeat(300)]) {
    await make(server, { as, call: `GET ${path}?timezone=${zone}`, expect: 400 });
  }
  const { body } = await make(server, { as, call: `GET ${path}?timezone=%2B05:30&limit=1`, expect: 200 });
  assert.deepEqual(Object.keys(body[0]).sort(), ['date_received', 'timestamp', 'value']);
});
