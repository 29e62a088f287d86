// The disk, or somebody who has locked the database, refuses a removal of datapoints that has begun: it is tried again, and
// its caller does not wait for ever.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openDatabase, query } from '../support/database.ts';
import { call, type Dundun, login, makeDevice, readValues, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const seconds = 3_000;
const at = (second: number) => new Date(second * 1000).toISOString();
const bounds = {
  sealRowsMin: 1,
  sealQuietRowsMin: 1,
  sealQuietMs: 50,
  chunkDatapointsWanted: 10,
  // Many steps, and a lock is waited for only shortly.
  editStepPieces: 1,
  databaseBusyMs: 20,
  editRetryMs: 20,
  editLeftRetryMs: 20,
};
const path = '/api/v2/devices/hall/sensors/one/values';

async function withChunks(more: Readonly<Record<string, number>>): Promise<Dundun> {
  const dundun = await startDundun(withLimits({ ...bounds, ...more }));
  await makeDevice(dundun, 'hall', ['one']);
  const json = Array.from({ length: seconds }, (_, i) => ({ value: i % 10, timestamp: at(i) }));
  assert.equal((await call(dundun, path, { json })).status, 204);
  await until(() => query(dundun.folder, 'SELECT 1 FROM log LIMIT 1').length === 0);
  return dundun;
}

/** Begins a removal, and locks the database once a part of it is stored. */
async function removeAndLock(dundun: Dundun) {
  const token = String(await login(dundun));
  const range = `dateFrom=${at(0)}&dateTo=${at(seconds)}&value=3`;
  const answer = call(dundun, `${path}?${range}`, { token, method: 'DELETE' });
  await until(() => query(dundun.folder, 'SELECT 1 FROM deletion').length === 1);
  const other = openDatabase(dundun.folder);
  other.exec('BEGIN IMMEDIATE');
  const unlock = () => {
    other.exec('ROLLBACK');
    other.close();
  };
  return { answer, unlock };
}

const isDone = async (dundun: Dundun) => {
  const left = await readValues(dundun, 'hall', 'one');
  return left.length === (seconds * 9) / 10 && !left.includes(3);
};

suite('a removal that has begun and is refused', { timeout: 600_000 }, () => {
  test('is tried again until it is done, and its caller waits for a while', async () => {
    const dundun = await withChunks({ editRetriesAnswered: 1_000_000 });
    const { answer, unlock } = await removeAndLock(dundun);
    const first = await Promise.race([answer, new Promise<'waits'>((resolve) => setTimeout(resolve, 500, 'waits'))]);
    assert.equal(first, 'waits');
    unlock();
    const { status } = await answer;
    assert.equal(status, 200);
    assert.ok(await isDone(dundun));
    await dundun.stop();
  });

  test('goes on without its caller, who is answered 503', async () => {
    const dundun = await withChunks({ editRetriesAnswered: 3 });
    const { answer, unlock } = await removeAndLock(dundun);
    assert.equal((await answer).status, 503);
    assert.equal(query(dundun.folder, 'SELECT 1 FROM deletion').length, 1);
    unlock();
    await until(() => query(dundun.folder, 'SELECT 1 FROM deletion').length === 0);
    assert.ok(await isDone(dundun));
    await dundun.stop();
  });
});
