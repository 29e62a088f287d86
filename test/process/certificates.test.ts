// TLS in a running service: certificates that are reloaded on SIGHUP and when their files change, accepted protocols
// and ciphers, HSTS, plain MQTT switched off; and that SIGHUP never ends the process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import WebSocket from 'ws';
import { connectMqtt } from '../support/mqtt/mqtt-connection.ts';
import { adminPassword, call, Dundun, makeFolder, root, runVerb, startDundun } from '../support/process.ts';
import { until } from '../support/until.ts';

const pairs = join(root, 'test/support/tls');
const ca = ['cert.pem', 'next-cert.pem'].map((name) => readFileSync(join(pairs, name), 'utf8')).join('\n');
const fixed = { DUNDUN_TLS_CERT: join(pairs, 'cert.pem'), DUNDUN_TLS_KEY: join(pairs, 'key.pem') };

/** A pair of files that may be changed. */
function makePair() {
  const folder = makeFolder();
  const certFile = join(folder, 'cert.pem');
  const keyFile = join(folder, 'key.pem');
  const put = (start: '' | 'next-') => {
    copyFileSync(join(pairs, `${start}cert.pem`), certFile);
    copyFileSync(join(pairs, `${start}key.pem`), keyFile);
  };
  put('');
  return { certFile, put, settings: { DUNDUN_TLS_CERT: certFile, DUNDUN_TLS_KEY: keyFile } };
}

async function connectTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca, ...options });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  socket.on('error', () => {});
  return socket;
}

async function serialOf(port: number): Promise<string> {
  const socket = await connectTls(port);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

/** Waits until both ports show another certificate. */
async function untilOther(ports: readonly number[], serial: string): Promise<void> {
  for (const port of ports) await until(async () => (await serialOf(port)) !== serial, { everyMs: 100 });
}

suite('a certificate', { timeout: 1_800_000 }, () => {
  for (const how of ['when its files change', 'on SIGHUP'] as const) {
    test(`is read anew ${how}, and nobody is cut`, async () => {
      const { put, settings } = makePair();
      const dundun = await startDundun({ settings });
      const { http, mqtts = 0 } = dundun.ports;
      const first = await serialOf(http);
      const kept = await connectTls(http);
      const { connection } = await connectMqtt(mqtts, { username: 'admin', password: adminPassword, ca });
      put('next-');
      if (how === 'on SIGHUP') dundun.child.kill('SIGHUP');
      await untilOther([http, mqtts], first);
      kept.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
      assert.match(String((await once(kept, 'data'))[0]), /^HTTP\/1\.1 200/);
      const answered = new Promise<{ cmd: string }>((resolve) => {
        connection.onPacket = resolve;
      });
      connection.send({ cmd: 'pingreq' });
      assert.equal((await answered).cmd, 'pingresp');
      kept.destroy();
      connection.end();
      assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
      assert.match(dundun.stderr, /"validTo":".*was read anew/);
    });
  }

  test('that cannot be used is logged, and the one before stays', async () => {
    const { certFile, settings } = makePair();
    const dundun = await startDundun({ settings });
    const first = await serialOf(dundun.ports.http);
    copyFileSync(join(pairs, 'next-cert.pem'), certFile);
    dundun.child.kill('SIGHUP');
    while (!dundun.stderr.includes('the one before stays')) await once(dundun.child.stderr, 'data');
    for (const port of [dundun.ports.http, dundun.ports.mqtts ?? 0]) assert.equal(await serialOf(port), first);
    assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
  });
});

suite('TLS', { timeout: 1_800_000 }, () => {
  test('is 1.2 at least, with keys for one connection alone and authenticated encryption', async () => {
    const dundun = await startDundun({ settings: fixed });
    const { http, mqtts = 0 } = dundun.ports;
    const takes: readonly [ConnectionOptions, boolean][] = [
      [{ minVersion: 'TLSv1.3' }, true],
      [{ maxVersion: 'TLSv1.2' }, true],
      [{ maxVersion: 'TLSv1.2', ciphers: 'ECDHE+AESGCM' }, true],
      [{ maxVersion: 'TLSv1.2', ciphers: 'ECDHE+CHACHA20' }, true],
      [{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }, false],
      [{ maxVersion: 'TLSv1.2', ciphers: 'kRSA+AESGCM' }, false],
      [{ maxVersion: 'TLSv1.2', ciphers: 'ECDHE+AES+SHA256:ECDHE+AES+SHA:!AESGCM' }, false],
      [{ maxVersion: 'TLSv1.2', ciphers: 'DHE+AESGCM:!ECDHE' }, false],
    ];
    for (const port of [http, mqtts]) {
      for (const [options, isTaken] of takes) {
        const taken = await connectTls(port, options).then(
          (socket) => Boolean(socket.destroy()),
          () => false,
        );
        assert.equal(taken, isTaken, JSON.stringify(options));
      }
    }
    await dundun.stop();
  });

  test('alone is left where plain MQTT is off, over WebSocket too', async () => {
    const dundun = await startDundun({ settings: { ...fixed, DUNDUN_MQTT_PORT: 'off' } });
    const { http, mqtt, mqtts = 0 } = dundun.ports;
    assert.equal(mqtt, undefined);
    const login = { username: 'admin', password: adminPassword };
    assert.equal((await connectMqtt(mqtts, { ...login, ca })).connack.returnCode, 0);
    const webSocket = new WebSocket(`wss://127.0.0.1:${http}/mqtt`, 'mqtt', { ca });
    await new Promise((resolve, reject) => webSocket.once('open', resolve).once('error', reject));
    const { body } = await get(http, '/dashboard.json');
    assert.deepEqual(JSON.parse(body).mqtt, { tlsPort: mqtts });
    assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
  });

  test('is asked for with HSTS where that is set, and over TLS alone', async () => {
    const settings = { DUNDUN_HSTS: '31536000' };
    const dundun = await startDundun({ settings: { ...settings, ...fixed } });
    for (const path of ['/health/live', '/nowhere', '/'])
      assert.equal((await get(dundun.ports.http, path)).hsts, 'max-age=31536000', path);
    await dundun.stop();
    const plain = await startDundun({ settings: { ...settings, DUNDUN_TRUST_PROXY: '127.0.0.1' } });
    assert.equal((await call(plain, '/health/live')).headers.get('strict-transport-security'), null);
    const headers = { 'x-forwarded-proto': 'https' };
    const proxied = await call(plain, '/health/live', { headers });
    assert.equal(proxied.headers.get('strict-transport-security'), 'max-age=31536000');
    await plain.stop();
    const silent = await startDundun({ settings: fixed });
    assert.equal((await get(silent.ports.http, '/health/live')).hsts, undefined);
    await silent.stop();
  });
});

suite('SIGHUP', { timeout: 1_800_000 }, () => {
  for (const [name, settings] of [
    ['with TLS', fixed],
    ['without TLS', {}],
  ] as const) {
    test(`ends the service neither while it runs nor while it starts or stops, ${name}`, async () => {
      const dundun = new Dundun({
        // Told so, the launcher does not execute Node.js once more, which would hear signals for as long
        // as it has not come to its first line again.
        settings: { ...settings, DUNDUN_LAUNCHER_DONE: '1' },
        command: [process.execPath, join(root, 'bin/dundun.js'), 'serve'],
      });
      let isReady = false;
      dundun.ready.then(
        () => {
          isReady = true;
        },
        () => {},
      );
      // Node.js itself takes a moment until it runs its first line.
      await until(() => catchesHangup(dundun.child.pid ?? 0));
      assert.equal(isReady, false, 'it is still about to start');
      await until(() => dundun.child.kill('SIGHUP') && isReady, { everyMs: 20 });
      for (let n = 0; n < 20; n++) dundun.child.kill('SIGHUP');
      // It lives, and has come to the signals.
      await (name === 'with TLS' ? serialOf(dundun.ports.http) : call(dundun, '/health/live'));
      const exit = dundun.stop();
      // At every moment of the stop.
      const again = setInterval(() => dundun.child.kill('SIGHUP'), 5);
      assert.deepEqual(await exit, { code: 0, signal: null });
      clearInterval(again);
    });
  }
});

test('the PROXY protocol needs to know whom to believe', async () => {
  const { code, stderr } = await runVerb(['serve'], { settings: { DUNDUN_MQTT_PROXY_PROTOCOL: 'on' } });
  assert.equal(code, 2);
  assert.match(stderr, /DUNDUN_MQTT_PROXY_PROTOCOL: needs the addresses of the proxies in DUNDUN_TRUST_PROXY/);
});

/** Whether the process has a handler of SIGHUP, which would end it otherwise; of Linux. */
function catchesHangup(pid: number): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number.parseInt(/^SigCgt:.*(\w)$/m.exec(status)?.[1] ?? '0', 16) & 1) === 1;
}

/** fetch cannot be told whom to trust. */
async function get(port: number, path: string): Promise<{ readonly hsts: string | undefined; readonly body: string }> {
  const outgoing = request({ host: '127.0.0.1', port, path, ca, agent: new Agent() });
  outgoing.end();
  const [incoming] = await once(outgoing, 'response');
  return { hsts: incoming.headers['strict-transport-security'], body: await text(incoming) };
}
