// Retained messages: which ones a filter matches, restarts, and their bound. On a real database.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import type { SqliteMqttPersistence } from './mqtt-persistence.ts';
import { fill, makeFolder, payloads, read, rowsOf } from './mqtt-runs.suite.ts';

function retain(persistence: SqliteMqttPersistence, topic: string, payload: string | Uint8Array): Promise<void> {
  return persistence.storeRetained({ cmd: 'publish', topic, payload, qos: 1, retain: true });
}

test('beyond the bound of retained messages the newest is not kept, and those there are can change', async (t) => {
  const folder = await makeFolder(t);
  const first = await folder.start();
  const sql = "INSERT INTO mqtt_retained (topic, payload, qos) SELECT 'many/' || n, 'x', 0 FROM numbers";
  await fill(first, limits.retainedMax - 1, sql);
  const run = await folder.start();
  const { persistence } = run;
  await Promise.all(['one', 'two', 'three'].map((topic) => retain(persistence, topic, 'x')));
  assert.deepEqual([persistence.dropped, persistence.retainedCount], [2, limits.retainedMax]);
  await retain(persistence, 'many/5', 'changed');
  await retain(persistence, 'many/6', '');
  assert.deepEqual(await payloads(persistence.createRetainedStreamCombi(['many/5', 'many/6', 'two'])), ['changed']);
  await retain(persistence, 'two', 'y');
  assert.deepEqual([persistence.dropped, rowsOf(run, 'mqtt_retained')], [2, limits.retainedMax]);
  assert.equal((await read(persistence.createRetainedStream('many/+'))).length, limits.retainedMax - 2);
});
