// One byte of a row of the log has changed on disk before it was sealed: its datapoints are never returned as sent,
// the damage is reported, and start, sealing, reads and rules of all others go on.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { query, tamper } from '../../support/database.ts';
import { call, type Dundun, makeDevice, readValues, runVerb, startDundun, withLimits } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const never = { sealRowsMin: 1e6, sealQuietRowsMin: 1e6 };
const always = { sealRowsMin: 1, sealQuietRowsMin: 1, sealQuietMs: 50 };
const timestamp = (n: number) => new Date(1.7e12 + n).toISOString();
const many = Array.from({ length: 1_000 }, (_, n) => ({ value: n + 0.5, timestamp: timestamp(n) }));
const mixed = Array.from({ length: 200 }, (_, n) => ({
  value: n === 100 ? { open: true } : n,
  timestamp: timestamp(n),
}));

const equal = Array.from({ length: 8 }, () => ({ value: 5 }));

const flipped = (column: string, place: string) =>
  `CAST(substr(${column}, 1, ${place} - 1) || CAST(CASE substr(${column}, ${place}, 1) WHEN x'07' THEN x'08' ELSE x'07' END AS BLOB) || substr(${column}, ${place} + 1) AS BLOB)`;
/** How a row of each kind is damaged, and what is sent in a row of that kind. */
const damages = [
  { sensor: 'packed', values: [{ value: 1 }], set: `rows = ${flipped('rows', 'length(rows) / 2')}` },
  { sensor: 'many', values: many, set: `rows = ${flipped('rows', 'length(rows) / 2')}` },
  { sensor: 'mixed', values: mixed, set: `texts = replace(texts, 'true', 'null')` },
  { sensor: 'broken', values: mixed, set: `texts = 'none'` },
  // Packed bytes of equal values can be read for another number of them.
  { sensor: 'fewer', values: equal, set: 'datapoints = 7' },
  { sensor: 'more', values: equal, set: 'datapoints = 9' },
  { sensor: 'negative', values: many, set: 'datapoints = -28' },
  { sensor: 'huge', values: many, set: 'datapoints = 4294967296' },
  { sensor: 'none', values: many, set: 'datapoints = 0' },
  { sensor: 'short', values: many, set: 'rows = substr(rows, 1, 1000)' },
] as const;

suite('damaged rows of the log', { timeout: 1_800_000 }, () => {
  let dundun: Dundun;

  const push = async (sensor: string, json: unknown) => {
    assert.equal((await call(dundun, `/api/v2/devices/hall/sensors/${sensor}/values`, { json })).status, 204);
  };
  const read = (sensor: string) => readValues(dundun, 'hall', sensor);
  const count = (table: string) => query(dundun.folder, `SELECT * FROM ${table}`).length;
  const restart = async (limits: Readonly<Record<string, number>>) => {
    await dundun.stop('SIGKILL');
    dundun = await startDundun({ folder: dundun.folder, ...withLimits(limits) });
  };
  const assertOthersWhole = async (values: readonly number[]) => {
    for (const { sensor } of damages) assert.deepEqual(await read(sensor), [], sensor);
    assert.deepEqual(await read('whole'), values);
    assert.equal((await call(dundun, '/health/ready')).status, 200);
  };
  const told = () => dundun.stderr.match(/Row \d+ of the log is damaged\. /g) ?? [];

  before(async () => {
    dundun = await startDundun(withLimits(never));
    await makeDevice(dundun, 'hall', ['whole', ...damages.map(({ sensor }) => sensor)]);
    await push('whole', { value: 1 });
    for (const { sensor, values } of damages) await push(sensor, values);
    await push('whole', { value: 2 });
    await dundun.stop('SIGKILL');
    const rows = query(dundun.folder, 'SELECT first_seq AS seq FROM log ORDER BY first_seq');
    assert.equal(rows.length, damages.length + 2);
    for (const [n, { set }] of damages.entries())
      tamper(dundun.folder, `UPDATE log SET ${set} WHERE first_seq = ${rows[n + 1]?.['seq']}`);
    dundun = await startDundun({ folder: dundun.folder, ...withLimits(never) });
  });
  after(() => dundun.stop());

  test('are told of at the start, and all others are read', async () => {
    assert.equal(told().length, damages.length, dundun.stderr);
    await assertOthersWhole([1, 2]);
    await push('whole', { value: 3 });
    await assertOthersWhole([1, 2, 3]);
    const { code, stdout } = await runVerb(['check', dundun.folder]);
    assert.equal(code, 1);
    assert.equal(stdout.match(/Row \d+ of log, with -?\d+ datapoints, is damaged\./g)?.length, damages.length, stdout);
    assert.match(stdout, /--forget-damaged/);
  });

  test('are set aside by sealing, which goes on', async () => {
    await restart(always);
    await until(() => count('log') === 0);
    assert.equal(count('damaged_log'), damages.length);
    assert.ok(told().length >= damages.length, dundun.stderr);
    await assertOthersWhole([1, 2, 3]);
    const { code, stdout } = await runVerb(['check', dundun.folder]);
    assert.equal(code, 1);
    assert.equal(stdout.match(/was found damaged before and is kept aside/g)?.length, damages.length, stdout);
    await restart(never);
    assert.deepEqual(told(), []);
  });

  test('are gone when a person has said so, beside the running server', async () => {
    const { code, stdout, stderr } = await runVerb(['check', dundun.folder, '--forget-damaged']);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stderr, new RegExp(`forgot ${damages.length} damaged chunks and rows, of \\d+ datapoints`));
    await assertOthersWhole([1, 2, 3]);
  });

  test('are gone as well when that is said before they are compressed', async () => {
    await push('many', many);
    await push('whole', { value: 4 });
    tamper(dundun.folder, `UPDATE log SET datapoints = 2 WHERE datapoints = ${many.length}`);
    const { code, stdout, stderr } = await runVerb(['check', dundun.folder, '--forget-damaged']);
    assert.equal(code, 0, stdout);
    assert.match(stderr, /forgot 1 .* of 1000 datapoints/);
    assert.match((await runVerb(['check', dundun.folder, '--forget-damaged'])).stderr, /forgot 0 .* of 0 datapoints/);
    await restart(always);
    await until(() => count('log') === 0);
    assert.deepEqual([count('damaged_log'), told()], [0, []]);
    await assertOthersWhole([1, 2, 3, 4]);
    assert.equal((await runVerb(['check', dundun.folder])).code, 0);
  });
});
