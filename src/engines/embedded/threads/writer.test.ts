// Closing the writer thread: accepted work is finished, later work is refused, and neither is reported as a fault.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Refusal } from '../../../base/refusal.ts';
import { openEmbeddedEngine } from '../open.ts';

const insert = (name: string) => ({ sql: 'INSERT INTO counter (name, value) VALUES (?, 1)', parameters: [name] });

test('a write after the stop has begun is refused, one before is done', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dundun-writer-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const first = await openEmbeddedEngine(folder);
  const troubles: Error[] = [];
  first.writer.onFailure = (error) => troubles.push(error);
  const before = first.writer.write([insert('before')]);
  const closed = first.close();
  const isStopping = (error: unknown) => error instanceof Refusal && error.code === 'busy';
  await assert.rejects(first.writer.write([insert('after')]), isStopping);
  assert.deepEqual(await before, [1]);
  await closed;
  assert.deepEqual(troubles, []);
  const second = await openEmbeddedEngine(folder);
  const rows = second.reader.prepare('SELECT name FROM counter').all();
  assert.deepEqual(
    rows.map((row) => row['name']),
    ['before'],
  );
  await second.close();
});
