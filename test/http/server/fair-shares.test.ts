// Scarce resources are shared out by caller: a caller that takes much waits or is refused, others are not affected,
// and one caller alone may use nearly everything. Two addresses of the loopback network are two callers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

// So that few fill what is shared out.
Object.assign(limits, { liveStreamsMax: 12, liveStreamsReserve: 4, hashesWaitingMax: 40, hashesWaitingReserve: 20 });

const heavy = '127.0.0.1';
const light = '127.0.0.2';
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'd', visibility: 'public' }, expect: 204 });
});
after(() => server.stop());

const signIn = (from: string, username: string) =>
  server.send('POST', '/api/v2/auth/token', { from, json: { username, password } });

test('logins under invented names from one address do not keep another address from signing in', async () => {
  let answered = 0;
  const flood = Array.from({ length: 140 }, (_, n) => signIn(heavy, `invented-${n}`).finally(() => (answered += 1)));
  await Promise.race(flood);
  const before = answered;
  assert.equal((await signIn(light, 'owner')).status, 200);
  assert.ok(answered - before <= 10, `${answered - before} others came first`);
  // A hundred gateways behind one address come through.
  const statuses = (await Promise.all(flood)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)], [401]);
});

test('more logins than may wait are 503 for their address, and another one signs in', async () => {
  const answers: Response[] = [];
  // From 127.0.0.1, on as many connections as it takes.
  const flood = Array.from({ length: 100 }, async (_, n) => {
    const body = JSON.stringify({ username: `made-up-${n}`, password });
    const headers = { 'content-type': 'application/json' };
    answers.push(await fetch(`${server.url}/api/v2/auth/token`, { method: 'POST', headers, body }));
  });
  await Promise.race(flood);
  assert.equal((await signIn(light, 'stranger')).status, 200);
  await Promise.all(flood);
  const refused = answers.filter(({ status }) => status === 503);
  assert.ok(refused.length > 0);
  for (const { headers } of refused) assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [401, 503]);
});

test('one address has nearly all live streams, and another one still gets its own', async () => {
  const streams: EventStream[] = [];
  for (let n = 0; n < limits.liveStreamsMax; n++)
    streams.push(await EventStream.open(server, 'guest', '/devices/d/live'));
  const { headers } = await make(server, { call: 'GET /devices/d/live', expect: 429 });
  assert.ok(Number(headers['retry-after']) > 0);
  await make(server, { call: 'HEAD /devices/d/live', expect: 200 });
  // Signed in, they are callers of their own; the last ones take the places of who has most.
  for (const as of ['owner', 'stranger', 'sharer', 'admin', 'owner', 'stranger'] as const) {
    streams.push(await EventStream.open(server, as, '/devices/d/live'));
  }
  for (const stream of streams) stream.close();
  // Streams that ended do not count, once the server has learnt of it.
  await until(async () => {
    const again = await EventStream.open(server, 'guest', '/devices/d/live').catch(() => undefined);
    again?.close();
    return again !== undefined;
  });
});
