// Random streams of packets of clients of 3.1, 3.1.1 and 5 at once, cut at random places, against a model of sessions and
// routing (mqtt/session-model.ts): the same answers, each message once for each form that was asked for and for one of
// each group, sent again as it is due, and no datapoint stored but by who may. The long tests try 100 000.
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { properties, roundsOf } from '../support/properties.ts';
import { TestServer } from '../support/test-server.ts';
import { StreamRun } from './mqtt/stream-run.ts';
import { step } from './mqtt/stream-steps.ts';

let server: TestServer;
let streams = 0;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'm', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

test('MQTT answers and delivers as a model of its specifications does', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
    await new StreamRun(server, ++streams).run(steps);
  });
  await fc.assert(property, { ...properties(), numRuns: roundsOf({ usual: 200, long: 100_000 }) });
});
