// More pushes than the disk can take: the queue fills up to its bound, further pushes are refused with Retry-After and
// store nothing, memory stays bounded, and afterwards everything works as before (I4).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { memoryBytesDefault } from '../../src/config/memory-profile.ts';
import { Ledger } from '../support/crash/ledger.ts';
import { push, startPusher } from '../support/crash/pushers.ts';
import { openDatabase } from '../support/database.ts';
import { call, type Dundun, makeDevice, startDundun, withLimits } from '../support/process.ts';
import { readDatapoints, withDatabase } from '../support/rows.ts';
import { until } from '../support/until.ts';

const arraySize = limits.pushDatapointsMax;
const arraysThatFit = Math.floor(limits.queueDatapointsMax / arraySize);
const standstillMsMax = 300_000;

suite('overload', { timeout: standstillMsMax }, () => {
  test('while the disk stands still the queue fills; what is beyond is refused, and none is stored in part', async () => {
    // The disk stands still until the test lets it go on, however long it takes to send all that.
    const dundun = await startDundun(withLimits({ databaseBusyMs: standstillMsMax }));
    await makeDevice(dundun, 'd', ['s']);
    const ledger = new Ledger('d');
    const release = holdUpCommits(dundun);
    const pushes = Array.from({ length: arraysThatFit * 2 }, () => ledger.enter('s', arraySize));
    const answered = pushes.map((sent) => push({ server: dundun, ledger }, sent));
    await until(() => ledger.count('refused') >= pushes.length - arraysThatFit);
    // Full: also for one datapoint; but who only reads is served.
    const one = await call(dundun, '/api/v2/devices/d/sensors/s/value', { json: { value: 0 } });
    assert.equal(one.status, 503);
    assert.ok(Number(one.headers.get('retry-after')) >= 1);
    assert.equal(((await one.json()) as { type: string }).type, 'urn:dundun:problem:busy');
    assert.equal((await call(dundun, '/api/v2/devices/d')).status, 200);
    assert.equal(ledger.count('stored'), 0);
    release();
    await Promise.all(answered);
    assert.equal(ledger.count('stored'), arraysThatFit);
    await ledger.verify(dundun);
    const after = ledger.enter('s');
    await push({ server: dundun, ledger }, after);
    assert.equal(after.told, 'stored');
    await ledger.verify(dundun);
    await dundun.stop();
  });

  test('pushing faster than the disk leaves memory flat, and nothing in part', async (t) => {
    const dundun = await startDundun();
    await makeDevice(dundun, 'd', ['s']);
    const ledger = new Ledger('d');
    const pushers = Array.from({ length: 12 }, () =>
      startPusher({ server: dundun, ledger, sensor: 's', size: () => arraySize }),
    );
    let mostBytes = 0;
    const endMs = performance.now() + 3_000;
    await until(() => {
      mostBytes = Math.max(mostBytes, dundun.takenBytes());
      return performance.now() >= endMs && ledger.count('refused') > 0;
    });
    for (const pusher of pushers) pusher.stop();
    await Promise.all(pushers.map((pusher) => pusher.done));
    const stored = ledger.pushesTo('s').filter((sent) => sent.told === 'stored');
    t.diagnostic(`${Math.round(mostBytes / 2 ** 20)} MiB; ${stored.length} stored, ${ledger.count('refused')} refused`);
    assert.ok(mostBytes <= memoryBytesDefault, `${mostBytes} bytes`);
    await dundun.stop();
    // Hundreds of thousands of rows: counted where they lie.
    const values = new Set(withDatabase(dundun.folder, readDatapoints).map(({ value }) => Number(value)));
    const counts = Map.groupBy(values, (value) => Math.floor((value - 1) / arraySize) * arraySize + 1);
    assert.deepEqual(
      [...counts].map(([first, { length }]) => [first, length]).sort(([a = 0], [b = 0]) => a - b),
      stored.map(({ first, count }) => [first, count]),
    );
  });
});

/** Takes the database's one right to write, as a disk that does not answer would; the function given back returns it. */
function holdUpCommits(dundun: Dundun): () => void {
  const database = openDatabase(dundun.folder);
  database.exec('BEGIN IMMEDIATE');
  return () => {
    database.exec('ROLLBACK');
    database.close();
  };
}
