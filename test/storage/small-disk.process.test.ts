// A disk with little room: pushes stop before it is full, and when others fill it to the last byte, what was held back for
// that serves: removals, sign-in, sealing and a start always work, nothing acknowledged is lost (I1), and pushes go on by
// themselves when there is room again.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../src/config/limits.ts';
import { databaseFile } from '../../src/engines/embedded/database/connection.ts';
import { reserveFile } from '../../src/engines/embedded/database/disk-reserve.ts';
import { Ledger } from '../support/crash/ledger.ts';
import { push } from '../support/crash/pushers.ts';
import { isIntact, openDatabase } from '../support/database.ts';
import {
  call,
  type Dundun,
  figuresOf,
  login,
  makeDevice,
  runVerb,
  startDundun,
  withLimits,
} from '../support/process.ts';
import { SmallDisk, withoutSmallDisks } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const MB = 1e6;
/** How soon pushes are to go on. */
const recoveryMsMax = 30_000;
const atOnce = { reserveStepMs: 5 };

suite('a small disk', { timeout: 1_800_000, skip: withoutSmallDisks }, () => {
  for (const megabytes of [44, 70]) {
    test(`of ${megabytes} MB, filled by pushes and then by others, is one that removals and a start need nothing of`, async () => {
      const disk = new SmallDisk(megabytes * MB);
      let dundun = await start(disk);
      const ledger = new Ledger('kept');
      await makeDevice(dundun, 'kept', ['s']);
      for (let n = 0; n < 4; n++) await makeDevice(dundun, `large-${n}`, ['s']);
      await until(() => sizeOf(disk, reserveFile) >= limits.reserveFileBytes);
      await pushSome(dundun, ledger);

      const { stored, refusal } = await fill(dundun);
      assert.ok(stored > 0, 'nothing at all was taken');
      assert.equal(refusal.status, 507);
      assert.match(await refusal.text(), /There is no room for more/);
      // Pushes need nothing of the reserve; sealing, which makes room, may.
      assert.ok(sizeOf(disk, reserveFile) >= limits.reserveFileBytes - limits.reserveGivenStep);
      assert.match(await readiness(dundun), /^200 no room for more datapoints: .* free space on it, or remove data$/);

      disk.fill();
      assert.equal(await pushSome(dundun, ledger), false);
      await staysAlive(dundun, ledger, 'large-0');
      disk.fill();
      await dundun.stop('SIGKILL');
      disk.fill();
      dundun = await start(disk);
      await staysAlive(dundun, ledger, 'large-1');
      disk.fill();
      await dundun.stop('SIGTERM');
      disk.fill();
      dundun = await start(disk);
      await staysAlive(dundun, ledger, 'large-2');

      disk.setRoom(megabytes * MB);
      await until(() => pushSome(dundun, ledger), { everyMs: 100, msMax: recoveryMsMax });
      assert.equal(await readiness(dundun), '200 ok');
      await until(() => sizeOf(disk, reserveFile) >= limits.reserveFileBytes);
      await ledger.verify(dundun);
      await dundun.stop('SIGTERM');
      assert.ok(isIntact(disk.folder));
    });
  }

  test('full while a long log waits to be sealed seals it, and tells of each change in one line', async () => {
    const disk = new SmallDisk(100 * MB);
    const dundun = await start(disk);
    const ledger = new Ledger('kept');
    await makeDevice(dundun, 'kept', ['s']);
    await until(() => sizeOf(disk, reserveFile) >= limits.reserveFileBytes);
    await makeDevice(dundun, 'large', ['s']);
    for (let n = 0; n < 4; n++) {
      await pushSome(dundun, ledger, 1_000);
      await call(dundun, '/api/v2/devices/large/sensors/s/values', { json: largeValues(80) });
    }
    assert.equal(await figure(dundun, 'dundun_log_datapoints'), 4_320);
    disk.fill();
    const isSealed = async () => (await figure(dundun, 'dundun_log_datapoints')) === 0;
    await until(isSealed, { everyMs: 50, msMax: 60_000, otherwise: () => dundun.stderr });
    assert.equal(await pushSome(dundun, ledger), false);
    assert.ok((await figure(dundun, 'dundun_disk_reserve_bytes')) < limits.reserveFileBytes);
    disk.setRoom(100 * MB);
    await until(() => pushSome(dundun, ledger), { everyMs: 100, msMax: recoveryMsMax });
    await ledger.verify(dundun);
    const lines = dundun.stderr.split('\n').filter((line) => /the disk (is full|has room)/.test(line));
    assert.deepEqual(
      lines.map((line) => /"msg":"(the disk[^:]*)/.exec(line)?.[1]),
      ['the disk is full', 'the disk has room again'],
    );
    assert.doesNotMatch(dundun.stderr, /"level":50/);
    await dundun.stop();
  });

  test('that is filled while pushes wait refuses them, and takes the removal that waits behind them', async () => {
    const disk = new SmallDisk(200 * MB);
    const dundun = await startDundun({
      folder: disk.folder,
      ...withLimits({ ...atOnce, databaseBusyMs: 60_000 }, disk.settings),
    });
    await makeDevice(dundun, 'kept', ['s']);
    await makeDevice(dundun, 'large', ['s']);
    await until(() => sizeOf(disk, reserveFile) >= limits.reserveFileBytes);
    // Nothing is committed until all of it waits.
    const database = openDatabase(disk.folder);
    database.exec('BEGIN IMMEDIATE');
    const waiting = async () => figure(dundun, 'dundun_datapoints_waiting');
    const path = '/api/v2/devices/kept/sensors/s/values';
    const first = call(dundun, path, { json: largeValues(60) });
    await until(async () => (await waiting()) === 60);
    const second = call(dundun, path, { json: largeValues(60) });
    await until(async () => (await waiting()) === 120);
    const removal = call(dundun, '/api/v2/devices/large', { method: 'DELETE' });
    await until(async () => (await waiting()) === 121);
    disk.fill();
    database.exec('ROLLBACK');
    database.close();
    assert.deepEqual([(await first).status, (await second).status], [507, 507]);
    const { status } = await removal;
    assert.equal(status, 204, await (await removal).text());
    assert.equal((await call(dundun, '/api/v2/devices/large')).status, 404);
    await dundun.stop();
  });

  test('where the reserve cannot be had is started all the same, and said so', async () => {
    const disk = new SmallDisk(24 * MB);
    const dundun = await start(disk);
    await until(() => dundun.stderr.includes('the disk has no room for all of the reserve'));
    await makeDevice(dundun, 'd', ['s']);
    assert.equal(await login(dundun).then((token) => typeof token), 'string');
    assert.equal((await call(dundun, '/api/v2/devices/d', { method: 'DELETE' })).status, 204);
    await dundun.stop();
  });

  test('that has no room for a backup is not filled by one', async () => {
    const dundun = await startDundun();
    await makeDevice(dundun, 'd', ['s']);
    await dundun.stop();
    const disk = new SmallDisk(300_000);
    const settings = { ...disk.settings, DUNDUN_DATA_DIR: dundun.folder };
    const refused = await runVerb(['backup', join(disk.folder, 'backup')], { settings });
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /has 0\.3 MB left, and the backup takes 0\.\d MB\. Free space on it, or choose another\./,
    );
    assert.equal(disk.usedBytes, 0);
    // The service keeps some of that for itself.
    disk.setRoom(20 * MB);
    const made = await runVerb(['backup', join(disk.folder, 'backup')], { settings });
    assert.equal(made.code, 0, made.stderr);
  });
});

test('reads that follow one another without a gap do not make the write-ahead log grow without end', async () => {
  const bounds = { walPagesMax: 100, walBytesKept: 2 * MB, walWaitMs: 2_000, walRetryMs: 20, walLookMs: 0 };
  const dundun = await startDundun(withLimits(bounds));
  await makeDevice(dundun, 'd', ['s']);
  let isOver = false;
  const reading = readWithoutGap(dundun, () => isOver);
  let largest = 0;
  for (let n = 0; n < 60; n++) {
    const answer = await call(dundun, '/api/v2/devices/d/sensors/s/values', { json: largeValues(20) });
    assert.equal(answer.status, 204);
    largest = Math.max(largest, statSync(join(dundun.folder, `${databaseFile}-wal`)).size);
  }
  isOver = true;
  await reading;
  // 60 pushes of 0.4 MB make 38 MB where nothing bounds it.
  assert.ok(largest < 10 * MB, `the log reached ${largest} bytes`);
  await dundun.stop();
});

/** Reads of 60 ms each, of which the next begins before the one before it ends. */
async function readWithoutGap({ folder }: Dundun, isOver: () => boolean): Promise<void> {
  const readers = [openDatabase(folder, { readOnly: true }), openDatabase(folder, { readOnly: true })] as const;
  for (let n = 0; !isOver(); n++) {
    const [next, last] = n % 2 === 0 ? readers : [readers[1], readers[0]];
    next.exec('BEGIN');
    next.prepare('SELECT count(*) FROM sensor').get();
    if (last.isTransaction) last.exec('COMMIT');
    await pause(60);
  }
  for (const reader of readers) reader.close();
}

function start({ folder, settings }: SmallDisk): Promise<Dundun> {
  const options = withLimits(atOnce, settings);
  return startDundun({ ...options, folder });
}

/**
 * Reads, sign-in and removals work, and all that was acknowledged is there. Pushes are answered: with 507, or stored where
 * what was removed has made room.
 */
async function staysAlive(dundun: Dundun, ledger: Ledger, device: string): Promise<void> {
  await pushSome(dundun, ledger);
  assert.equal(typeof (await login(dundun)), 'string');
  assert.equal((await call(dundun, `/api/v2/devices/${device}`, { method: 'DELETE' })).status, 204);
  assert.equal((await call(dundun, `/api/v2/devices/${device}`)).status, 404);
  assert.match(await readiness(dundun), /^200 /);
  await ledger.verify(dundun);
}

/** Pushes large values until they are refused for good. */
async function fill(dundun: Dundun): Promise<{ stored: number; refusal: Response }> {
  let stored = 0;
  for (let n = 0; ; n++) {
    const refusal = await call(dundun, `/api/v2/devices/large-${n % 4}/sensors/s/values`, { json: largeValues(60) });
    if (refusal.ok) stored += 1;
    else if (!(await goesOn(dundun))) return { stored, refusal };
  }
}

/** Whether there is room again soon, because what was there has been compressed. */
async function goesOn(dundun: Dundun): Promise<boolean> {
  const isOk = async () => (await readiness(dundun)) === '200 ok';
  return until(isOk, { everyMs: 100, msMax: 1_500 }).then(
    () => true,
    () => false,
  );
}

/** Each 20 KB that cannot be compressed to less than 15. */
const largeValues = (count: number) =>
  Array.from({ length: count }, () => ({ value: randomBytes(15_000).toString('base64') }));

/** Whether a push was stored; any other answer but 507 is wrong. */
async function pushSome(dundun: Dundun, ledger: Ledger, count = 1): Promise<boolean> {
  const sent = ledger.enter('s', count);
  await push({ server: dundun, ledger }, sent, [507]);
  assert.ok(sent.told !== 'open', 'a push was not answered');
  return sent.told === 'stored';
}

async function readiness(dundun: Dundun): Promise<string> {
  const answer = await call(dundun, '/health/ready');
  return `${answer.status} ${((await answer.json()) as { status: string }).status}`;
}

async function figure(dundun: Dundun, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await figuresOf(dundun))?.[1] ?? Number.NaN);
}

function sizeOf({ folder }: SmallDisk, name: string): number {
  return statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
}
