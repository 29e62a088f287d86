// MQTT 5 where it is broken: each packet of refused-connects.ts and refused-packets.ts closes its connection, with the
// reason that its clause gives, and leaves nothing: no datapoint, session, subscription, retained message or drop. Over
// TCP in one piece and byte by byte, and over WebSocket.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, suite, test } from 'node:test';
import WebSocket from 'ws';
import type { Way } from '../../support/mqtt/letter-connection.ts';
import { packet } from '../../support/mqtt/packet-bytes.ts';
import { heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';
import { ways } from './clause-rows.ts';
import { type Refused, refusedConnects } from './refused-connects.ts';
import { refusedPackets } from './refused-packets.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

/** All that could have come of a packet. */
async function remains(): Promise<unknown> {
  const rows = await server.rows();
  const { body: clients } = await server.call('owner', 'GET', '/mqtt/clients');
  const { body: drops } = await server.call('owner', 'GET', '/devices/d/drops');
  return { rows, clients, drops };
}

/** Sends the packet with one behind it that would be answered, and gives the reason that the server leaves with. */
async function reasonOf({ clause, what, sends }: Refused, way: Way, isFirst: boolean): Promise<number | undefined> {
  const name = `[${clause}] ${what}, ${way}`;
  const client = await PacketClient.open(server, { way });
  if (!isFirst) assert.equal((await client.signIn({ clientId: 'refused' })).reasonCode, 0);
  await client.send(sends, packet(0xc0));
  if (!isFirst) return client.lastWords(name);
  await client.ended(name);
  const connack = await client.next();
  assert.equal(await client.next(), undefined, `${name}: one answer at most`);
  if (connack === undefined) return undefined;
  assert.ok(connack.cmd === 'connack', name);
  return connack.reasonCode;
}

suite('a connection is closed, and nothing remains, by', () => {
  for (const [when, rows] of Object.entries({
    'as the first packet': refusedConnects,
    'behind CONNACK': refusedPackets,
  })) {
    for (const way of ways) {
      test(`each of ${rows.length} packets ${when}, ${way}`, async () => {
        const before = await remains();
        const wrong: string[] = [];
        for (const row of rows) {
          const isFirst = rows === refusedConnects;
          const code = await reasonOf(row, way, isFirst);
          // Before CONNACK the server may leave without a word [MQTT-3.1.4-1], [MQTT-3.14.0-1].
          const isRight = code === undefined ? isFirst : row.codes.includes(code);
          if (!isRight)
            wrong.push(`[${row.clause}] ${row.what}: ${code}, not ${row.codes}: ${row.sends.toString('hex')}`);
        }
        assert.deepEqual(wrong, []);
        assert.deepEqual(await remains(), before);
      });
    }
  }

  test('each packet, of a session that is kept, which stays as it was', async () => {
    const kept = { clientId: 'kept', clean: false, properties: { sessionExpiryInterval: 1_000 } };
    const first = await PacketClient.open(server);
    await first.signIn(kept);
    await first.subscribe('users/owner/kept');
    await first.cut();
    for (const row of refusedPackets) {
      const client = await PacketClient.open(server);
      assert.equal((await client.signIn(kept)).sessionPresent, true, `${row.clause} ${row.what}`);
      await client.send(row.sends);
      await client.ended(row.what);
    }
    const last = await PacketClient.open(server);
    await last.signIn(kept);
    await last.publish({ topic: 'users/owner/kept' });
    await last.publish({ topic: 'users/owner/r' });
    await server.running.idle();
    assert.deepEqual(
      heard(await last.deliveries()).map(({ topic }) => topic),
      ['users/owner/kept'],
    );
    await last.leave();
  });
});

test('[MQTT-6.0.0-1] a text frame of WebSocket closes the connection', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${server.running.ports.http}/mqtt`, 'mqtt');
  await once(socket, 'open');
  socket.send('no binary frame');
  await once(socket, 'close');
});

test('[MQTT-6.0.0-3, -4] the subprotocol of WebSocket is mqtt', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${server.running.ports.http}/mqtt`, ['other', 'mqtt']);
  await once(socket, 'open');
  assert.equal(socket.protocol, 'mqtt');
  socket.close();
  await once(socket, 'close');
});
