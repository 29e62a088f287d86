// Clients behind a trusted proxy count by their own address over HTTP and MQTT (DUNDUN_TRUST_PROXY): a client that
// guesses passwords slows down no other client of the same proxy.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { generate, type IConnackPacket, parser } from 'mqtt-packet';
import WebSocket from 'ws';
import { limits } from '../../../src/config/limits.ts';
import { connectBytes } from '../../support/mqtt/mqtt-raw.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const guesser = '198.51.100.1';
const owner = '203.0.113.7';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' });
});
after(() => server.stop());

/** CONNACK's code of a sign-in over WebSocket, as a proxy passes it on. */
async function signIn(forwardedFor: string | undefined, secret: string): Promise<number | undefined> {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  const webSocket = new WebSocket(`ws://127.0.0.1:${server.running.ports.http}/mqtt`, 'mqtt', { headers });
  const packets = parser({ protocolVersion: 4 });
  webSocket.on('message', (bytes: Buffer) => packets.parse(bytes));
  const connack = new Promise<IConnackPacket>((resolve, reject) => {
    packets.on('packet', (packet) => resolve(packet as IConnackPacket));
    webSocket.on('error', reject);
  });
  await new Promise((resolve) => webSocket.once('open', resolve));
  webSocket.send(connectBytes({ clientId: '', username: 'owner', password: secret }));
  const { returnCode } = await connack;
  webSocket.send(generate({ cmd: 'disconnect' }));
  webSocket.terminate();
  return returnCode;
}

const token = (forwardedFor: string, secret: string) =>
  server.send('POST', '/api/v2/auth/token', {
    json: { username: 'owner', password: secret },
    headers: { 'x-forwarded-for': forwardedFor },
  });

suite('behind a trusted proxy', () => {
  test('wrong logins over WebSocket slow down the address they come from, and not the right user', async () => {
    for (let n = 0; n < limits.loginFailuresMax; n++) assert.equal(await signIn(guesser, `wrong ${n}`), 4);
    assert.equal(await signIn(guesser, password), 4, 'the guesser waits');
    assert.equal((await token(guesser, password)).status, 429, 'at the other door too');
    assert.equal(await signIn(owner, password), 0, 'the owner comes in');
    assert.equal((await token(owner, password)).status, 200);
  });

  test('a guesser neither takes the address of another nor gets a new one with each try', async () => {
    server.clock.advance(3_600_000);
    for (let n = 0; n < limits.loginFailuresMax; n++) {
      const spoofed = n % 2 === 0 ? `${owner}, ${guesser}` : `192.0.2.${n}, 10.0.0.1, ${guesser}, 10.0.0.2`;
      assert.equal(await signIn(spoofed, `wrong ${n}`), 4);
    }
    assert.equal((await token(`192.0.2.99, ${guesser}:4711`, password)).status, 429);
    assert.equal(await signIn(owner, password), 0);
  });

  test('what is no address counts as the proxy that passed it on', async () => {
    server.clock.advance(3_600_000);
    for (let n = 0; n < limits.loginFailuresMax; n++) assert.equal((await token(`unknown-${n}`, 'wrong')).status, 401);
    assert.equal((await token('somebody else', password)).status, 429);
    assert.equal(await signIn(undefined, password), 4);
    assert.equal(await signIn(owner, password), 0);
  });
});

test('where no proxy is trusted, the header changes nothing', async () => {
  await server.restart({ DUNDUN_TRUST_PROXY: '' });
  server.clock.advance(3_600_000);
  for (let n = 0; n < limits.loginFailuresMax; n++) assert.equal(await signIn(`192.0.2.${n}`, 'wrong'), 4);
  assert.equal(await signIn(owner, password), 4);
  assert.equal((await token(owner, password)).status, 429);
});
