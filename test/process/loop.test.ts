// A blocked event loop appears in the metrics, and in the log with the work that blocked it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, type Dundun, login, startDundun, withLimits } from '../support/process.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

let dundun: Dundun;
before(async () => {
  dundun = await startDundun(withLimits({ loopHeldMs: 5, loopLoggedMs: 0 }));
});
after(() => dundun.stop());

test('a body that takes long is named by its path alone', async () => {
  const token = (await login(dundun, 'admin')) as string;
  const body = `["secret",${'0,'.repeat(1_900_000)}0]`;
  const named = () => /"work":"POST \/api\/v2\/devices\/:device\/sensors\/:sensor\/values"/.test(dundun.stderr + dundun.stdout); // biome-ignore format: one line
  for (let n = 0; n < 20 && !named(); n += 1) {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${dundun.url}/api/v2/devices/d/sensors/s/values`, { method: 'POST', headers, body });
  }
  await until(named);
  assert.doesNotMatch(dundun.stderr + dundun.stdout, /secret"/);
  const figures = await (await call(dundun, '/metrics', { token })).text();
  assert.match(figures, /dundun_event_loop_late_seconds_bucket\{le="0.25"\} \d+/);
  assert.match(figures, /dundun_event_loop_late_seconds_max \d/);
});

test('what the start takes is no delay, and what comes after it is', async () => {
  const server = await TestServer.start();
  const hold = (ms: number) => {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs);
  };
  const latestS = async () => {
    const { text } = await server.request('admin', 'GET', '/metrics');
    return Number(/^dundun_event_loop_late_seconds_max (\S+)$/m.exec(text)?.[1]);
  };
  hold(2_000);
  await server.running.finishStart();
  const ofStartS = await latestS();
  assert.ok(ofStartS < 2, `${ofStartS} s`);
  hold(2_000);
  await until(async () => (await latestS()) > 1.5);
  await server.stop();
});
