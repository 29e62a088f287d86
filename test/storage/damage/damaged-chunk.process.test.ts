// One byte of one chunk has changed on disk: reads of its span are refused and all others work; it is never silently
// left out until an operator says so.
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { query, tamper } from '../../support/database.ts';
import {
  call,
  type Dundun,
  figuresOf,
  login,
  makeDevice,
  runVerb,
  startDundun,
  withLimits,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';

const limits = {
  sealRowsMin: 1,
  sealQuietRowsMin: 1,
  sealQuietMs: 50,
  chunkDatapointsWanted: 100,
  mainThreadReadRows: 50,
};
const at = (second: number) => new Date(second * 1000).toISOString();

suite('a damaged chunk', { timeout: 1_800_000 }, () => {
  let dundun: Dundun;
  /** Seconds of its first and last datapoint. */
  let first = 0;
  let last = 0;

  const get = (sensor: string, parameters: string) =>
    call(dundun, `/api/v2/devices/hall/sensors/${sensor}/values?${parameters}`);
  const count = async (sensor: string, parameters = '') => {
    const answer = await get(sensor, `format=ndjson&${parameters}`);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return text.split('\n').filter((line) => line !== '').length;
  };
  const push = async (sensor: string, json: unknown) => {
    assert.equal((await call(dundun, `/api/v2/devices/hall/sensors/${sensor}/values`, { json })).status, 204);
    await until(async () => (await figuresOf(dundun)).includes('dundun_log_datapoints 0\n'));
  };

  before(async () => {
    dundun = await startDundun(withLimits(limits));
    await makeDevice(dundun, 'hall', ['one', 'two']);
    for (const sensor of ['one', 'two']) {
      await push(
        sensor,
        Array.from({ length: 1000 }, (_, i) => ({ value: i, timestamp: at(i) })),
      );
    }
    const of = "sensor = (SELECT key FROM sensor WHERE id = 'one') AND first <= 500000 AND last >= 500000";
    const [chunk = {}] = query(dundun.folder, `SELECT first, last FROM chunk WHERE ${of}`);
    [first, last] = [Number(chunk['first']) / 1000, Number(chunk['last']) / 1000];
    assert.ok(first > 350 && last < 650);
    tamper(
      dundun.folder,
      `UPDATE chunk SET bytes = CAST(substr(bytes, 1, 20) || CAST(CASE substr(bytes, 21, 1) WHEN x'00' THEN x'01' ELSE x'00' END AS BLOB) || substr(bytes, 22) AS BLOB) WHERE ${of}`,
    );
  });

  /** What holds whether the chunk lies in its place or aside. */
  async function assertRefusedAlone(): Promise<void> {
    const inside = `dateFrom=${at(first + 2)}&dateTo=${at(last - 2)}`;
    for (const parameters of [
      inside,
      `format=ndjson&${inside}`,
      `sort=desc&${inside}`,
      'format=ndjson',
      'lastN=800',
      `bucket=1m&aggregate=avg&${inside}`,
      'points=50',
    ]) {
      const answer = await get('one', parameters);
      const text = await answer.text();
      assert.equal(answer.status, 500, `${parameters}: ${text.slice(0, 300)}`);
      const { detail } = JSON.parse(text) as { detail: string };
      assert.match(detail, /^Datapoints of sensor one of device hall between 1970-01-01T\S+ and \S+ are damaged/);
      assert.ok(detail.includes(new Date(first * 1000).toISOString()), detail);
    }
    const both = await call(dundun, `/api/v2/sensors_data?device_id=hall&${inside}`);
    assert.equal(both.status, 500, await both.text());
    assert.equal(await count('one', `dateTo=${at(first - 1)}`), first);
    assert.equal(await count('one', `dateFrom=${at(last + 1)}`), 999 - last);
    assert.equal(await count('one', 'lastN=10'), 10);
    assert.equal(await count('one', `lastN=${999 - last}`), 999 - last);
    assert.equal((await get('one', `lastN=${999 - last + 1}`)).status, 500);
    assert.equal(await count('one', `lastN=${first}&dateTo=${at(first - 1)}`), first);
    assert.equal(await count('one', `lastN=5&dateFrom=${at(last + 1)}`), 5);
    assert.equal((await get('one', `bucket=1m&aggregate=avg&dateTo=${at(first - 1)}`)).status, 200);
    assert.equal(await count('two'), 1000);
  }

  test('is refused with its sensor and span, and what lies beside it is read', assertRefusedAlone);

  test('stays refused when late datapoints have taken its place, which are stored', async () => {
    await push('one', [{ value: -1, timestamp: at(first + 5) }, { value: -2, timestamp: at(first + 6) }]); // biome-ignore format: pairs
    assert.equal(query(dundun.folder, 'SELECT * FROM damaged_chunk').length, 1);
    await assertRefusedAlone();
    const { code, stdout } = await runVerb(['check', dundun.folder]);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^chunks: \d+ datapoints were found damaged before and are kept aside\. \(.*device hall, sensor one/,
    );
    await dundun.stop();
    dundun = await startDundun({ folder: dundun.folder, ...withLimits(limits) });
    await assertRefusedAlone();
  });

  test('is left out when a person has said so, beside the running server', async () => {
    const { code, stdout, stderr } = await runVerb(['check', dundun.folder, '--forget-damaged']);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stderr, new RegExp(`forgot 1 damaged chunks and rows, of ${last - first + 1} datapoints`));
    assert.match(stdout, /all is well/);
    assert.equal(await count('one', `dateFrom=${at(first)}&dateTo=${at(last)}`), 2);
    assert.equal(await count('one'), 1000 - (last - first + 1) + 2);
    assert.match((await runVerb(['check', dundun.folder, '--forget-damaged'])).stderr, /forgot 0 damaged/);
  });

  test('goes with its age, whether it lies in its place or aside', async () => {
    const damage =
      "UPDATE chunk SET bytes = x'01' WHERE sensor = (SELECT key FROM sensor WHERE id = 'two') AND last < 500000";
    tamper(dundun.folder, damage);
    await push('two', [{ value: -1, timestamp: at(5) }]);
    assert.equal(query(dundun.folder, 'SELECT * FROM damaged_chunk').length, 1);
    const token = String(await login(dundun));
    const days = { token, method: 'PUT', json: 30 };
    const answer = await call(dundun, '/api/v2/devices/hall/retention_days', days);
    assert.equal(answer.status, 204, await answer.text());
    await dundun.stop();
    dundun = await startDundun({ folder: dundun.folder, ...withLimits({ ...limits, retentionRetryMs: 50 }) });
    const left = () => query(dundun.folder, 'SELECT 1 FROM chunk UNION ALL SELECT 1 FROM damaged_chunk').length;
    await until(() => left() === 0);
    assert.equal(await count('two'), 0);
    await dundun.stop();
    assert.equal((await runVerb(['check', dundun.folder])).code, 0);
  });
});

test('what came after a damaged chunk and is not compressed yet is read without it', async () => {
  const dundun = await startDundun(
    withLimits({ sealRowsMin: 1000, chunkDatapointsWanted: 100, mainThreadReadRows: 50 }),
  );
  await makeDevice(dundun, 'hall', ['one']);
  const path = '/api/v2/devices/hall/sensors/one/values';
  const push = async (from: number, count: number) => {
    const json = Array.from({ length: count }, (_, i) => ({ value: from + i, timestamp: at(from + i) }));
    assert.equal((await call(dundun, path, { json })).status, 204);
  };
  await push(0, 1000);
  await until(() => query(dundun.folder, 'SELECT * FROM log').length === 0);
  tamper(dundun.folder, "UPDATE chunk SET bytes = x'01' WHERE last >= 999000");
  await push(1000, 60);
  for (const lastN of [1, 5, 60]) {
    const answer = await call(dundun, `${path}?lastN=${lastN}`);
    assert.equal(answer.status, 200);
    assert.deepEqual(
      ((await answer.json()) as { value: number }[]).map(({ value }) => value),
      Array.from({ length: lastN }, (_, i) => 1059 - i),
    );
  }
  assert.equal((await call(dundun, `${path}?lastN=61`)).status, 500);
  assert.equal((await call(dundun, `${path}?dateFrom=${at(1000)}`)).status, 200);
  await dundun.stop();
});
