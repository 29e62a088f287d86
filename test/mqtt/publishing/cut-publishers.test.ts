// Publishers that go while what they have sent is on its way.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

for (const version of [4, 5] as const) {
  test(`a publisher of version ${version} that goes before its answers leaves nothing that waits for them`, async () => {
    const id = `gone-${version}`;
    const device = { id, name: id, sensors: [{ id: 's', name: 's' }] };
    assert.equal((await server.call('owner', 'POST', '/devices', { json: device })).status, 204);
    const client = await PacketClient.open(server, { version });
    await client.signIn({ clientId: id });
    const publish = { cmd: 'publish', qos: 1, retain: false, dup: false } as const;
    // The sensor is in memory from then on, so that the next value is a usual one.
    await client.publish({ topic: `devices/${id}/sensors/s/value`, payload: '{"value":0}' });
    await client.send(
      { ...publish, topic: `devices/${id}/sensors/s/value`, payload: '{"value":1}', messageId: 11 },
      { ...publish, topic: 'users/owner/gone', payload: 'x', messageId: 12 },
      version === 5 ? { cmd: 'disconnect', reasonCode: 0 } : { cmd: 'disconnect' },
    );
    await client.ended('DISCONNECT');
    const idle = server.running.idle().then(() => 'idle');
    assert.equal(await Promise.race([idle, wait(3_000, 'still waiting', { ref: false })]), 'idle');
  });
}
