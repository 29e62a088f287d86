// A server that cannot know whether what it has in memory holds, because others may have changed it, answers nobody by it: 503, and
// over MQTT no connection and no acknowledgement, until it knows again.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { Refusal } from '../../src/base/refusal.ts';
import type { Standing } from '../../src/domain/ports/coordination.ts';
import { make } from '../support/api/calls.ts';
import { engineWith } from '../support/engine-with.ts';
import { Client } from '../support/mqtt/mqtt-client.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../support/test-server.ts';

const standing: Standing & { isSure: boolean } = {
  isSure: true,
  foreseeSilence: async () => {},
  makeSure: async () => {
    if (!standing.isSure)
      throw new Refusal('storage', 'This server does not know what others have changed.', { retryAfterS: 1 });
  },
};

suite('a server that may not know what others have changed', () => {
  let server: TestServer;
  const path = '/devices/d/sensors/s';

  before(async () => {
    const replaceEngine = (engine: Parameters<typeof engineWith>[0]) => engineWith(engine, { standing });
    server = await TestServer.start({}, { replaceEngine });
    const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    // All of it is in memory.
    for (const as of ['guest', 'owner'] as const)
      await make(server, { as, call: `POST ${path}/values`, json: { value: 1 }, expect: 204 });
  });
  afterEach(() => {
    standing.isSure = true;
  });
  after(() => {
    assert.ok(server.errors.every((line) => line.includes('the storage refused')));
    server.errors.length = 0;
    return server.stop();
  });

  test('answers no request, of guests or of others, read or push, and says that it is up', async () => {
    standing.isSure = false;
    for (const as of ['guest', 'owner'] as const) {
      for (const asked of ['/devices/d', `${path}/values`, '/devices'])
        assert.equal((await server.call(as, 'GET', asked)).status, 503, asked);
      assert.equal((await server.call(as, 'POST', `${path}/values`, { json: { value: 2 } })).status, 503);
    }
    assert.equal((await server.request('guest', 'GET', '/health/live')).status, 200);
    const login = { username: 'owner', password: 'wrong' };
    assert.equal((await server.call('guest', 'POST', '/auth/token', { json: login })).status, 503);
    standing.isSure = true;
    const { body } = await make(server, { as: 'owner', call: `GET ${path}/values`, expect: 200 });
    assert.deepEqual((body as { value: unknown }[]).map(({ value }) => value), [1, 1]); // biome-ignore format: short
  });

  test('lets no MQTT client in, and what those say that are there waits', async () => {
    const client = await Client.connect(server, 'owner');
    await client.subscribe('devices/d/sensors/s/value', 1);
    const quiet = await RawClient.connect(server, 'owner', { clientId: 'quiet' });
    standing.isSure = false;
    // Whoever only listens is told that the server lives.
    quiet.send({ cmd: 'pingreq' });
    await quiet.next('pingresp');
    quiet.socket.destroy();
    await assert.rejects(Client.connect(server, 'owner'), { code: 3 });
    let isStored = false;
    const published = client.publish('devices/d/sensors/s/value', { value: 7 }, { qos: 1 }).then(() => {
      isStored = true;
    });
    // An answer of the server later than what was published could have come.
    for (let n = 0; n < 3; n++) await server.request('guest', 'GET', '/health/live');
    assert.equal(isStored, false);
    assert.deepEqual(client.received, []);
    standing.isSure = true;
    await published;
    const [value] = await client.take(1);
    assert.equal(value?.payload, '{"value":7}');
    await client.end();
  });
});
