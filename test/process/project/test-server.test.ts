// The server that other tests use: what it keeps over a restart, and that its rows show a change.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { countDatapoints } from '../../support/rows.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

test('what was acknowledged is there after a restart, and sealing changes no rows', async () => {
  const empty = await server.rows();
  const created = await server.call('owner', 'POST', '/devices', { json: { id: 'd1', sensors: [{ id: 's1' }] } });
  assert.equal(created.status, 204);
  const pushed = await server.call('owner', 'POST', '/devices/d1/sensors/s1/value', { json: { value: 1.5 } });
  assert.equal(pushed.status, 204);
  const rows = await server.rows();
  assert.notDeepEqual(rows, empty);
  assert.equal(countDatapoints(server.folder), 1);
  await server.running.engine.seal();
  assert.deepEqual(await server.rows(), rows);
  await server.restart();
  assert.deepEqual(await server.rows(), rows);
  const device = await server.call('owner', 'GET', '/devices/d1');
  assert.equal(device.body.sensors[0].last_value.value, 1.5);
});

test('it takes its folder along', async () => {
  const another = await TestServer.start();
  assert.ok(existsSync(another.folder));
  await another.stop();
  assert.ok(!existsSync(another.folder));
});
