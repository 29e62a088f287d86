// Handshakes of TLS that come to no end, on the port where clients show certificates (decision 50): what a stranger can hold open.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { TestServer } from '../../support/test-server.ts';
import { Authority } from '../../support/tls/authority.ts';
import { Certified } from '../../support/tls/certified.ts';

const folder = mkdtempSync(join(tmpdir(), 'dundun-test-'));
const pairs = join(import.meta.dirname, '../../support/tls');
const caFile = join(folder, 'ca.pem');
const authority = new Authority('fleet');

let server: TestServer;

before(async () => {
  writeFileSync(caFile, authority.cert);
  server = await TestServer.start({
    DUNDUN_TLS_CERT: join(pairs, 'cert.pem'),
    DUNDUN_TLS_KEY: join(pairs, 'key.pem'),
    DUNDUN_MQTT_TLS_PORT: '0',
    DUNDUN_MQTT_CLIENT_CA: caFile,
  });
  await server.call('stranger', 'POST', '/devices', { json: { id: 'theirs', sensors: [{ id: 's' }] } });
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('who stalls six hundred handshakes, or asks for new ones, keeps nobody with a certificate out', async () => {
  const { mqtts: port = 0 } = server.running.ports;
  const stalled: Socket[] = [];
  for (let n = 0; n < 600; n++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    socket.on('error', () => {});
    socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1]).subarray(0, n % 7));
    stalled.push(socket);
  }
  const client = new Certified(server, authority.issue('owner'), { maxVersion: 'TLSv1.2' });
  assert.equal(await client.signIn('beside'), 0);
  const asked = new Promise<void>((resolve) => {
    if (!client.socket.renegotiate({}, () => resolve())) resolve();
  });
  await Promise.race([asked, client.closed]);
  await client.publish('devices/theirs/sensors/s/value', 'renegotiated');
  const { body } = await server.call('stranger', 'GET', '/devices/theirs/sensors/s/values');
  assert.deepEqual(body, []);
  await client.cut();
  for (const socket of stalled) socket.destroy();
});
