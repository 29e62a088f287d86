// Encryption: with a certificate HTTP uses TLS and a port for MQTT over TLS opens beside plain MQTT; without one, a
// warning where other machines can connect. The key pair in support/tls/ is for tests only; it is valid until 2120.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import WebSocket from 'ws';
import { connectMqtt } from '../support/mqtt/mqtt-connection.ts';
import { adminPassword, makeFolder, root, runVerb, startDundun, startRefused } from '../support/process.ts';

const certFile = join(root, 'test/support/tls/cert.pem');
const keyFile = join(root, 'test/support/tls/key.pem');
const pair = { DUNDUN_TLS_CERT: certFile, DUNDUN_TLS_KEY: keyFile };
const ca = readFileSync(certFile, 'utf8');

suite('encryption', { timeout: 1_800_000 }, () => {
  test('with a certificate HTTP is HTTPS alone, and MQTT is there with TLS and without', async () => {
    const dundun = await startDundun({ settings: pair });
    const { http, mqtt, mqtts } = dundun.ports;
    assert.ok(mqtt !== undefined && mqtts !== undefined && mqtts > 0);
    const login = { username: 'admin', password: adminPassword };
    const token = await post(http, '/api/v2/auth/token', login);
    assert.equal(token.status, 200);
    const device = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
    assert.equal((await post(http, '/api/v2/devices', device, token.body)).status, 204);
    await assert.rejects(fetch(`http://127.0.0.1:${http}/health/live`));
    await assert.rejects(fetch(`https://127.0.0.1:${http}/health/live`), 'a stranger is not trusted');

    const { connection, connack } = await connectMqtt(mqtts, { ...login, ca });
    assert.equal(connack.returnCode, 0);
    const acknowledged = new Promise((resolve) => {
      connection.onPacket = resolve;
    });
    const packet = { topic: 'devices/d/sensors/s/value', payload: '{"value":4711}', qos: 1, messageId: 1 } as const;
    connection.send({ cmd: 'publish', ...packet, dup: false, retain: false });
    assert.equal(((await acknowledged) as { cmd: string }).cmd, 'puback');
    const keepAlive = new Agent({ keepAlive: true, maxSockets: 1, ca });
    for (let value = 1; value <= 3; value++) {
      const pushed = await send(http, '/api/v2/devices/d/sensors/s/values', { agent: keepAlive, body: { value } });
      assert.equal(pushed.status, 204);
    }
    keepAlive.destroy();
    const values = await send(http, '/api/v2/devices/d/sensors/s/values');
    assert.deepEqual(
      JSON.parse(values.body).map(({ value }: { value: number }) => value),
      [4711, 1, 2, 3],
    );
    connection.end();

    assert.equal((await connectMqtt(mqtt, login)).connack.returnCode, 0);
    await assert.rejects(connectMqtt(mqtts, login), 'plain MQTT on the TLS port');
    const webSocket = new WebSocket(`wss://127.0.0.1:${http}/mqtt`, 'mqtt', { ca });
    await new Promise((resolve, reject) => webSocket.once('open', resolve).once('error', reject));
    assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
    assert.doesNotMatch(dundun.stderr, /not encrypted/);
  });

  test('one of the two settings alone is a fault', async () => {
    for (const [name, other] of [Object.keys(pair), Object.keys(pair).reverse()] as [string, string][]) {
      const { code, stderr } = await runVerb(['serve'], { settings: { ...pair, [name]: undefined } });
      assert.equal(code, 2);
      assert.match(stderr, /DUNDUN_TLS_CERT and DUNDUN_TLS_KEY: set both, or none/, other);
    }
  });

  test('a certificate or key that is no good is named with its setting, and nothing is made', async () => {
    const folder = makeFolder();
    const data = join(folder, 'data');
    const garbage = join(folder, 'garbage.pem');
    writeFileSync(garbage, '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n');
    const foreign = join(folder, 'foreign.pem');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(foreign, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const cases: readonly [Record<string, string>, RegExp][] = [
      [{ DUNDUN_TLS_CERT: '/nowhere/cert.pem' }, /DUNDUN_TLS_CERT: "\/nowhere\/cert\.pem" cannot be read \(ENOENT/],
      [{ DUNDUN_TLS_KEY: folder }, /DUNDUN_TLS_KEY: "\S+" cannot be read \(EISDIR/],
      [{ DUNDUN_TLS_CERT: garbage }, /DUNDUN_TLS_CERT: "\S+garbage\.pem" must be a file in PEM form/],
      [{ DUNDUN_TLS_KEY: garbage }, /DUNDUN_TLS_KEY: "\S+garbage\.pem" must be a file in PEM form/],
      [
        { DUNDUN_MQTT_CLIENT_CA: keyFile },
        /DUNDUN_MQTT_CLIENT_CA: "\S+key\.pem" must be a file in PEM form.*no CERTIFICATE/,
      ],
      [{ DUNDUN_MQTT_CLIENT_CA: '/nowhere/ca.pem' }, /DUNDUN_MQTT_CLIENT_CA: "\S+" cannot be read \(ENOENT/],
      [
        { DUNDUN_MQTT_CLIENT_CA: certFile, DUNDUN_MQTT_CLIENT_CRL: certFile },
        /DUNDUN_MQTT_CLIENT_CRL: "\S+cert\.pem" must be a file in PEM form.*no X509 CRL/,
      ],
      [
        { DUNDUN_MQTT_CLIENT_CRL: certFile },
        /DUNDUN_MQTT_CLIENT_CRL and DUNDUN_MQTT_CLIENT_CERT: need DUNDUN_MQTT_CLIENT_CA/,
      ],
      [{ DUNDUN_MQTT_CLIENT_CERT: 'required' }, /DUNDUN_MQTT_CLIENT_CERT: need DUNDUN_MQTT_CLIENT_CA/],
      [{ DUNDUN_TLS_KEY: foreign }, /DUNDUN_TLS_CERT and DUNDUN_TLS_KEY: the key is not that of the certificate/],
    ];
    for (const [wrong, says] of cases) {
      const { code, stdout, stderr } = await startRefused({ folder: data, settings: { ...pair, ...wrong } });
      assert.equal(code, 2);
      assert.equal(stdout, '');
      assert.match(stderr, says);
      assert.equal(stderr.trimEnd().split('\n').length, 2, stderr);
    }
    assert.equal(existsSync(data), false);
  });

  for (const { host, settings, warns } of [
    { host: '0.0.0.0', settings: {}, warns: true },
    { host: '127.0.0.1', settings: {}, warns: false },
    { host: 'localhost', settings: {}, warns: false },
    { host: '0.0.0.0', settings: pair, warns: false },
  ]) {
    const what = `on ${host} ${settings === pair ? 'with' : 'without'} a certificate`;
    test(`listening ${what} ${warns ? 'logs a warning' : 'warns of nothing'}`, async () => {
      const dundun = await startDundun({ settings: { ...settings, DUNDUN_HTTP_HOST: host } });
      await dundun.stop();
      const warnings = dundun.stderr
        .split('\n')
        .filter((line) => line.includes('not encrypted'))
        .map((line) => JSON.parse(line) as { level: number; host: string });
      assert.deepEqual(
        warnings.map(({ level, host: named }) => ({ level, named })),
        warns ? [{ level: 40, named: host }] : [],
      );
    });
  }
});

interface Answer {
  readonly status: number;
  readonly body: string;
}

function post(port: number, path: string, body: unknown, token?: string): Promise<Answer> {
  return send(port, path, { body, token });
}

interface SendOptions {
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly agent?: Agent | false;
}

/** fetch cannot be told whom to trust. */
async function send(port: number, path: string, { body, token, agent = false }: SendOptions = {}): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const outgoing = request({
    ...{ host: '127.0.0.1', port, path, ca, agent },
    method: body === undefined ? 'GET' : 'POST',
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
  });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', async (incoming) => {
      resolve({ status: incoming.statusCode ?? 0, body: await text(incoming) });
    });
  });
}
