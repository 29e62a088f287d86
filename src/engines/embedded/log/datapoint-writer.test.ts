// What DatapointWriter stores beside the rows of the log: units of sealing, marks for removed sensors, receipts.
import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import { BatchBuilder } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { migratedInMemory } from '../database/migrate.ts';
import type { SealUnit } from '../sealing/seal-protocol.ts';
import { SealWriter } from '../sealing/seal-writer.ts';
import { SealingPass } from '../sealing/sealing.ts';
import { DatapointWriter } from './datapoint-writer.ts';

async function open() {
  const database = await migratedInMemory();
  const datapoints = new DatapointWriter(database, { followedSeq: () => -1 });
  const sealWriter = new SealWriter(database, datapoints);
  const push = (size: number, fill: (batch: BatchBuilder) => void) => {
    const batch = new BatchBuilder(size);
    fill(batch);
    datapoints.append(batch.build());
    datapoints.committed();
  };
  const pushTo = (sensors: number) =>
    push(sensors, (batch) => {
      for (let n = 1; n <= sensors; n++) batch.add(n as SensorKey, 1.7e12, 1.7e12, n);
    });
  return { database, datapoints, sealWriter, push, pushTo };
}

const count = (database: DatabaseSync, table: string) =>
  Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']);

test('a unit of sealing is taken in once, and only where the pass stands', async () => {
  const { database, pushTo, sealWriter } = await open();
  pushTo(3);
  const units: SealUnit[] = [];
  // Units of one sensor each, as several interrupted passes would make them.
  for (let next = 0; next <= 3; next++) {
    const [whole] = [...new SealingPass(database).units(3)] as [SealUnit];
    const isEnd = next === 3;
    const unit = {
      ...whole,
      chunks: whole.chunks.filter(({ sensor }) => sensor === next + 1),
      latest: whole.latest.filter(({ sensor }) => sensor === next + 1),
      nextSensor: isEnd ? Number.MAX_SAFE_INTEGER : next + 2,
    };
    units.push(unit);
    assert.equal(sealWriter.take(unit), true);
    for (const before of units) assert.equal(sealWriter.take(before), false);
  }
  assert.equal(count(database, 'chunk'), 3);
  while (!sealWriter.clearSome(3));
  assert.equal(count(database, 'log'), 0);
});

test('marks of removed sensors go with the log that may hold them, while datapoints of others keep coming', async () => {
  const { database, datapoints, pushTo, sealWriter } = await open();
  pushTo(3);
  database.exec('INSERT INTO purge (sensor) VALUES (2)');
  datapoints.sensorsRemoved();
  pushTo(1);
  const upTo = datapoints.beginPass(100);
  while (datapoints.purge());
  datapoints.purgeDue = false;
  assert.equal(count(database, 'purge'), 1);
  pushTo(1);
  for (const unit of new SealingPass(database).units(upTo)) assert.equal(sealWriter.take(unit), true);
  pushTo(1);
  while (!sealWriter.clearSome(upTo));
  pushTo(1);
  assert.equal(datapoints.purgeDue, true);
  while (datapoints.purge());
  assert.equal(count(database, 'purge'), 0);
  assert.deepEqual(
    database
      .prepare('SELECT DISTINCT sensor FROM chunk ORDER BY sensor')
      .all()
      .map(({ sensor }) => sensor),
    [1, 3],
  );
});

test('a removal that is rolled back marks nothing', async () => {
  const { datapoints, pushTo } = await open();
  datapoints.sensorsRemoved();
  datapoints.rolledBack();
  pushTo(1);
  assert.equal(datapoints.purgeDue, false);
});

test('receipts go when they are too old, however many callers there are', async () => {
  const { database, push } = await open();
  const dayMs = limits.idempotencyHours * 3_600_000;
  const callers = 400;
  for (let day = 0; day < 10; day++) {
    for (let n = 0; n < callers; n++)
      push(0, (batch) =>
        batch.addReceipt({
          id: `${day} ${n}`,
          caller: `caller ${n}`,
          bodyHash: '',
          answer: '',
          atMs: day * (dayMs + 1),
        }),
      );
  }
  assert.ok(count(database, 'receipt') <= callers + 1_000, `${count(database, 'receipt')} receipts`);
  assert.equal(Number(database.prepare('SELECT max(at) AS at FROM receipt').get()?.['at']), 9 * (dayMs + 1));
});

/** Receipts with the longest answers: `callers` by `each`. */
function pushReceipts(push: Awaited<ReturnType<typeof open>>['push'], callers: readonly string[], each: number): void {
  const answer = 'x'.repeat(limits.keptAnswerCharsMax);
  for (let n = 0; n < each; n++)
    for (const caller of callers)
      push(0, (batch) => batch.addReceipt({ id: `${caller} ${n}`, caller, bodyHash: '', answer, atMs: n }));
}

const receiptBytes = (database: DatabaseSync) =>
  Number(database.prepare('SELECT sum(octet_length(answer)) AS bytes FROM receipt').get()?.['bytes']);

test('the receipts of a caller take a bounded room, however long their answers are: the oldest go', async () => {
  const { database, push } = await open();
  pushReceipts(push, ['user', 'other'], 300);
  const most = 2 * (limits.idempotencyBytesMax + limits.idempotencyTrimmedBytes);
  assert.ok(receiptBytes(database) <= most, `${receiptBytes(database)} bytes`);
  assert.equal(Number(database.prepare('SELECT max(at) AS at FROM receipt').get()?.['at']), 299);
});

test('the receipts of guests take a bounded room, from however many addresses they come, and none of a user’s', async () => {
  const before = limits.idempotencyGuestBytesMax;
  Object.assign(limits, { idempotencyGuestBytesMax: 16 * 1024 * 1024 });
  const { database, push } = await open();
  pushReceipts(push, ['user'], 10);
  const addresses = Array.from({ length: 100 }, (_, n) => `address 10.0.0.${n}`);
  pushReceipts(push, addresses, 4);
  assert.ok(receiptBytes(database) <= 16 * 1024 * 1024, `${receiptBytes(database)} bytes`);
  assert.ok(receiptBytes(database) >= 8 * 1024 * 1024, 'the newest stay');
  assert.equal(Number(database.prepare("SELECT count(*) AS n FROM receipt WHERE caller = 'user'").get()?.['n']), 10);
  Object.assign(limits, { idempotencyGuestBytesMax: before });
});
