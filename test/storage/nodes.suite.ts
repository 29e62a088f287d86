// The suite of NodeRegister, which every engine passes: which servers are on the data, and what this one tells of itself.
// engines.test.ts runs it on each engine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { NodeFigures, NodeReport } from '../../src/domain/ports/nodes.ts';
import { until } from '../support/until.ts';
import { acquired, type EngineKind, type OpenedEngine } from './engines.ts';

export function nodesSuite({ name, open }: EngineKind): void {
  suite(`servers on ${name}`, () => {
    let opened: OpenedEngine;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const own = async (): Promise<NodeReport> => {
      const nodes = await opened.nodes.list();
      const [node] = nodes;
      assert.ok(nodes.length === 1 && node !== undefined);
      return node;
    };

    test('there is one, which is alive, is asked, is behind nothing and has told nothing yet', async () => {
      const { id, isOwn, startedMs, lastSeenMs, silentMs, isAlive, behind, figures } = await own();
      assert.deepEqual([isOwn, isAlive, behind, figures], [true, true, 0, undefined]);
      assert.ok(id.length > 0 && silentMs >= 0 && startedMs <= lastSeenMs);
      assert.ok(Math.abs(Date.now() - lastSeenMs) < 60_000);
    });

    test('it holds the leases that were acquired, as long as they are held', async () => {
      const lease = await acquired(opened, 'rules/1');
      assert.ok((await own()).leases.includes('rules/1'));
      await lease.release();
      assert.ok(!(await own()).leases.includes('rules/1'));
    });

    test('what it tells of itself is known some seconds later at most, and anew when it has changed', async () => {
      const told = (mqtt: number): NodeFigures => ({
        ...{ host: 'field-1', release: '9.8.7', connections: { http: 3, mqtt } },
        datapointsPerSecond: 0.25,
      });
      let mqtt = 4;
      opened.nodes.tell(() => told(mqtt));
      await until(async () => (await own()).figures !== undefined);
      assert.deepEqual((await own()).figures, told(4));
      mqtt = 5;
      await until(async () => (await own()).figures?.connections.mqtt === 5);
    });

    test('it is another after a restart', async () => {
      const { id } = await own();
      await opened.reopen();
      assert.notEqual((await own()).id, id);
    });
  });
}
