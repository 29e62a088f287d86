// Usual pushes over REST that come while the queue is full wait in their connections, in order, and are refused when that
// takes longer than their clients will wait (I1, I3, I4).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { holdWrites } from '../../support/data.ts';
import { Client, open, readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const pushes = 100;
const changed = { queueDatapointsMax: 60, queueDatapointsReserve: 30, pushWaitMsMax: 60_000 };
const usual = Object.fromEntries(Object.keys(changed).map((name) => [name, limits[name as keyof typeof limits]]));
let server: TestServer;

before(async () => {
  Object.assign(limits, changed);
  server = await TestServer.start();
});
after(async () => {
  await server.stop();
  Object.assign(limits, usual);
});

async function makeDevice(id: string): Promise<void> {
  const device = { id, visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json: device })).status, 204);
}

/** So many pushes at once, with the values from `first` on; the status of each answer. */
async function shout(client: Client, device: string, first: number): Promise<(string | undefined)[]> {
  const token = await server.token('owner');
  const requests = Array.from({ length: pushes }, (_, n) => requestOf(device, first + n, token));
  return (await client.askAtOnce(requests)).map((answer) => answer?.slice(9, 12));
}

function requestOf(device: string, value: number, token: string): Buffer {
  const body = JSON.stringify({ value });
  const path = `/api/v2/devices/${device}/sensors/s/values`;
  const head = `Host: dundun\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`;
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

async function waitingDatapoints(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_datapoints_waiting (\d+)$/m.exec(text)?.[1]);
}

async function commits(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_commit_seconds_count (\d+)$/m.exec(text)?.[1]);
}

async function valuesOf(device: string): Promise<number[]> {
  const answer = await server.call('owner', 'GET', `/devices/${device}/sensors/s/values?format=ndjson&sort=asc`);
  const lines: string[] = answer.text.trim().split('\n');
  return lines.filter(Boolean).map((line) => JSON.parse(line).value);
}

test('each is stored once, and those of a connection in order, however many connections send more than fits', async () => {
  await makeDevice('busy');
  const firsts = Array.from({ length: 12 }, (_, n) => 1_000 * n);
  const port = server.running.ports.http;
  const clients = await Promise.all(firsts.map(() => Client.connect(port)));
  const all = await Promise.all(clients.map((client, n) => shout(client, 'busy', firsts[n] as number)));
  assert.deepEqual(new Set(all.flat()), new Set(['204']));
  const values = await valuesOf('busy');
  for (const first of firsts) {
    const own = values.filter((value) => value >= first && value < first + 1_000);
    assert.deepEqual(
      own,
      Array.from({ length: pushes }, (_, n) => first + n),
    );
  }
  for (const client of clients) client.end();
});

test('who goes while its pushes wait holds up nobody behind it', async () => {
  await makeDevice('leaves');
  const port = server.running.ports.http;
  const clients = await Promise.all([0, 1_000, 2_000, 3_000].map(() => Client.connect(port)));
  const all = clients.map((client, n) => shout(client, 'leaves', 1_000 * n));
  // Those that go get no answers.
  for (const answers of [all[1], all[2]]) answers?.catch(() => {});
  for (const client of clients.splice(1, 2)) client.end();
  for (const answers of [all[0], all[3]]) assert.deepEqual(new Set(await answers), new Set(['204']));
  for (const client of clients) client.end();
});

test('who closes its half while its pushes wait gets all answers', async () => {
  await makeDevice('half');
  const port = server.running.ports.http;
  const token = await server.token('owner');
  const busy = await Promise.all(Array.from({ length: 8 }, () => Client.connect(port)));
  const half = await open(port);
  const answers = readAll(half);
  half.write('GET /health/live HTTP/1.1\r\nHost: dundun\r\n\r\n');
  await once(half, 'data');
  const others = busy.map((client, n) => shout(client, 'half', 1_000 * (n + 1)));
  half.end(Buffer.concat(Array.from({ length: pushes }, (_, n) => requestOf('half', n, token))));
  assert.equal((await answers).match(/HTTP\/1\.1 204 /g)?.length, pushes);
  for (const other of others) assert.deepEqual(new Set(await other), new Set(['204']));
  assert.equal((await valuesOf('half')).filter((value) => value < 1_000).length, pushes);
  for (const client of busy) client.end();
});

test('those that come one by one while others wait for their commit share the next one', async () => {
  await makeDevice('pieces');
  const client = await Client.connect(server.running.ports.http);
  const token = await server.token('owner');
  const requests = Array.from({ length: 20 }, (_, n) => requestOf('pieces', 10 + n, token));
  // A usual push needs its device in memory, and its caller seen a moment ago.
  assert.match((await client.ask(requestOf('pieces', 0, token))) ?? '', /^HTTP\/1\.1 204 /);
  const before = await commits();
  const release = await holdWrites(server.folder);
  // All have the same length.
  const cuts = requests.slice(1).map((_, n) => (n + 1) / requests.length);
  const answers = client.askAtOnce(requests, cuts);
  await until(async () => (await waitingDatapoints()) > 0);
  // The last piece has come once a later connection is answered several turns after it.
  for (let n = 0; n < requests.length * 3; n += 1) await server.call('guest', 'GET', '/health/live');
  await release();
  for (const answer of await answers) assert.match(answer ?? '', /^HTTP\/1\.1 204 /);
  assert.ok((await commits()) - before < 8, `${(await commits()) - before} commits`);
  assert.deepEqual(await valuesOf('pieces'), [0, ...requests.map((_, n) => 10 + n)]);
  client.end();
});

test('where the disk stands still, what waits too long is refused with Retry-After and not stored; what was taken is', async () => {
  await makeDevice('still');
  const port = server.running.ports.http;
  const late = await Client.connect(port);
  const token = await server.token('owner');
  Object.assign(limits, { pushWaitMsMax: 300 });
  // As a disk that does not answer.
  const release = await holdWrites(server.folder);
  const values = Array.from({ length: 60 }, (_, value) => ({ value }));
  const taken = server.call('owner', 'POST', '/devices/still/sensors/s/values', { json: values });
  await until(async () => (await waitingDatapoints()) === 60);
  const refused = (await late.ask(requestOf('still', 1_000, token))) ?? '';
  await release();
  Object.assign(limits, changed);
  assert.match(refused, /^HTTP\/1\.1 503 /);
  assert.match(refused, /\r\nretry-after: \d+\r\n/i);
  assert.match(refused, /urn:dundun:problem:busy/);
  assert.equal((await taken).status, 204);
  // The connection goes on.
  assert.match((await late.ask(requestOf('still', 1_001, token))) ?? '', /^HTTP\/1\.1 204 /);
  assert.deepEqual(await valuesOf('still'), [...Array(60).keys(), 1_001]);
  late.end();
});
