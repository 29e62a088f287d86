import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Asks } from '../ports/questions.ts';
import { ConnectedElsewhere } from './connected-elsewhere.ts';

test('gateways that are asked for while a question is under way are in the next, and a failure ends with its question', async () => {
  const questions: (readonly string[])[] = [];
  let fails = false;
  const ask = async (_: string, { gateways }: { readonly gateways: readonly string[] }) => {
    questions.push(gateways);
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (fails) throw new Error('away');
    const answer = { gateways: gateways.filter((id) => id.startsWith('on')) };
    return { given: [{ server: 's', place: 1, answer }], silent: [] };
  };
  const elsewhere = new ConnectedElsewhere({ ask } as Pick<Asks, 'ask'>);
  const first = [elsewhere.among(['on1', 'off1']), elsewhere.among(['on1', 'on2'])];
  await new Promise<void>((resolve) => setImmediate(resolve));
  const next = [elsewhere.among(['on3']), elsewhere.among(['off2'])];
  for (const connected of await Promise.all(first)) assert.deepEqual([...connected.ids], ['on1', 'on2']);
  for (const connected of await Promise.all(next)) assert.deepEqual([...connected.ids], ['on3']);
  assert.deepEqual(questions, [['on1', 'off1', 'on2'], ['on3', 'off2']]); // biome-ignore format: short
  fails = true;
  assert.deepEqual(await elsewhere.among(['on1']), { ids: new Set(), isSure: false });
  fails = false;
  assert.deepEqual(await elsewhere.among(['on1']), { ids: new Set(['on1']), isSure: true });
});
