// How datapoints lie in the log, and when it is long enough for a pass of sealing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../config/limits.ts';
import { BatchBuilder } from '../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../domain/sensors/sensor.ts';
import { DatapointWriter } from './datapoint-writer.ts';
import { DamagedRow, type LogRow, logColumns, toPiece } from './log.ts';
import { migratedInMemory } from './migrate.ts';
import { SealControl } from './seal-control.ts';

const bytesInMemory = 32;

async function openWriter() {
  const database = await migratedInMemory();
  const datapoints = new DatapointWriter(database, { followedSeq: () => -1 });
  const append = (count: number, text?: string) => {
    const batch = new BatchBuilder(count);
    for (let n = 0; n < count; n++)
      batch.add((n + 1) as SensorKey, 1.7e12 + n, 1.7e12 + n + (n % 7), n === 1 && text !== undefined ? text : n / 10);
    const built = batch.build();
    datapoints.append(built);
    datapoints.committed();
    return built;
  };
  return { database, datapoints, append };
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
  const { datapoints, append } = await openWriter();
  const isDueWith = (sensors: number) => {
    const [onSealed, onTrouble, onDamaged] = Array(3).fill(() => {});
    return new SealControl({ path: '', datapoints, countSensors: () => sensors, onSealed, onTrouble, onDamaged }).isDue;
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
