import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setLimits } from '../../../test/support/limits.ts';
import { LoadingCache } from './loading-cache.ts';

setLimits({ refreshStepMax: 2, refreshPauseMs: 0 });

interface Version {
  readonly version: number;
}

/** A store, and a cache that has all of it in memory. */
async function filled(keys: readonly string[]) {
  const stored = new Map<string, Version>(keys.map((key) => [key, { version: 1 }]));
  const steps: (readonly string[])[] = [];
  const store = { stored, steps, beforeRead: async () => {} };
  const cache = new LoadingCache<string, Version>({
    load: async (key) => stored.get(key),
    loadMany: async (_, asked) => {
      steps.push([...asked]);
      const read = new Map(
        asked.flatMap((key) => (stored.has(key) ? [[key, stored.get(key) as Version] as const] : [])),
      );
      await store.beforeRead();
      return read;
    },
    weightMax: 1_000,
  });
  for (const key of keys) await cache.find(key);
  return { cache, store };
}

test('records that are all read anew stay until they are, in steps, and go where they are gone', async () => {
  const { cache, store } = await filled(['a', 'b', 'c']);
  store.stored.set('a', { version: 2 });
  store.stored.delete('b');
  const seen: (number | undefined)[] = [];
  store.beforeRead = async () => void seen.push(cache.peek('a')?.version);
  await cache.refreshAll();
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual(store.steps, [['a', 'b'], ['c']]);
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => cache.peek(key)?.version),
    [2, undefined, 1],
  );
});

test('a record that changes while all are read anew is as it was changed', async () => {
  const { cache, store } = await filled(['a']);
  store.beforeRead = async () => {
    store.stored.set('a', { version: 2 });
    await cache.refresh('a');
  };
  await cache.refreshAll();
  assert.equal(cache.peek('a')?.version, 2);
});

test('where they cannot be read, they stay as they were', async () => {
  const { cache, store } = await filled(['a', 'b', 'c']);
  store.beforeRead = async () => {
    throw new Error('The store is away.');
  };
  await assert.rejects(cache.refreshAll(), /away/);
  assert.deepEqual(['a', 'b', 'c'].map((key) => cache.peek(key)?.version), [1, 1, 1]); // biome-ignore format: short
});
