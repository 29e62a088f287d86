// Plain MQTT behind a proxy that sends the PROXY protocol (DUNDUN_MQTT_PROXY_PROTOCOL): the header is required,
// accepted from trusted proxies only, and its address is the client's.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { generate, type IConnackPacket, type Packet, parser } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { connectBytes } from '../../support/mqtt/mqtt-raw.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_MQTT_PROXY_PROTOCOL: 'on', DUNDUN_TRUST_PROXY: '127.0.0.1' });
  const json = { id: 'open', visibility: 'public', sensors: [{ id: 's1' }] };
  await server.call('owner', 'POST', '/devices', { json });
});
after(() => server.stop());

const header = (client: string) => Buffer.from(`PROXY TCP4 ${client} 198.51.100.1 4711 1883\r\n`);
const login = (secret = password) => connectBytes({ clientId: '', username: 'owner', password: secret });

class Connection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #packets: Packet[] = [];
  #hear: () => void = () => {};

  constructor(localAddress = '127.0.0.1') {
    this.socket = connect({ host: '127.0.0.1', port: server.running.ports.mqtt ?? 0, localAddress, noDelay: true });
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet) => {
      this.#packets.push(packet);
      this.#hear();
    });
    this.socket.on('data', (bytes) => packets.parse(bytes));
  }

  /** The next packet; undefined: the connection was closed. */
  async next(): Promise<Packet | undefined> {
    const heard = new Promise<void>((resolve) => {
      this.#hear = resolve;
    });
    if (this.#packets.length === 0) await Promise.race([heard, this.closed]);
    return this.#packets.shift();
  }
}

/** CONNACK's code; undefined: the connection was cut without one. */
async function codeOf(bytes: Buffer, from?: string): Promise<number | undefined> {
  const connection = new Connection(from);
  connection.socket.write(bytes);
  const connack = (await connection.next()) as IConnackPacket | undefined;
  connection.socket.destroy();
  return connack?.returnCode;
}

suite('with the PROXY protocol', () => {
  const local = Buffer.concat([Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'), Buffer.from([0x20, 0x00, 0x00, 0x00])]);
  const rows: readonly [name: string, bytes: Buffer, code: number | undefined, from?: string][] = [
    ['a connection with a header is taken', Buffer.concat([header('192.0.2.1'), login()]), 0],
    ['a check by the proxy itself is taken', Buffer.concat([local, login()]), 0],
    ['a connection without a header is cut', login(), undefined],
    ['a header that is none is cut', Buffer.concat([Buffer.from('PROXY TCP4 x y 1 2\r\n'), login()]), undefined],
    ['two headers are cut', Buffer.concat([header('192.0.2.1'), header('192.0.2.2'), login()]), undefined],
    ['a header that does not end is cut', Buffer.from(`PROXY ${'x'.repeat(200)}`), undefined],
    ['a header from elsewhere is cut', Buffer.concat([header('192.0.2.1'), login()]), undefined, '127.0.0.2'],
  ];
  for (const [name, bytes, code, from] of rows) {
    test(name, async () => assert.equal(await codeOf(bytes, from), code));
  }

  test('a header and what is behind it may come byte by byte, and a push behind it is stored', async () => {
    const publish = { topic: 'devices/open/sensors/s1/value', payload: '{"value":1}', qos: 1, messageId: 7 } as const;
    const bytes = Buffer.concat([
      ...[header('192.0.2.1'), login()],
      generate({ cmd: 'publish', ...publish, dup: false, retain: false }),
    ]);
    const connection = new Connection();
    for (const byte of bytes)
      await new Promise<unknown>((resolve) => connection.socket.write(Buffer.from([byte]), resolve));
    assert.equal((await connection.next())?.cmd, 'connack');
    assert.equal((await connection.next())?.cmd, 'puback');
    connection.socket.destroy();
    const { body } = await server.call('guest', 'GET', '/devices/open/sensors/s1/values');
    assert.deepEqual([body.length, body[0].value], [1, 1]);
  });

  test('wrong logins slow down the client of the header and no other', async () => {
    for (let n = 0; n < limits.loginFailuresMax; n++)
      assert.equal(await codeOf(Buffer.concat([header('192.0.2.66'), login(`wrong ${n}`)])), 4);
    const token = (forwardedFor: string) =>
      server.send('POST', '/api/v2/auth/token', {
        json: { username: 'owner', password: 'wrong' },
        headers: { 'x-forwarded-for': forwardedFor },
      });
    assert.equal((await token('192.0.2.66')).status, 429);
    assert.equal((await token('192.0.2.67')).status, 401);
    assert.equal(await codeOf(Buffer.concat([header('192.0.2.68'), login()])), 0);
  });

  test('a header that does not come in time is waited for no longer', async () => {
    const silent = new Connection();
    const begun = new Connection();
    begun.socket.write('PROXY TCP4 192.0.2.1');
    await Promise.all([silent, begun].map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))));
    // Once this one is answered, the two before it are waited for.
    assert.equal(await codeOf(Buffer.concat([header('192.0.2.1'), login()])), 0);
    server.clock.advance(limits.proxyHeaderMsMax);
    await Promise.all([silent.closed, begun.closed]);
  });

  test('connections that go before their header leave nothing behind, and stopping does not wait for others', async () => {
    for (let n = 0; n < 20; n++) {
      const connection = new Connection();
      if (n % 2 === 0) connection.socket.write('PROXY TCP4 192');
      await new Promise((resolve) => connection.socket.once('connect', resolve));
      if (n % 3 === 0) connection.socket.resetAndDestroy();
      else if (n % 3 === 1) connection.socket.end();
      if (n % 3 < 2) await connection.closed;
    }
    await server.restart();
    assert.equal(await codeOf(Buffer.concat([header('192.0.2.1'), login()])), 0);
  });
});

test('without the setting, a header is no MQTT', async () => {
  await server.restart({ DUNDUN_MQTT_PROXY_PROTOCOL: 'off' });
  assert.equal(await codeOf(Buffer.concat([header('192.0.2.1'), login()])), undefined);
  assert.equal(await codeOf(login()), 0);
});
