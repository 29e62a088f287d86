// Retained messages: which ones a filter matches, restarts, and their bound. On a real database.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import type { SqliteMqttPersistence } from './mqtt-persistence.ts';
import { fill, makeFolder, payloads, read, rowsOf } from './mqtt-runs.suite.ts';

function retain(persistence: SqliteMqttPersistence, topic: string, payload: string | Uint8Array): Promise<void> {
  return persistence.storeRetained({ cmd: 'publish', topic, payload, qos: 1, retain: true });
}

test('the last retained message of a topic survives a restart, byte by byte', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  const bytes = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i));
  await Promise.all([
    retain(persistence, 'a', 'first'),
    retain(persistence, 'a', bytes),
    retain(persistence, 'b', 'x'),
  ]);
  await retain(persistence, 'b', '');
  const again = (await folder.start()).persistence;
  const packet: StoredPacket = { cmd: 'publish', topic: 'a', payload: bytes, qos: 1, retain: true };
  assert.deepEqual(await read(again.createRetainedStream('#')), [packet]);
  assert.equal(again.retainedCount, 1);
});

test('a filter gets what it matches, each message once', async (t) => {
  const { persistence } = await (await makeFolder(t)).start();
  const topics = ['a', 'a/b', 'a/b/c', 'a/bc', 'a-b', 'a0', 'ä/b', '/a', '/a/b', '/', 'a/', 'a//b', 'b', '$SYS/a'];
  await Promise.all(topics.map((topic) => retain(persistence, topic, 'x')));
  const expected: Record<string, readonly string[]> = {
    '#': topics.filter((topic) => !topic.startsWith('$')),
    '+/#': topics.filter((topic) => !topic.startsWith('$')),
    '+': ['a', 'a-b', 'a0', 'b'],
    '+/b': ['a/b', 'ä/b'],
    '+/a': ['/a'],
    '/+': ['/a', '/'],
    '/#': ['/', '/a', '/a/b'],
    'a/#': ['a', 'a/', 'a//b', 'a/b', 'a/b/c', 'a/bc'],
    'a/+': ['a/', 'a/b', 'a/bc'],
    'a/+/b': ['a//b'],
    'a/b/#': ['a/b', 'a/b/c'],
    'a/b': ['a/b'],
    'ä/#': ['ä/b'],
    '$SYS/#': ['$SYS/a'],
    'no/#': [],
    no: [],
  };
  const topicsOf = async (filters: readonly string[]) =>
    (await read(persistence.createRetainedStreamCombi(filters))).map(({ topic }) => topic).sort();
  for (const [filter, matches] of Object.entries(expected)) {
    assert.deepEqual(await topicsOf([filter]), [...matches].sort(), filter);
  }
  assert.deepEqual(await topicsOf(['a/b', 'a/#', 'b', '#']), [...(expected['#'] ?? [])].sort());
});

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
