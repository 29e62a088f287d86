// mqtt.js with 3.1.1 and version 5, as applications use it: over TCP and WebSocket, with its own sessions, topic aliases and reconnecting.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connectAsync, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'well', sensors: [{ id: 'level' }] } });
});
after(() => server.stop());

const versions = [4, 5] as const;

function connect(options: IClientOptions, over: 'tcp' | 'ws' = 'tcp'): Promise<MqttClient> {
  const { mqtt, http } = server.running.ports;
  const url = over === 'tcp' ? `mqtt://127.0.0.1:${mqtt}` : `ws://127.0.0.1:${http}/mqtt`;
  return connectAsync(url, { username: 'owner', password, reconnectPeriod: 20, ...options });
}

function listen(client: MqttClient): { readonly payload: string; readonly packet: IPublishPacket }[] {
  const heard: { payload: string; packet: IPublishPacket }[] = [];
  client.on('message', (_topic, payload, packet) => heard.push({ payload: `${payload}`, packet }));
  return heard;
}

/** Waits for so many messages. */
async function untilHeard(client: MqttClient, heard: readonly unknown[], count: number): Promise<void> {
  while (heard.length < count) await new Promise<void>((resolve) => client.once('message', () => resolve()));
}

suite('mqtt.js', () => {
  for (const protocolVersion of versions) {
    for (const over of ['tcp', 'ws'] as const) {
      test(`with version ${protocolVersion} over ${over}: readings are stored and heard with each QoS`, async () => {
        const client = await connect({ protocolVersion, clientId: `js-${protocolVersion}-${over}` }, over);
        const heard = listen(client);
        await client.subscribeAsync('devices/well/#', { qos: 2 });
        const before = (await server.call('owner', 'GET', '/devices/well/sensors/level/values')).body.length;
        for (const qos of [0, 1, 2] as const) {
          await client.publishAsync('devices/well/sensors/level/value', `{"value":${qos}}`, { qos });
          await untilHeard(client, heard, qos + 1);
        }
        assert.deepEqual(
          heard.map(({ payload, packet }) => [payload, packet.qos]),
          [0, 1, 2].map((qos) => [`{"value":${qos}}`, qos]),
        );
        assert.equal((await server.call('owner', 'GET', '/devices/well/sensors/level/values')).body.length - before, 3);
        await client.endAsync();
      });
    }

    test(`with version ${protocolVersion}: it connects again after the server was restarted, and loses nothing`, async () => {
      const options = {
        protocolVersion,
        clientId: `back-${protocolVersion}`,
        clean: false,
        ...(protocolVersion === 5 && { properties: { sessionExpiryInterval: 1_000 } }),
      };
      const port = server.running.ports.mqtt;
      const client = await connect(options);
      const heard = listen(client);
      await client.subscribeAsync('users/owner/back', { qos: 1 });
      const connected = new Promise<void>((resolve) => client.once('connect', () => resolve()));
      await server.restart({ DUNDUN_MQTT_PORT: String(port) });
      await connected;
      await client.publishAsync('users/owner/back', 'again', { qos: 1 });
      await untilHeard(client, heard, 1);
      assert.equal(heard[0]?.payload, 'again');
      await client.endAsync();
    });
  }

  test('with version 5: topic aliases of its own, both ways, and identifiers of subscriptions', async () => {
    const client = await connect({
      protocolVersion: 5,
      clientId: 'aliases',
      autoAssignTopicAlias: true,
      properties: { topicAliasMaximum: 10 },
    });
    const heard = listen(client);
    await client.subscribeAsync('users/owner/aliased/#', { qos: 1, properties: { subscriptionIdentifier: 9 } });
    for (let n = 0; n < 6; n++) await client.publishAsync(`users/owner/aliased/${n % 2}`, `${n}`, { qos: 1 });
    await untilHeard(client, heard, 6);
    assert.deepEqual(
      heard.map(({ payload, packet }) => [payload, packet.properties?.subscriptionIdentifier]),
      ['0', '1', '2', '3', '4', '5'].map((payload) => [payload, 9]),
    );
    await client.endAsync();
  });

  test('with version 5: it is told why a message was not stored', async () => {
    const client = await connect({ protocolVersion: 5, clientId: 'told' });
    await assert.rejects(client.publishAsync('devices/none/sensors/s/value', '1', { qos: 1 }), /not|invalid|sensor/i);
    await client.endAsync();
  });
});
