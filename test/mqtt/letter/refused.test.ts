// MQTT 3.1.1 to the letter, where it is broken: each packet of refused-packets.ts closes its connection, with the answer
// that its clause asks for, and leaves nothing: no datapoint, session, subscription, retained message or drop. Over TCP
// in one piece and byte by byte, and over WebSocket.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { LetterConnection, type Way } from '../../support/mqtt/letter-connection.ts';
import { connectOf, loginOf, packet } from '../../support/mqtt/packet-bytes.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { firstPackets, laterPackets, type Refused } from './refused-packets.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
  // Its id is what ill-formed bytes become where they are decoded carelessly.
  await server.call('owner', 'POST', '/devices/d/sensors', { json: { id: 's\uFFFD' } });
});
after(() => server.stop());

const ways: readonly Way[] = ['in one piece', 'byte by byte', 'over WebSocket'];

/** All that could have come of a packet. */
async function remains(): Promise<unknown> {
  const rows = await server.rows();
  const { body: clients } = await server.call('owner', 'GET', '/mqtt/clients');
  const { body: drops } = await server.call('owner', 'GET', '/devices/d/drops');
  return { rows, clients, drops };
}

/** Sends the packet with one behind it that would be answered, and waits for the end. */
async function assertRefused({ clause, what, sends, answers = '' }: Refused, way: Way, hello: Buffer[]): Promise<void> {
  const connection = await LetterConnection.open(server, way);
  const accepted = hello.length === 0 ? '' : '20020000';
  for (const bytes of hello) await connection.send(bytes);
  await connection.received(accepted.length / 2);
  await connection.send(Buffer.concat([sends, packet(0xc0)]));
  await connection.ended(`[${clause}] ${what}, ${way}`);
  assert.equal(connection.bytes.toString('hex'), accepted + answers, `[${clause}] ${what}, ${way}`);
}

suite('a connection is closed, and nothing remains, by', () => {
  for (const [when, rows] of Object.entries({ 'as the first packet': firstPackets, 'behind CONNACK': laterPackets })) {
    for (const way of ways) {
      test(`each of ${rows.length} packets ${when}, ${way}`, async () => {
        const before = await remains();
        for (const row of rows) {
          const hello = rows === firstPackets ? [] : [loginOf('owner', 'refused')];
          await assertRefused(row, way, hello);
        }
        assert.deepEqual(await remains(), before);
      });
    }
  }

  test('each packet, of a session that is kept, which stays as it was', async () => {
    const kept = await LetterConnection.open(server, 'in one piece');
    await kept.send(loginOf('owner', 'kept', true));
    await kept.send(packet(0x82, [0, 1], 'devices/d/#', [1]));
    await kept.received(9);
    await kept.cut();
    const before = await remains();
    for (const row of laterPackets) {
      const connection = await LetterConnection.open(server, 'in one piece');
      await connection.send(loginOf('owner', 'kept', true));
      await connection.received(4);
      await connection.send(row.sends);
      await connection.ended(`[${row.clause}] ${row.what}`);
      assert.equal(connection.bytes.toString('hex'), '20020100', `[${row.clause}] ${row.what}`);
    }
    assert.deepEqual(forgetTimes(await remains()), forgetTimes(before));
  });
});

/** [MQTT-3.1.2-8], [MQTT-3.14.1-1]: only a lawful DISCONNECT takes the will away [MQTT-3.14.4-3]. */
test('a will is published after a packet that is not allowed, and not after DISCONNECT', async () => {
  const valuesOf = async () => {
    await server.running.idle();
    return (await server.call('owner', 'GET', '/devices/d/sensors/s/values')).body.length;
  };
  const ends: readonly [bytes: Buffer, more: number][] = [
    [packet(0xe1), 1],
    [packet(0xe0, [0]), 1],
    [packet(0x40, [0, 0]), 1],
    [loginOf('owner', 'will'), 1],
    [packet(0xe0), 0],
  ];
  for (const [end, more] of ends) {
    const before = await valuesOf();
    const connection = await LetterConnection.open(server, 'in one piece');
    const will = ['devices/d/sensors/s/value', '{"value":"gone"}'];
    await connection.send(connectOf({ flags: 0xc6 }, 'will', ...will, 'owner', password));
    await connection.received(4);
    await connection.send(end);
    await connection.ended(end.toString('hex'));
    assert.equal((await valuesOf()) - before, more, end.toString('hex'));
  }
});

/** Without the moment at which a session was last used. */
function forgetTimes(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner) => (/since|left|seen|Ms$|_at$|expires/i.test(key) ? 0 : inner));
}
