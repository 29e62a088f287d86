// Blockages of the event loop are measured and logged with the work that caused them.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../config/limits.ts';
import type { Log } from '../log.ts';
import { EventLoopMonitor, setCurrentWork } from './event-loop-monitor.ts';

function hold(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

suite('a held event loop', () => {
  const told: { readonly lateMs: number; readonly work: string; readonly times: number }[] = [];
  const log = { warn: (fields: object) => void told.push(fields as never) } as unknown as Log;
  const monitor = new EventLoopMonitor(log);
  const ticks: number[] = [];
  const nextTick = () =>
    new Promise<number>((resolve) => {
      monitor.onTick = (lateS) => {
        ticks.push(lateS);
        resolve(lateS);
      };
    });

  before(() => monitor.start());
  after(() => monitor.close());

  test('is measured, and the work that took longest is named once for a while', async () => {
    await nextTick();
    monitor.takeLatest();
    setCurrentWork((n: number) => `short ${n}`, 1);
    setCurrentWork((name: string) => `long ${name}`, 'one');
    hold(limits.loopHeldMs + limits.loopTickMs + 100);
    setCurrentWork((n: number) => `short ${n}`, 2);
    const lateS = await nextTick();
    assert.ok(lateS * 1000 > limits.loopHeldMs);
    assert.equal(monitor.takeLatest(), lateS);
    assert.equal(told.length, 1);
    assert.equal(told[0]?.work, 'long one');
    assert.equal(told[0]?.times, 1);
    hold(limits.loopHeldMs + limits.loopTickMs + 100);
    await nextTick();
    assert.equal(told.length, 1, 'it is not told again at once');
  });
});
