// The figures of the servers on the data, where the database answers and where it does not.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Registry } from 'prom-client';
import { setLimits } from '../../test/support/limits.ts';
import type { NodeReport } from '../domain/ports/nodes.ts';
import { watchNodes } from './node-figures.ts';

const node: NodeReport = {
  ...{ id: 'a', isOwn: true, startedMs: 0, lastSeenMs: 0, silentMs: 0, isAlive: true },
  ...{ behind: 2, behindLog: 3, leases: ['sealing'], figures: undefined },
};
const other: NodeReport = { ...node, id: 'b', isOwn: false, isAlive: false, behind: 90, behindLog: 90, leases: [] };

function figuresOf(list: () => Promise<readonly NodeReport[]>): () => Promise<string[]> {
  const registry = new Registry();
  watchNodes({ list }, [registry]);
  return async () => (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

suite('figures of servers', () => {
  setLimits({ nodeFiguresMsMax: 20 });

  test('count all of them, and say of this one how far it is behind and what it does for all', async () => {
    let asked = 0;
    const figures = figuresOf(async () => {
      asked += 1;
      return [other, node];
    });
    assert.deepEqual(await figures(), [
      'dundun_nodes{state="alive"} 1',
      'dundun_nodes{state="silent"} 1',
      'dundun_node_behind_datapoints 3',
      'dundun_node_behind_changes 2',
      'dundun_node_leases 1',
    ]);
    assert.equal(asked, 1);
  });

  test('are left out while the database does not answer, or refuses, and come back with it', async () => {
    const answers = [
      () => Promise.resolve([node]),
      () => new Promise<never>(() => {}),
      () => Promise.reject(new Error('It is away.')),
      () => Promise.resolve([node]),
    ];
    const figures = figuresOf(() => (answers.shift() as (typeof answers)[0])());
    const counts = [];
    for (let n = 0; n < 4; n++) counts.push((await figures()).length);
    assert.deepEqual(counts, [5, 0, 0, 5]);
  });
});
