// A store that refuses writes: nothing is acknowledged that was not stored (I1), and the service recovers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/api/calls.ts';
import { openDatabase } from '../support/database.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../support/test-server.ts';

// The writer waits ten seconds for a lock of somebody else before it refuses.
const s = '/devices/d/sensors/s';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
  await server.call('owner', 'POST', `${s}/value`, { json: { value: 'before' } });
});
after(() => server.stop());

test('a database locked by somebody else is 503, stores nothing, and all is well after', async () => {
  const rows = await server.rows();
  const other = openDatabase(server.folder);
  other.exec('BEGIN IMMEDIATE');
  const device = await RawClient.connect(server, 'owner', { clientId: 'device' });
  const reading = { topic: 'devices/d/sensors/s/value', payload: '{"value":"unacknowledged"}', messageId: 7 };
  device.publish(reading);
  const [cut, ...refused] = await Promise.all([
    device.closed.then(() => device.packets),
    server.call('owner', 'POST', `${s}/values`, { json: [{ value: 'lost' }, { value: 'lost' }] }),
    server.call('owner', 'PUT', '/devices/d/name', { text: 'lost' }),
    server.call('owner', 'POST', '/devices', { json: { id: 'lost' } }),
  ]);
  other.exec('ROLLBACK');
  other.close();
  // Over MQTT the connection is cut without a PUBACK, so that the client sends it again.
  assert.deepEqual(cut, []);
  for (const answer of refused) {
    assert.equal(answer.status, 503);
    assertProblem(answer, 'locked');
  }
  assert.deepEqual(await server.rows(), rows);
  // The log of the service says why.
  assert.equal(server.errors.splice(0).filter((line) => line.includes('locked')).length, refused.length);
  const { status } = await server.call('owner', 'POST', `${s}/value`, { json: { value: 'after' } });
  assert.equal(status, 204);
  const again = await RawClient.connect(server, 'owner', { clientId: 'device' });
  again.publish({ ...reading, dup: true });
  await again.next('puback');
  await again.end();
  const { body } = await server.call('owner', 'GET', `${s}/values`);
  assert.deepEqual(
    body.map((point: { value: string }) => point.value),
    ['before', 'after', 'unacknowledged'],
  );
  await server.running.engine.seal();
  await server.restart();
  assert.equal((await server.call('owner', 'GET', s)).body.last_value.value, 'unacknowledged');
});
