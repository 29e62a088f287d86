// A message of QoS 2 that the service has received and its client has not released: it is known over a restart, so that a
// repeat is delivered to nobody again [MQTT-4.3.3-2].
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

test('a repeat behind a restart is answered and delivered to nobody; behind its PUBREL the packet id is free', async () => {
  const topic = 'users/owner/once';
  const options = { clientId: 'once', clean: false };
  const message = { topic, payload: 'one', qos: 2, messageId: 7 } as const;
  const first = await RawClient.connect(server, 'owner', options);
  // It is not released.
  first.acknowledges = false;
  first.publish(message);
  assert.equal((await first.next('pubrec')).messageId, 7);
  await first.cut();
  await server.restart();
  const witness = await Client.connect(server, 'owner');
  await witness.subscribe(topic, 2);
  const again = await RawClient.open(server);
  again.acknowledges = false;
  const { sessionPresent } = await again.signIn('owner', options);
  assert.equal(sessionPresent, true);
  again.publish({ ...message, dup: true });
  assert.equal((await again.next('pubrec')).messageId, 7);
  again.send({ cmd: 'pubrel', messageId: 7 });
  assert.equal((await again.next('pubcomp')).messageId, 7);
  again.publish({ ...message, payload: 'two' });
  assert.equal((await again.next('pubrec')).messageId, 7);
  again.send({ cmd: 'pubrel', messageId: 7 });
  await again.next('pubcomp');
  const [seen = []] = await takeAll(server, witness);
  assert.deepEqual(
    seen.map(({ payload }) => `${payload}`),
    ['two'],
  );
  await Promise.all([again.end(), witness.end()]);
});
