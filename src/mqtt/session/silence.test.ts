import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from './client.ts';
import { SilenceWatch } from './silence.ts';

test('a connection that has ended is not kept in memory until it would have been silent for too long', () => {
  const watch = new SilenceWatch(() => {});
  const clients = Array.from({ length: 100 }, () => ({ closed: false, silenceSlot: -1 }) as unknown as Client);
  for (const client of clients) watch.watch(client, 20_000);
  for (const client of clients) watch.watch(client, 65_535 * 1_500);
  assert.equal(watch.size, 100);
  for (const client of clients) watch.forget(client);
  assert.equal(watch.size, 0);
  watch.close();
});
