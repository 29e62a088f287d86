// What clients are told when the service stops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PacketClient, type Version } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

const reference = 'other.example.org:1883';
const rows = [
  { version: 5, settings: {}, code: 0x8b, told: undefined },
  { version: 5, settings: { DUNDUN_MQTT_SERVER_REFERENCE: reference }, code: 0x9c, told: reference },
  { version: 4, settings: { DUNDUN_MQTT_SERVER_REFERENCE: reference }, code: undefined, told: undefined },
] as const;

for (const { version, settings, code, told } of rows) {
  const where = told === undefined ? 'nowhere' : `to ${told}`;
  const what = code === undefined ? 'is closed' : `is told 0x${code.toString(16)} and sent ${where}`;
  test(`when the service stops a client of version ${version} ${what}`, async () => {
    const server = await TestServer.start(settings);
    const client = await PacketClient.open(server, { version: version as Version });
    await client.signIn();
    await server.stop();
    const last = await client.next();
    assert.equal(last?.cmd === 'disconnect' ? last.reasonCode : undefined, code);
    assert.equal(last?.cmd === 'disconnect' ? last.properties?.serverReference : undefined, told);
    await client.ended('the service has stopped');
  });
}
