// When datapoints are accepted, by the size of the data and the free space of the disk. The whole server:
// test/storage/data-cap.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DataUsage, StorageQuota } from './storage-quota.ts';

const MB = 1e6;
const bounds = {
  ...{ diskReserveBytesMax: 256 * MB, diskReserveShare: 0.05, diskWorkBytes: 96 * MB },
  ...{ storageRecoveredShare: 0.02, storageMeasuredMs: 1000, storageMeasuredMsMin: 0, storageFullRetryAfterS: 60 },
  diskMarginBytes: 4 * MB,
};
const plenty: DataUsage = {
  ...{ usedBytes: 10 * MB, freeBytes: 90_000 * MB, diskBytes: 100_000 * MB, reusableBytes: 0 },
  ...{ owedBytes: 0, unsealedBytes: 0, reserveBytes: 0, isReserveInUse: false },
};

/** A room that sees these one after the other, and says each time whether it is full. */
async function judged(bytesMax: number | undefined, ...usages: (Partial<DataUsage> | Error)[]): Promise<boolean[]> {
  const told: string[] = [];
  const log = Object.fromEntries(
    ['error', 'warn', 'info', 'debug'].map((level) => [level, (_: object, text: string) => told.push(text)]),
  ) as never;
  let next: Partial<DataUsage> | Error = plenty;
  const measure = async () => {
    if (next instanceof Error) throw next;
    return { ...plenty, ...next };
  };
  let compactions = 0;
  const compact = async () => {
    compactions += 1;
  };
  const storageQuota = new StorageQuota({
    measure,
    compact,
    waitingBytes: () => 0,
    storedBytesMax: bytesMax,
    bounds,
    log,
  });
  const full: boolean[] = [];
  for (const usage of usages) {
    next = usage;
    await storageQuota.refresh();
    full.push(storageQuota.refusalOf(1) !== undefined);
  }
  assert.equal(storageQuota.refusedDatapoints, full.filter(Boolean).length);
  // While there is no room the store is asked to take less.
  assert.equal(compactions > 0, full.includes(true));
  // It is told when it begins and when it ends, not each time.
  const changes = full.filter((isFull, i) => isFull !== (full[i - 1] ?? false)).length;
  assert.equal(told.filter((text) => /storage quota is (no longer )?reached/.test(text)).length, changes);
  return full;
}

test('the cap is kept, and left by a margin, so that it does not open and close with every push', async () => {
  const used = (megabytes: number) => ({ usedBytes: megabytes * MB });
  assert.deepEqual(await judged(100 * MB, used(99), used(100), used(99), used(98), used(97), used(99)), [
    ...[false, true, true, true, false, false],
  ]);
  assert.deepEqual(await judged(undefined, used(1e9)), [false]);
});

test('on a large disk 256 MB are left free, on a small one a twentieth', async () => {
  const free = (megabytes: number, diskMegabytes = 100_000) => ({
    freeBytes: megabytes * MB,
    diskBytes: diskMegabytes * MB,
  });
  assert.deepEqual(await judged(undefined, free(257), free(255), free(257), free(262)), [false, true, true, false]);
  assert.deepEqual(await judged(undefined, free(52, 1000), free(49, 1000)), [false, true]);
});

test('space that is free again inside the database counts, but not for the write-ahead log', async () => {
  const inside = (reusable: number, free: number) => ({ reusableBytes: reusable * MB, freeBytes: free * MB });
  assert.deepEqual(await judged(undefined, inside(500, 100), inside(500, 90), inside(500, 100)), [false, true, false]);
  assert.deepEqual(await judged(undefined, inside(100, 100)), [true]);
});

test('on a disk of any size there is room for the work on what is stored, even where others take all the rest', async () => {
  const small = { diskBytes: 60 * MB, owedBytes: 8 * MB };
  const held = (free: number, reserve: number, unsealed = 0) => ({
    ...{ ...small, freeBytes: free * MB, reserveBytes: reserve * MB, unsealedBytes: unsealed * MB },
  });
  // The log and a margin of 4 MB are left free, whatever is in the reserve.
  assert.deepEqual(await judged(undefined, held(12.1, 24), held(11.9, 24), held(12.1, 24), held(12.3, 24)), [
    ...[false, true, true, false],
  ]);
  // The reserve serves log and sealing.
  assert.deepEqual(await judged(undefined, held(12.1, 24, 15), held(12.1, 24, 17)), [false, true]);
  assert.deepEqual(await judged(undefined, held(40, 0, 15), held(30, 0, 15)), [false, true]);
  assert.deepEqual(await judged(undefined, { ...held(50, 0), isReserveInUse: true }, held(50, 0)), [true, false]);
});

test('what comes between two measurements counts against the room there was, and half of it has it measured anew', async () => {
  let freeBytes = 100 * MB;
  let waitingBytes = 0;
  let measurements = 0;
  const storageQuota = new StorageQuota({
    measure: async () => {
      measurements += 1;
      return { ...plenty, diskBytes: 200 * MB, freeBytes };
    },
    compact: async () => {},
    waitingBytes: () => waitingBytes,
    storedBytesMax: undefined,
    bounds,
    log: { debug() {}, info() {}, warn() {}, error() {}, fatal() {}, audit() {} },
  });
  await storageQuota.refresh();
  // 10 MB of 200 are left free, and each byte is written twice.
  const push = (megabytes: number) => {
    if (storageQuota.refusalOf(1) !== undefined) return false;
    storageQuota.accepted(megabytes * MB);
    return true;
  };
  assert.ok(push(20));
  assert.equal(measurements, 1);
  assert.ok(push(20) && push(20));
  assert.equal(measurements, 2);
  assert.equal(push(1), false);
  freeBytes = 50 * MB;
  waitingBytes = 5 * MB;
  await storageQuota.refresh();
  assert.ok(push(14) && push(2));
  assert.equal(push(1), false);
});

test('where it cannot be measured, what was known before holds', async () => {
  const unknown = new Error('the disk does not answer');
  assert.deepEqual(await judged(100 * MB, unknown, { usedBytes: 100 * MB }, unknown, { usedBytes: 1 }, unknown), [
    ...[false, true, true, false, false],
  ]);
});
