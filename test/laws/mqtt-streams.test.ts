// Random streams of packets of clients of 3.1, 3.1.1 and 5 at once, cut at random places, against a model of sessions and
// routing (mqtt/session-model.ts): the same answers, each message once for each form that was asked for and for one of
// each group, sent again as it is due, and no datapoint stored but by who may. The long tests try 100 000, on several servers
// at once, because a stream mostly waits for one; `DUNDUN_TEST_PART=2/50` tries the second of fifty parts of them.
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { properties, roundsOf } from '../support/properties.ts';
import { TestServer } from '../support/test-server.ts';
import { StreamRun } from './mqtt/stream-run.ts';
import { step } from './mqtt/stream-steps.ts';

const [part = 1, parts = 1] = (process.env['DUNDUN_TEST_PART'] ?? '1/1').split('/').map(Number);
const servers: TestServer[] = [];

before(async () => {
  for (let n = 0; n < roundsOf({ usual: 1, long: 4 }); n++) {
    const server = await TestServer.start();
    servers.push(server);
    await server.call('owner', 'POST', '/devices', { json: { id: 'm', sensors: [{ id: 's' }] } });
  }
});
after(() => Promise.all(servers.map((server) => server.stop())));

test('MQTT answers and delivers as a model of its specifications does', async () => {
  const { seed = 0, ...rest } = properties();
  const numRuns = Math.ceil(roundsOf({ usual: 200, long: 100_000 }) / parts / servers.length);
  await Promise.all(
    servers.map(async (server, n) => {
      let streams = 0;
      const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
        await new StreamRun(server, ++streams).run(steps);
      });
      await fc.assert(property, { ...rest, seed: seed + (part - 1) * servers.length + n, numRuns });
    }),
  );
});
