// Sealing fails although the disk works, simulated by a trigger in the database: the log is held in memory up to its
// bound; beyond it datapoints are refused with a reason, everything else works, and the service recovers by itself. No
// acknowledged datapoint is lost (I1, I4).
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { databaseFile } from '../../../src/engines/embedded/database/connection.ts';
import { Ledger } from '../../support/crash/ledger.ts';
import { push } from '../../support/crash/pushers.ts';
import { query, tamper } from '../../support/database.ts';
import { Publisher } from '../../support/mqtt/mqtt-publisher.ts';
import { call, type Dundun, figuresOf, makeDevice, startDundun, withLimits } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const limits = {
  ...{ sealRowsMin: 500, sealRowsMax: 500, sealRetryMs: 100, headRowsMax: 2_000 },
  ...{ sealTextCharsMax: 10_000, headTextCharsMax: 30_000, storageProbeMs: 100 },
};
const failing =
  "CREATE TRIGGER no_chunks BEFORE INSERT ON chunk BEGIN SELECT RAISE(ABORT, 'a chunk that cannot be written'); END";
const values = '/api/v2/devices/d/sensors/s/values';

suite('while sealing fails', { timeout: 1_800_000 }, () => {
  const ledger = new Ledger('d');
  const publisher = new Publisher({ ledger, sensor: 'mqtt', qos: 1, clientId: 'p', window: 5 });
  let dundun: Dundun;

  before(async () => {
    dundun = await startDundun(withLimits(limits));
    await makeDevice(dundun, 'd', ['s', 'mqtt']);
    tamper(dundun.folder, failing);
  });
  after(() => dundun.stop());

  const figure = async (name: string) => {
    const text = await figuresOf(dundun);
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  };
  const readiness = async () => {
    const answer = await call(dundun, '/health/ready');
    return [answer.status, ((await answer.json()) as { status: string }).status] as const;
  };
  const fill = async (perPush: number) => {
    let sent = ledger.enter('s', perPush);
    for (await push({ server: dundun, ledger }, sent); sent.told === 'stored'; ) {
      sent = ledger.enter('s', perPush);
      await push({ server: dundun, ledger }, sent);
    }
    assert.equal(sent.told, 'refused');
  };

  test('datapoints are refused beyond the bound, by every door, and the service says so', async () => {
    await fill(300);
    const rows = await figure('dundun_log_datapoints');
    assert.ok(rows > limits.headRowsMax && rows <= limits.headRowsMax + 300, `${rows} datapoints in memory`);
    const answer = await call(dundun, values, { json: { value: -1 } });
    const problem = (await answer.json()) as { type: string; detail: string };
    assert.deepEqual([answer.status, problem.type], [503, 'urn:dundun:problem:storage']);
    assert.match(problem.detail, /compress.*Nothing of this request was stored/);
    assert.equal(answer.headers.get('retry-after'), '10');
    const [status, reason] = await readiness();
    assert.equal(status, 503);
    assert.match(reason, /can be compressed/);
    assert.equal(await figure('dundun_storage_refuses'), 1);
    assert.match(dundun.stderr, /a chunk that cannot be written/);
    await publisher.connect(dundun.ports);
    await publisher.closed;
    assert.ok(ledger.pushesTo('mqtt').every(({ told }) => told === 'open'));
  });

  test('reads and changes of records go on', async () => {
    await ledger.verify(dundun);
    await makeDevice(dundun, 'e', ['s']);
    assert.equal((await call(dundun, '/api/v2/devices/e', { method: 'DELETE' })).status, 204);
    assert.equal((await call(dundun, values, { json: [] })).status, 204);
  });

  test('a kill loses nothing, and the bound holds at the next start', async () => {
    await dundun.stop('SIGKILL');
    dundun = await startDundun({ folder: dundun.folder, ...withLimits(limits) });
    await ledger.verify(dundun);
    await fill(1);
    await ledger.verify(dundun);
  });

  test('all goes on by itself when sealing does not fail any more', async () => {
    tamper(dundun.folder, 'DROP TRIGGER no_chunks');
    await until(async () => (await readiness())[0] === 200);
    assert.deepEqual(await readiness(), [200, 'ok']);
    assert.equal(await figure('dundun_storage_refuses'), 0);
    const sent = ledger.enter('s', 300);
    await push({ server: dundun, ledger }, sent);
    assert.equal(sent.told, 'stored');
    await publisher.connect(dundun.ports);
    await publisher.finish();
    publisher.end();
    await ledger.verify(dundun);
  });

  test('texts are held up to a bound of their own', async () => {
    tamper(dundun.folder, failing);
    const push = async () => (await call(dundun, values, { json: { value: 'x'.repeat(5_000) } })).status;
    let stored = 0;
    while ((await push()) === 204) stored += 1;
    assert.ok(stored >= 5 && stored <= 7, `${stored} were stored`);
    assert.equal((await readiness())[0], 503);
    tamper(dundun.folder, 'DROP TRIGGER no_chunks');
    await until(async () => (await readiness())[0] === 200);
    assert.equal(await push(), 204);
  });
});

test('a damaged page of the table of chunks is told by readiness, and what was acknowledged stays readable', {
  timeout: 1_800_000,
}, async () => {
  let dundun = await startDundun(withLimits(limits));
  await makeDevice(dundun, 'd', ['old', 'new']);
  const { folder } = dundun;
  const pushTo = async (sensor: string, count: number) => {
    const json = Array.from({ length: count }, (_, n) => ({ value: n }));
    return (await call(dundun, `/api/v2/devices/d/sensors/${sensor}/values`, { json })).status;
  };
  assert.equal(await pushTo('old', limits.sealRowsMin), 204);
  await until(() => query(folder, 'SELECT * FROM log').length === 0);
  await dundun.stop();
  overwritePage(folder, "SELECT rootpage AS page FROM sqlite_master WHERE name = 'chunk_place'");
  dundun = await startDundun({ folder, ...withLimits(limits) });
  let stored = 0;
  while ((await pushTo('new', 100)) === 204) stored += 100;
  assert.ok(stored > limits.headRowsMax, `${stored} were stored`);
  // Readiness must say so all the time, also after a probe has shown that the disk takes writes: hence the waits for the
  // next probe.
  for (let n = 0; n < 3; n++) {
    const answer = await call(dundun, '/health/ready');
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /can be compressed|malformed/);
    await new Promise((resolve) => setTimeout(resolve, limits.storageProbeMs * 1.5));
  }
  assert.match(dundun.stderr, /malformed/);
  await dundun.stop();
});

test('what goes with the log and cannot be forgotten just then does not hold up the service', {
  timeout: 1_800_000,
}, async () => {
  const dundun = await startDundun(withLimits({ ...limits, clearRowsStep: 5 }));
  await makeDevice(dundun, 'd', ['s']);
  const rows = (table: string) => query(dundun.folder, `SELECT * FROM ${table}`).length;
  const pushQuiet = async (count: number) => {
    const json = Array.from({ length: count }, () => ({ value: 'x'.repeat(300) }));
    const answer = await call(dundun, values, { json, headers: { prefer: 'notify=none' } });
    assert.equal(answer.status, 204, await answer.text());
  };
  // More of it than goes with the first step, which is all of the log.
  const runs = Array.from({ length: 20 }, (_, n) => `(${-n - 1}, ${-n - 1})`);
  tamper(
    dundun.folder,
    `INSERT INTO rules_skipped (first_seq, last_seq) VALUES ${runs};
     CREATE TRIGGER unforgotten BEFORE DELETE ON rules_skipped WHEN old.first_seq > -10 BEGIN SELECT RAISE(ABORT, 'it stays'); END`,
  );
  // As many texts as may be in the log: whoever writes then waits for sealing.
  await pushQuiet(100);
  await pushQuiet(1);
  assert.ok(rows('rules_skipped') >= 10);
  tamper(dundun.folder, 'DROP TRIGGER unforgotten');
  await pushQuiet(100);
  await pushQuiet(1);
  await until(() => rows('rules_skipped') <= 1);
  await dundun.stop();
});

test('texts that are in the log when the service starts count as those that come', { timeout: 1_800_000 }, async () => {
  let dundun = await startDundun(withLimits(limits));
  const text = async (chars: number) => {
    assert.equal((await call(dundun, values, { json: { value: 'x'.repeat(chars) } })).status, 204);
  };
  const logged = () => query(dundun.folder, 'SELECT * FROM log').length;
  await makeDevice(dundun, 'd', ['s']);
  await text(limits.sealTextCharsMax - 1_000);
  await dundun.stop('SIGKILL');
  dundun = await startDundun({ folder: dundun.folder, ...withLimits(limits) });
  assert.equal(logged(), 1);
  await text(1_000);
  await until(() => logged() === 0);
  await dundun.stop();
});

/** With zeros, as a file system leaves what it has lost. The service is not running. */
function overwritePage(folder: string, sql: string): void {
  const [{ page } = {}] = query(folder, sql);
  const path = join(folder, databaseFile);
  const bytes = readFileSync(path);
  bytes.fill(0, (Number(page) - 1) * 4096, Number(page) * 4096);
  writeFileSync(path, bytes);
}
