// The writer's end of life. What it stores is tested with the stores that write through it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRefusal, makeFolder } from './mqtt-runs.suite.ts';

test('what comes after the writer was closed is refused instead of waiting for ever', async (t) => {
  const folder = await makeFolder(t);
  const { store } = await folder.start();
  const statement = { sql: 'DELETE FROM counter', parameters: [] };
  const early = store.writer.write([statement]);
  const closing = store.writer.close();
  // The thread sees to what comes while it closes, or it is refused; nothing is left open.
  const between = store.writer.write([statement]).catch(isRefusal('storage'));
  assert.deepEqual(await early, [0]);
  await closing;
  await between;
  await assert.rejects(store.writer.write([statement]), isRefusal('storage'));
});
