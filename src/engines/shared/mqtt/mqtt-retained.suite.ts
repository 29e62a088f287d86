// Retained messages: which ones a filter matches, restarts, and their bound. On a real database.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import type { MqttPersistence } from './mqtt-persistence.ts';
import { type MqttEngine, makeRuns, payloads, read } from './mqtt-runs.suite.ts';

function retain(persistence: MqttPersistence, topic: string, payload: string | Uint8Array): Promise<void> {
  return persistence.storeRetained({ cmd: 'publish', topic, payload, qos: 1, retain: true });
}

export function mqttRetainedSuite(engine: MqttEngine): void {
  suite(`Retained messages on ${engine.name}`, () => {
    test('beyond the bound of retained messages the newest is not kept, and those there are can change', async (t) => {
      const runs = await makeRuns(t, engine);
      const first = await runs.start();
      await first.fill('mqtt_retained', limits.retainedMax - 1, { topic: "'many/' || n", payload: "'x'", qos: '0' });
      const run = await runs.start();
      const { persistence } = run;
      await Promise.all(['one', 'two', 'three'].map((topic) => retain(persistence, topic, 'x')));
      assert.deepEqual([persistence.dropped, persistence.retainedCount], [2, limits.retainedMax]);
      await retain(persistence, 'many/5', 'changed');
      await retain(persistence, 'many/6', '');
      assert.deepEqual(await payloads(persistence.createRetainedStreamCombi(['many/5', 'many/6', 'two'])), ['changed']);
      await retain(persistence, 'two', 'y');
      assert.deepEqual([persistence.dropped, await run.count('mqtt_retained')], [2, limits.retainedMax]);
      assert.equal((await read(persistence.createRetainedStream('many/+'))).length, limits.retainedMax - 2);
    });
  });
}
