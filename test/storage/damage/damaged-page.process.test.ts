// A page of the database has changed on disk while datapoints of it are removed: what can be removed goes, the answer says
// what is left, other removals go on meanwhile, and the next start is not stopped by it.
import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { databaseFile } from '../../../src/engines/embedded/database/connection.ts';
import { query } from '../../support/database.ts';
import { call, type Dundun, login, makeDevice, readValues, startDundun, withLimits } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const seconds = 6_000;
const bounds = {
  sealRowsMin: 1,
  sealQuietRowsMin: 1,
  sealQuietMs: 50,
  chunkDatapointsWanted: 10,
  // A removal takes many steps, so that others have their turn between them.
  editStepPieces: 5,
};
const at = (second: number) => new Date(second * 1000).toISOString();
const first = 100;
const last = seconds - 100;
/** Of these datapoints no page is beside a damaged one: SQLite cannot take rows from such a neighbour either. */
const farSpan = `dateFrom=${at(4_000)}&dateTo=${at(5_000)}`;
const span = `dateFrom=${at(first)}&dateTo=${at(last)}`;

/** A service that was stopped with chunks of two sensors, and the number of its pages. */
async function withChunks(): Promise<{ readonly folder: string; readonly pageBytes: number }> {
  const dundun = await startDundun(withLimits(bounds));
  await makeDevice(dundun, 'hall', ['one', 'two']);
  for (const sensor of ['one', 'two']) {
    const json = Array.from({ length: seconds }, (_, i) => ({ value: i % 10, timestamp: at(i) }));
    assert.equal((await call(dundun, `/api/v2/devices/hall/sensors/${sensor}/values`, { json })).status, 204);
  }
  await until(() => query(dundun.folder, 'SELECT 1 FROM log LIMIT 1').length === 0);
  await dundun.stop();
  const { folder } = dundun;
  return { folder, pageBytes: Number(query(folder, 'PRAGMA page_size')[0]?.['page_size']) };
}

/** Fills a page of the file; returns what puts it right again. */
function spoil(folder: string, page: number, pageBytes: number): () => void {
  const file = join(folder, databaseFile);
  const whole = Buffer.alloc(pageBytes);
  const write = (bytes: Buffer) => {
    const descriptor = openSync(file, 'r+');
    readSync(descriptor, whole, 0, 0, null);
    writeSync(descriptor, bytes, 0, pageBytes, (page - 1) * pageBytes);
    closeSync(descriptor);
  };
  const descriptor = openSync(file, 'r');
  readSync(descriptor, whole, 0, pageBytes, (page - 1) * pageBytes);
  closeSync(descriptor);
  write(Buffer.alloc(pageBytes, 0xa5));
  return () => write(whole);
}

async function remove(dundun: Dundun, sensor: string, parameters = span) {
  const token = String(await login(dundun));
  const path = `/api/v2/devices/hall/sensors/${sensor}/values?${parameters}`;
  const answer = await call(dundun, path, { token, method: 'DELETE' });
  const body = (await answer.json()) as { readonly removed?: number; readonly detail?: string };
  return { status: answer.status, ...body };
}

const start = (folder: string) => startDundun({ folder, ...withLimits(bounds) });
const countChunks = (folder: string, sensor: string) =>
  Number(
    query(
      folder,
      `SELECT count(*) AS count FROM chunk WHERE sensor = (SELECT key FROM sensor WHERE id = '${sensor}')`,
    )[0]?.['count'],
  );

suite('a removal of datapoints that meets a damaged page', { timeout: 1_800_000 }, () => {
  test('goes on behind chunks whose page is damaged, and says how many stay', async () => {
    const { folder, pageBytes } = await withChunks();
    const [{ pageno = 0 } = {}] = query(
      folder,
      `SELECT pageno FROM dbstat WHERE name = 'chunk' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 2`,
    );
    const restore = spoil(folder, Number(pageno), pageBytes);
    const dundun = await start(folder);
    const { status, detail = '' } = await remove(dundun, 'one');
    assert.equal(status, 500, detail);
    const [, removed, unreadable] =
      /^(\d+) datapoints were removed\. (\d+) are damaged on disk and stay/.exec(detail) ?? [];
    assert.ok(Number(removed) > 4_000 && Number(unreadable) > 0, detail);
    const other = await remove(dundun, 'two', farSpan);
    assert.equal(other.status, 200, other.detail);
    assert.deepEqual(query(folder, 'SELECT * FROM deletion'), []);
    await dundun.stop();
    restore();
    const again = await start(folder);
    const { status: statusThen, removed: rest } = await remove(again, 'one');
    assert.deepEqual([statusThen, rest], [200, last - first + 1 - Number(removed)]);
    await again.stop();
  });

  test('ends where the index of chunks is damaged, is completed once that is put right, and holds nothing up', async () => {
    const { folder, pageBytes } = await withChunks();
    const before = countChunks(folder, 'one');
    // The last page of the index that has chunks of this sensor alone.
    const [{ pageno = 0 } = {}] = query(
      folder,
      `SELECT pageno FROM dbstat WHERE name = 'chunk_place' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 1`,
    );
    const restore = spoil(folder, Number(pageno), pageBytes);
    let dundun = await start(folder);
    const [one, two] = await Promise.all([
      remove(dundun, 'one', `${span}&value=3`),
      remove(dundun, 'two', `${span}&value=3`),
    ]);
    assert.equal(one.status, 500);
    assert.match(one.detail ?? '', /^\d+ datapoints were removed\. .*damaged/);
    assert.deepEqual([two.status, two.removed], [200, (last - first) / 10]);
    // Asked for once more, it is noted once.
    assert.equal((await remove(dundun, 'one', `${span}&value=3`)).status, 500);
    assert.equal(query(folder, 'SELECT * FROM deletion').length, 1);
    await dundun.stop();

    dundun = await start(folder);
    await until(() => dundun.stderr.includes('the storage is damaged'));
    assert.match(dundun.stderr, /A removal of datapoints of sensor one of device hall .*dundun check/);
    assert.equal(query(folder, 'SELECT * FROM deletion').length, 1);
    assert.equal((await remove(dundun, 'two', farSpan)).status, 200);
    await dundun.stop();

    restore();
    dundun = await start(folder);
    assert.deepEqual(query(folder, 'SELECT * FROM deletion'), []);
    const left = await readValues(dundun, 'hall', 'one');
    assert.deepEqual([left.length, left.slice(first, -100).includes(3)], [seconds - (last - first) / 10, false]);
    assert.ok(countChunks(folder, 'one') <= before);
    await dundun.stop();
  });
});
