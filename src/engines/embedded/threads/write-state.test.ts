// The probe of a refusing disk stops with the thread.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migratedInMemory } from '../database/migrate.ts';
import { WriteState } from './write-state.ts';

test('a disk that refuses when all is closed is not tried any more', async () => {
  const told: (string | undefined)[] = [];
  const state = new WriteState(await migratedInMemory(), (reason) => told.push(reason));
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  state.diskRefused('full');
  assert.equal(timers(), before + 1);
  state.close();
  state.diskRefused('still full');
  assert.equal(timers(), before);
  assert.deepEqual(told, ['the disk refuses to write: full', 'the disk refuses to write: still full']);
});
