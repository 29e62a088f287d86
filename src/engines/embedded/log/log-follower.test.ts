// A log follower skips damaged rows, however many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchBuilder } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { migratedInMemory } from '../database/migrate.ts';
import { SealWriter } from '../sealing/seal-writer.ts';
import { DatapointWriter } from './datapoint-writer.ts';
import { LogFollower } from './log-follower.ts';

test('damaged rows are passed over, those that are kept for the rules too', async () => {
  const database = await migratedInMemory();
  const datapoints = new DatapointWriter(database, { followedSeq: () => 0 });
  const sealWriter = new SealWriter(database, datapoints);
  const rows = 1_200;
  for (let n = 1; n <= rows; n++) {
    const batch = new BatchBuilder(1);
    batch.add(1 as SensorKey, 1.7e12, 1.7e12, n);
    datapoints.append(batch.build());
    datapoints.committed();
  }
  // Seals everything before the follower has read it.
  while (!sealWriter.clearSome(100));
  for (const table of ['log', 'replay_backlog'])
    database.exec(
      `UPDATE ${table} SET rows = x'01' WHERE first_seq BETWEEN 50 AND 60 OR first_seq BETWEEN 200 AND 1100`,
    );
  const follower = new LogFollower(database, new SharedArrayBuffer(8));
  const seqs: number[] = [];
  for (let points = follower.readAfter(0); points.length > 0; points = follower.readAfter(seqs.at(-1) as number))
    seqs.push(...points.map(({ seq }) => seq));
  const isWhole = (seq: number) => (seq < 50 || seq > 60) && (seq < 200 || seq > 1_100);
  assert.deepEqual(seqs, Array.from({ length: rows }, (_, n) => n + 1).filter(isWhole));
  assert.equal(follower.latestUpTo(1 as SensorKey, 1_100 + 50)?.seq, 1_150);
  assert.equal(follower.receivedMsOf(201), undefined);
  assert.equal(follower.receivedMsOf(1_150), 1.7e12);
});
