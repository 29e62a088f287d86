// Whether the service lives and is ready, and its figures for Prometheus (contract 1); they need no token.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TestServer } from './support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_GUEST_ACCESS: 'none' });
});
after(() => server.stop());

test('it lives and is ready, by GET and HEAD', async () => {
  for (const path of ['/health/live', '/health/ready', '/health/ready/']) {
    const { status, body } = await server.request('guest', 'GET', path);
    assert.deepEqual([status, body], [200, { status: 'ok' }]);
    assert.equal((await server.request('guest', 'HEAD', path)).status, 200);
    assert.equal((await server.request('guest', 'POST', path)).status, 405);
  }
});

const figuresOf = async (of: TestServer) => {
  const { status, text, headers } = await of.request('guest', 'GET', '/metrics');
  assert.equal(status, 200);
  assert.match(headers['content-type'] ?? '', /^text\/plain; version=/);
  return Object.fromEntries(text.split('\n').map((line) => line.split(' ')));
};

test('figures are those of this server, beside those of its process', async () => {
  const another = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
  await server.call('owner', 'POST', '/devices/d/sensors/s/values', { json: [{ value: 1 }, { value: 2 }] });
  const stored = 'dundun_datapoints_stored_total';
  const [own, others] = [await figuresOf(server), await figuresOf(another)];
  assert.deepEqual([own[stored], others[stored]], ['2', '0']);
  assert.equal(own['dundun_log_datapoints'], '2');
  for (const figures of [own, others]) assert.ok(Number(figures['process_cpu_seconds_total']) > 0);
  await another.stop();
  await server.restart();
  assert.equal((await figuresOf(server))[stored], '0');
});
