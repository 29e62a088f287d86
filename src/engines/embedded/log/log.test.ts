// The format of log rows, and the length at which sealing begins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import { BatchBuilder } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { migratedInMemory } from '../database/migrate.ts';
import { SealControl } from '../sealing/seal-control.ts';
import type { SealUnit } from '../sealing/seal-protocol.ts';
import { SealWriter } from '../sealing/seal-writer.ts';
import { SealingPass } from '../sealing/sealing.ts';
import { DatapointWriter } from './datapoint-writer.ts';
import { DamagedRow, type LogRow, logColumns, toPiece } from './log.ts';
import { LogFollower } from './log-follower.ts';

const bytesInMemory = 32;

async function openWriter() {
  const database = await migratedInMemory();
  const datapoints = new DatapointWriter(database, { followedSeq: () => -1 });
  const sealWriter = new SealWriter(database, datapoints);
  const append = (count: number, text?: string) => {
    const batch = new BatchBuilder(count);
    for (let n = 0; n < count; n++)
      batch.add((n + 1) as SensorKey, 1.7e12 + n, 1.7e12 + n + (n % 7), n === 1 && text !== undefined ? text : n / 10);
    const built = batch.build();
    datapoints.append(built);
    datapoints.committed();
    return built;
  };
  return { database, datapoints, sealWriter, append };
}

test('few datapoints are packed into a third of their bytes, and many, or texts, lie as they came', async () => {
  const { database, append } = await openWriter();
  const { logPackedDatapointsMax: most } = limits;
  const batches = [append(20), append(most), append(most + 1), append(20, '"open"')];
  const rows = database.prepare(`SELECT ${logColumns} FROM log ORDER BY first_seq`).all() as unknown as LogRow[];
  assert.deepEqual(
    rows.map(({ datapoints, rows }) => rows.length <= (datapoints * bytesInMemory) / 3),
    [true, true, false, false],
  );
  assert.deepEqual(rows.slice(2).map(({ datapoints, rows }) => rows.length / datapoints), [bytesInMemory, bytesInMemory]); // biome-ignore format: one line
  for (const [n, { rows: numbers, texts }] of batches.entries()) {
    const piece = toPiece(rows[n] as LogRow);
    assert.ok(!(piece instanceof DamagedRow));
    assert.deepEqual([piece.rows, piece.texts], [numbers, texts]);
  }
});

test('the first pass of sealing begins with some datapoints of each sensor there is', async () => {
  const { datapoints, append, sealWriter } = await openWriter();
  const isDueWith = (sensors: number) => {
    const [onUnit, onSealed, onFailure, onDamaged] = Array(4).fill(() => {});
    return new SealControl({
      startSealer: () => assert.fail('no pass begins here'),
      datapoints,
      sealWriter,
      countSensors: () => sensors,
      onUnit,
      onSealed,
      onFailure,
      onDamaged,
    }).isDue;
  };
  const appendUpTo = (rows: number) => {
    while (datapoints.logRows < rows) append(Math.min(30_000, rows - datapoints.logRows));
  };
  appendUpTo(limits.sealRowsMin - 1);
  assert.deepEqual([1, 1e6].map(isDueWith), [false, false]);
  appendUpTo(limits.sealRowsMin);
  const many = limits.sealRowsMin / limits.sealRowsPerSensor;
  assert.deepEqual([1, many, many + 1, 1e6].map(isDueWith), [true, true, false, false]);
  appendUpTo(limits.sealRowsMax);
  assert.deepEqual([many + 1, 1e6].map(isDueWith), [true, true]);
});

test('a row of a release that made no checksum is read where it can be true', async () => {
  const { database, append } = await openWriter();
  const { rows: numbers } = append(200, '"open"');
  const [row] = database.prepare(`SELECT ${logColumns} FROM log`).all() as unknown as [LogRow];
  const old = { ...row, checksum: null };
  const piece = toPiece(old);
  assert.ok(!(piece instanceof DamagedRow));
  assert.deepEqual([piece.rows, piece.texts], [numbers, ['"open"']]);
  const withNumber = (place: number, number: number) => {
    const rows = row.rows.slice();
    new DataView(rows.buffer).setFloat64(place * 8, number, true);
    return { ...old, rows };
  };
  for (const [damaged, fault] of [
    [withNumber(0, 0.5), /the sensor 0.5/],
    [withNumber(1, 1e300), /no time/],
    [withNumber(2, Number.NaN), /no time/],
    [withNumber(3, Number.NaN), /1 texts where 2/],
    [{ ...old, texts: null }, /0 texts where 1/],
    [{ ...old, texts: '"a"' }, /no list/],
    [{ ...old, texts: '["{"]' }, /no JSON/],
    [{ ...old, datapoints: 0 }, /has 0 datapoints/],
  ] as const) {
    const found = toPiece(damaged);
    assert.match(found instanceof DamagedRow ? found.fault : 'none', fault);
  }
});

test('the log goes on behind a last row that does not know its number of datapoints, and goes up to where it is sealed', async () => {
  for (const number of [-28, 0, 1, 2 ** 40]) {
    const { database, append } = await openWriter();
    append(20);
    append(20);
    database.exec(`UPDATE log SET datapoints = ${number} WHERE first_seq = 21`);
    const datapoints = new DatapointWriter(database, { followedSeq: () => 0 });
    const sealWriter = new SealWriter(database, datapoints);
    const batch = new BatchBuilder(1);
    batch.add(1 as SensorKey, 1.7e12, 1.7e12, 1);
    const first = datapoints.append(batch.build());
    datapoints.committed();
    assert.ok(first > 21, `${number}: ${first}`);
    const units = [...new SealingPass(database).units(datapoints.lastSeq)];
    assert.deepEqual(units[0]?.damage?.firstSeqs, [21]);
    for (const unit of units) assert.equal(sealWriter.take(unit), true);
    while (!sealWriter.clearSome(datapoints.lastSeq));
    const count = (table: string) => database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'];
    assert.deepEqual([count('log'), count('damaged_log'), count('chunk')], [0, 1, 20]);
    // Rows that the follower has not read are kept when the log is sealed.
    const follower = new LogFollower(database, new SharedArrayBuffer(8));
    assert.deepEqual([follower.readAfter(20).map(({ seq }) => seq), follower.readAfter(first)], [[first], []]);
  }
});

test('no more of the log goes than is sealed, whatever a row in it says', async () => {
  const { database, append, sealWriter } = await openWriter();
  append(20);
  append(20);
  append(20);
  database.exec('UPDATE log SET datapoints = 30000 WHERE first_seq = 21');
  while (!sealWriter.clearSome(40));
  assert.deepEqual(
    database
      .prepare('SELECT first_seq FROM log')
      .all()
      .map((row) => row['first_seq']),
    [41],
  );
});

test('a pass ends where a row ends, and not behind the last, whatever a row in it says', async () => {
  for (const [begins, number, upTo] of [
    [21, 30_000, 60],
    [21, 30, 60],
    [41, 30_000, 60],
    [21, 0, 21],
    [21, 20, 40],
  ] as const) {
    const { database, datapoints, append } = await openWriter();
    for (let n = 0; n < 3; n++) append(20);
    database.exec(`UPDATE log SET datapoints = ${number} WHERE first_seq = ${begins}`);
    assert.equal(datapoints.beginPass(begins === 41 ? 45 : 25), upTo, `${begins} ${number}`);
  }
});

test('what one run of a pass could not read is set aside with the first that it writes, in case the next can', async () => {
  const { database, append, sealWriter } = await openWriter();
  append(20);
  append(20);
  const whole = database.prepare('SELECT checksum FROM log WHERE first_seq = 21').get()?.['checksum'];
  database.exec('UPDATE log SET checksum = 1 WHERE first_seq = 21');
  const [unit] = [...new SealingPass(database).units(40)] as [SealUnit];
  const { end: _, ...first } = {
    ...unit,
    nextSensor: 10,
    chunks: unit.chunks.slice(0, 9),
    latest: unit.latest.slice(0, 9),
  };
  assert.equal(sealWriter.take(first), true);
  database.exec(`UPDATE log SET checksum = ${whole} WHERE first_seq = 21`);
  assert.equal(database.prepare('SELECT count(*) AS count FROM damaged_log').get()?.['count'], 1);
  const [rest] = [...new SealingPass(database).units(40)] as [SealUnit];
  assert.deepEqual([rest.fromSensor, rest.damage], [10, { firstSeqs: [], descriptions: [] }]);
});
