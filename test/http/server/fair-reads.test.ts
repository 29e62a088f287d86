// Long reads are made by one thread, which serves callers in turns: a caller that asks for much waits for its own
// reads, is refused beyond its share, and does not slow down others. Two addresses of the loopback network are two
// callers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const heavy = '127.0.0.1';
const light = '127.0.0.2';
const datapoints = 120_000;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  for (let from = 0; from < datapoints; from += 30_000) {
    const values = Array.from({ length: 30_000 }, (_, n) => ({
      value: n,
      timestamp: new Date(1.4e12 + (from + n) * 10_000).toISOString(),
    }));
    const call = 'POST /devices/d/sensors/s/values';
    await make(server, { as: 'owner', call, json: values, expect: 204 });
  }
});
after(() => server.stop());

/** A read that goes through all datapoints, in several steps, and answers with little. */
const read = (from: string) =>
  server.send(
    'GET',
    '/api/v2/devices/d/sensors/s/values?bucket=1h&timezone=America/New_York&aggregate=avg&limit=1000',
    { from },
  );

test('one long read of a caller is made while another has dozens waiting', async () => {
  let made = 0;
  const flood = Array.from({ length: 40 }, () => read(heavy).finally(() => (made += 1)));
  const answer = await read(light);
  assert.equal(answer.status, 200, answer.text);
  assert.ok(made <= 15, `${made} others came first`);
  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)], [200]);
});

test('reads whose clients hang up before they began are not made, and the next caller reads at once', async () => {
  const { reads } = server.running.engine.figures;
  const strangers = 60;
  const path = '/api/v2/devices/d/sensors/s/values?bucket=1h&timezone=America/New_York&aggregate=avg&format=csv';
  const sockets = await Promise.all(
    // Each address is a caller, so that one who comes later waits behind all of them.
    Array.from({ length: strangers }, async (_, n) => {
      const socket = connect({
        port: server.running.ports.http,
        host: '127.0.0.1',
        localAddress: `127.0.0.${n + 10}`,
      });
      await once(socket, 'connect');
      return socket;
    }),
  );
  for (const socket of sockets) socket.write(`GET ${path} HTTP/1.1\r\nHost: dundun\r\n\r\n`);
  await until(() => reads.waiting > strangers / 2, { everyMs: 1 });
  const [made, dropped, waiting] = [reads.made, reads.dropped, reads.waiting];
  for (const socket of sockets) socket.resetAndDestroy();
  const answer = await read(light);
  assert.equal(answer.status, 200, answer.text);
  await until(() => reads.waiting === 0);
  const own = Math.ceil(datapoints / limits.foldStepRows) + 1;
  const others = reads.made - made - own;
  assert.ok(others <= waiting / 4, `${others} steps were made for nobody, of ${waiting} that waited`);
  assert.ok(reads.dropped - dropped >= waiting / 2, `${reads.dropped - dropped} of ${waiting} were dropped`);
  assert.match((await server.request('admin', 'GET', '/metrics')).text, /^dundun_long_read_steps_dropped_total [1-9]/m);
});

test('more long reads than may wait are 503 for their caller, and another one reads', async () => {
  Object.assign(limits, { readsWaitingMax: 3, readsWaitingReserve: 3 });
  await server.restart();
  const flood = Array.from({ length: 200 }, () => read(heavy));
  const answer = await read(light);
  assert.equal(answer.status, 200, answer.text);
  const answers = await Promise.all(flood);
  const refused = answers.filter(({ status }) => status === 503);
  assert.ok(refused.length > 0, 'all were answered');
  for (const { headers } of refused) assert.match(String(headers['retry-after']), /^\d+$/);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [200, 503]);
  assert.equal((await read(heavy)).status, 200);
});
