// `dundun check`: it reports nothing on sound data, and each planted fault is found by its own check, with its place.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { openDatabase, query } from '../../support/database.ts';
import {
  call,
  type Dundun,
  figuresOf,
  makeDevice,
  makeFolder,
  runVerb,
  startDundun,
  type VerbOutcome,
  withLimits,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';

interface Report {
  readonly clean: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly findings: readonly {
      readonly what: string;
      readonly where?: Readonly<Record<string, unknown>>;
      readonly advice: string;
    }[];
  }[];
}

const check = (...args: string[]) => runVerb(['check', ...args]);
const reportOf = ({ stdout }: VerbOutcome): Report => JSON.parse(stdout) as Report;

suite('a check', { timeout: 1_800_000 }, () => {
  let folder = '';

  /** A folder with sealed datapoints of the sensors `one` and `two`, and some of `one` in the log. */
  before(async () => {
    const dundun = await startDundun(withLimits({ sealRowsMin: 40_000, sealPassFactor: 2 }));
    await makeDevice(dundun, 'd', ['one', 'two']);
    const push = (sensor: string, json: unknown) =>
      call(dundun, `/api/v2/devices/d/sensors/${sensor}/values`, { json });
    await push(
      'one',
      Array.from({ length: 25_000 }, (_, i) => ({ value: i, timestamp: new Date(i * 1000).toISOString() })),
    );
    await push(
      'two',
      Array.from({ length: 20_000 }, (_, i) => ({ value: i % 2 === 0 ? `${i}` : i })),
    );
    await until(async () => (await count(dundun, 'dundun_log_datapoints')) === 0);
    await push('one', [{ value: 1 }]);
    await push('one', [{ value: 1.5 }, { value: { a: [1] } }, { value: -0 }]);
    await dundun.stop('SIGKILL');
    folder = dundun.folder;
  });

  test('is clean beside a running server, and on a stopped one', async () => {
    const dundun = await startDundun({ folder: copyOf(folder) });
    const beside = await check(dundun.folder);
    assert.deepEqual([beside.code, beside.stderr], [0, '']);
    assert.match(beside.stdout, /: 17 checks, all is well\.\n$/);
    await dundun.stop();
    const stopped = await check(dundun.folder, '--json');
    assert.deepEqual([stopped.code, reportOf(stopped).clean], [0, true]);
    assert.ok(reportOf(stopped).checks.every(({ findings }) => findings.length === 0));
  });

  test('changes nothing', async () => {
    const copy = copyOf(folder);
    const bytes = () => ['', '-wal'].map((end) => readFileSync(join(copy, `dundun.sqlite${end}`)).toString('base64'));
    const earlier = bytes();
    assert.equal((await check(copy)).code, 0);
    assert.deepEqual(bytes(), earlier);
  });

  const sensor = (id: string) => `(SELECT key FROM sensor WHERE id = '${id}')`;
  const chunkOf = (id: string) => `(SELECT id FROM chunk WHERE sensor = ${sensor(id)} ORDER BY first LIMIT 1)`;
  const faults: readonly {
    readonly does: string;
    readonly sql: string;
    readonly finds: string;
    readonly what: RegExp;
    readonly where?: Readonly<Record<string, unknown>>;
  }[] = [
    {
      does: 'a row that belongs to nobody',
      sql: 'PRAGMA foreign_keys = OFF; UPDATE device SET owner = 4711',
      finds: 'references',
      what: /belongs to a user that is not there/,
      where: { table: 'device' },
    },
    {
      does: 'an index that is gone',
      sql: 'DROP INDEX device_list',
      finds: 'tables',
      what: /There is no index device_list/,
    },
    {
      does: 'a field that is no JSON',
      sql: "UPDATE device SET meta = '{broken'",
      finds: 'records',
      what: /The field meta of device d is no JSON/,
    },
    {
      does: 'a visibility that is none',
      sql: "UPDATE device SET visibility = 'secret'",
      finds: 'visibility',
      what: /has the visibility "secret"/,
    },
    {
      does: 'a row of the log cut short',
      sql: 'UPDATE log SET rows = substr(rows, 1, 40) WHERE first_seq = (SELECT max(first_seq) FROM log)',
      finds: 'log',
      what: /Row \d+ of log, with 3 datapoints, is damaged\. The checksum is wrong/,
      where: { table: 'log' },
    },
    {
      does: 'texts of the log that are no JSON',
      sql: `UPDATE log SET texts = '["{"]' WHERE first_seq = (SELECT max(first_seq) FROM log)`,
      finds: 'log',
      what: /The checksum is wrong/,
    },
    {
      does: 'texts of the log that are missing',
      sql: 'UPDATE log SET texts = NULL WHERE first_seq = (SELECT max(first_seq) FROM log)',
      finds: 'log',
      what: /The checksum is wrong/,
    },
    {
      does: 'a row of the log that is gone',
      sql: 'DELETE FROM log WHERE first_seq = (SELECT min(first_seq) FROM log)',
      finds: 'order of the log',
      what: /The log goes on at \d+ where \d+ should come/,
    },
    {
      does: 'a reader ahead of the datapoints',
      sql: "INSERT OR REPLACE INTO counter VALUES ('followed_seq', 1000000)",
      finds: 'counters',
      what: /Notifications have looked at datapoint 1000000, and the last is 45004/,
    },
    {
      does: 'half a fingerprint of a publish',
      sql: "INSERT INTO mqtt_fingerprint (records) VALUES (x'0102')",
      finds: 'repeats',
      what: /half a fingerprint/,
    },
    {
      does: 'a fingerprint of no session',
      sql: 'INSERT INTO mqtt_fingerprint (records) VALUES (zeroblob(20))',
      finds: 'repeats',
      what: /a fingerprint that cannot be read/,
    },
    {
      does: 'half a fingerprint of a publish in the log',
      sql: "UPDATE log SET fingerprints = x'0102' WHERE first_seq = (SELECT max(first_seq) FROM log)",
      finds: 'repeats',
      what: /Row \d+ of log has half a fingerprint/,
      where: { table: 'log' },
    },
    {
      does: 'a chunk of which a byte has changed',
      sql: `UPDATE chunk SET bytes = CAST(substr(bytes, 1, 20) || x'00ff' || substr(bytes, 23) AS BLOB) WHERE id = ${chunkOf('one')}`,
      finds: 'chunks',
      what: /cannot be read: The checksum is wrong/,
      where: { deviceId: 'd', sensorId: 'one', from: '1970-01-01T00:00:00.000Z' },
    },
    {
      does: 'a chunk that says more than it has',
      sql: `UPDATE chunk SET count = count + 1 WHERE id = ${chunkOf('one')}`,
      finds: 'chunks',
      what: /another span/,
    },
    {
      does: 'a chunk whose extremes are others',
      sql: `UPDATE chunk SET max = max + 1 WHERE id = ${chunkOf('one')}`,
      finds: 'chunks',
      what: /other extremes/,
    },
    {
      does: 'chunks that overlap',
      sql: `UPDATE chunk SET last = last + 5000 WHERE id = ${chunkOf('one')}`,
      finds: 'order of chunks',
      what: /overlap/,
      where: { sensorId: 'one' },
    },
    {
      does: 'a pass of sealing beyond the log',
      sql: 'INSERT INTO sealing VALUES (1000000, 2)',
      finds: 'sealing',
      what: /A pass up to datapoint 1000000 is none/,
    },
    {
      does: 'a last value that is another',
      sql: `UPDATE latest SET value = 99.5 WHERE sensor = ${sensor('one')}`,
      finds: 'last datapoints',
      what: /Another value is told/,
      where: { deviceId: 'd', sensorId: 'one' },
    },
    {
      does: 'a last value that is not there',
      sql: `DELETE FROM latest WHERE sensor = ${sensor('one')}`,
      finds: 'last datapoints',
      what: /no last one/,
    },
    {
      does: 'datapoints of a removed sensor',
      sql: `DELETE FROM sensor WHERE id = 'two'`,
      finds: 'removed sensors',
      what: /datapoints of a sensor that is not there/,
    },
  ];
  for (const { does, sql, finds, what, where } of faults) {
    test(`finds ${does}`, async () => {
      const copy = copyOf(folder);
      const database = openDatabase(copy);
      database.exec(sql);
      database.close();
      const outcome = await check(copy, '--json');
      const found = reportOf(outcome).checks.filter(({ findings }) => findings.length > 0);
      assert.equal(outcome.code, 1);
      const finding = found.find(({ name }) => name === finds)?.findings.find((one) => what.test(one.what));
      assert.ok(finding, `${finds} did not find it: ${JSON.stringify(found)}`);
      assert.ok(finding.advice.length > 10);
      for (const [field, value] of Object.entries(where ?? {})) assert.equal(finding.where?.[field], value);
    });
  }

  test('tells what it found in words, and where', async () => {
    const copy = copyOf(folder);
    const database = openDatabase(copy);
    database.exec(`UPDATE chunk SET bytes = x'01' WHERE id = ${chunkOf('one')}`);
    database.close();
    const { code, stdout } = await check(copy);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^chunks: A chunk cannot be read: .* \(table chunk, device d, sensor one, sensor number \d+, from 1970-01-01T00:00:00\.000Z to 1970-01-01T\d\d:\d\d:\d\d\.000Z\)\n {2}Restore/,
    );
    assert.match(stdout, /1 findings\.\n$/);
  });

  test('finds pages that were overwritten, and a file that is no database any more', async () => {
    const torn = copyOf(await cleanFolder(folder));
    const path = join(torn, 'dundun.sqlite');
    const bytes = readFileSync(path);
    const [{ rootpage = 0 } = {}] = query(torn, "SELECT rootpage FROM sqlite_master WHERE name = 'chunk_place'");
    bytes.fill(0xa5, (Number(rootpage) - 1) * 4096, Number(rootpage) * 4096);
    writeFileSync(path, bytes);
    const { code, stdout } = await check(torn);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /^pages: /);
    writeFileSync(path, bytes.fill(0x11, 0, 4096));
    const gone = await check(torn);
    assert.equal(gone.code, 1, gone.stderr);
    assert.match(gone.stdout, /^file: .*not a database/);
  });

  test('cannot look where there is no data, and says so with exit code 2', async () => {
    for (const place of [join(makeFolder(), 'none'), makeFolder()]) {
      const { code, stderr } = await check(place, '--json');
      assert.equal(code, 2);
      assert.match(stderr, /could not check .*There is no data in/);
    }
  });

  test('of the form of an earlier version looks at what it can', async () => {
    const older = copyOf(folder);
    const database = openDatabase(older);
    database.exec("DELETE FROM kysely_migration WHERE name = '0009-outbox'");
    database.close();
    const { code, stdout } = await check(older, '--json');
    assert.equal(code, 0);
    assert.deepEqual(
      reportOf({ code, stdout, stderr: '' }).checks.map(({ name }) => name),
      ['write-ahead log', 'pages', 'references'],
    );
  });
});

async function count(dundun: Dundun, metric: string): Promise<number> {
  const text = await figuresOf(dundun);
  return Number(new RegExp(`^${metric} (.*)$`, 'm').exec(text)?.[1]);
}

/** A copy whose write-ahead log has gone into the database. */
async function cleanFolder(folder: string): Promise<string> {
  const dundun = await startDundun({ folder: copyOf(folder) });
  await dundun.stop();
  return dundun.folder;
}

function copyOf(folder: string): string {
  const copy = join(makeFolder(), 'data');
  mkdirSync(copy);
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  return copy;
}
