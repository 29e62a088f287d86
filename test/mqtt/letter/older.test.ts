// MQTT 3.1 (level 3, `MQIsdp`), beside the tables of 3.1.1: what is answered, and what closes the connection. 3.1 has no
// numbered statements; the sections are those of its specification. It is in most as 3.1.1 is.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { LetterConnection, type Way } from '../../support/mqtt/letter-connection.ts';
import { connectOf, packet } from '../../support/mqtt/packet-bytes.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { laterPackets } from './refused-packets.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

const ways: readonly Way[] = ['in one piece', 'byte by byte', 'over WebSocket'];
const ping = packet(0xc0);
const pong = 'd000';
const accepted = '20020000';
const older = (flags: number, ...fields: Parameters<typeof packet> extends [number, ...infer Rest] ? Rest : never) =>
  connectOf({ name: 'MQIsdp', level: 3, flags }, ...fields);
const hello = (clientId = 'older', flags = 0xc2) => older(flags, clientId, 'owner', password);

/** All that is answered to the pieces, which have these answers, and to a ping where they leave the connection open. */
async function answersTo(way: Way, pieces: readonly Buffer[], answers: string): Promise<string> {
  const connection = await LetterConnection.open(server, way);
  for (const bytes of pieces) await connection.send(bytes);
  // An answer that waits for the disk may come behind that to a ping.
  await connection.received(answers.length / 2);
  if (answers.startsWith(accepted)) {
    await connection.send(ping);
    await connection.received(answers.length / 2 + pong.length / 2);
    await connection.cut();
  } else {
    await connection.ended(answers);
  }
  return connection.bytes.toString('hex');
}

const rows: readonly (readonly [section: string, what: string, pieces: readonly Buffer[], answers: string])[] = [
  ['3.1', 'a CONNECT', [hello()], accepted],
  ['3.1', 'a client id of 23 characters', [hello('x'.repeat(23))], accepted],
  ['3.1', 'a wrong password: 4', [older(0xc2, 'older', 'owner', 'wrong')], '20020004'],
  ['3.1', 'no client id: identifier rejected', [hello('')], '20020002'],
  ['3.1', 'a will', [older(0xee, 'older', 'users/owner/w', 'gone', 'owner', password)], accepted],
  ['3.3', 'a PUBLISH of QoS 1', [hello(), packet(0x32, 'users/owner/x', [0, 9])], `${accepted}40020009`],
  ['3.3', 'a PUBLISH of QoS 2', [hello(), packet(0x34, 'users/owner/x', [0, 9])], `${accepted}50020009`],
  ['3.6', 'a PUBREL', [hello(), packet(0x62, [0, 9])], `${accepted}70020009`],
  ['3.6', 'a PUBREL sent again, with DUP', [hello(), packet(0x6a, [0, 9])], `${accepted}70020009`],
  ['3.8', 'a SUBSCRIBE', [hello(), packet(0x82, [0, 1], 'a/+', [1], 'b/#', [2])], `${accepted}900400010102`],
  ['3.8', 'a SUBSCRIBE sent again, with DUP', [hello(), packet(0x8a, [0, 1], 'a', [1])], `${accepted}9003000101`],
  ['3.10', 'an UNSUBSCRIBE', [hello(), packet(0xa2, [0, 1], 'a')], `${accepted}b0020001`],
  ['3.10', 'an UNSUBSCRIBE sent again, with DUP', [hello(), packet(0xaa, [0, 1], 'a')], `${accepted}b0020001`],
];

suite('version 3.1 answers', () => {
  for (const [section, what, pieces, answers] of rows) {
    test(`(${section}) ${what}`, async () => {
      const isOpen = answers.startsWith(accepted);
      for (const way of ways) assert.equal(await answersTo(way, pieces, answers), answers + (isOpen ? pong : ''), way);
    });
  }

  test('(3.1, 3.2) a session that is kept, without a word of it in CONNACK', async () => {
    const kept = hello('older-kept', 0xc0);
    for (const answers of [accepted, accepted]) {
      const connection = await LetterConnection.open(server, 'in one piece');
      await connection.send(kept);
      await connection.received(4);
      // Its byte of flags is reserved: 3.1.1 tells there whether a session is present.
      assert.match(connection.bytes.toString('hex'), /^200200?[01]?0?[01]?00$/, answers);
      await connection.send(packet(0xe0));
      await connection.ended('DISCONNECT');
    }
  });
});

/** Where a DUP is allowed that 3.1.1 does not know. */
const isAllowed = (bytes: Buffer) => [0x6a, 0x8a, 0xaa].includes(bytes[0] ?? 0);

suite('version 3.1 closes the connection', () => {
  for (const way of ways) {
    test(`for each of the packets that 3.1.1 refuses, but for a DUP of its own, ${way}`, async () => {
      const wrong: string[] = [];
      for (const { clause, what, sends } of laterPackets) {
        if (isAllowed(sends)) continue;
        const connection = await LetterConnection.open(server, way);
        await connection.send(hello('refused'));
        await connection.received(accepted.length / 2);
        await connection.send(Buffer.concat([sends, ping]));
        await connection.ended(`[${clause}] ${what}`);
        const answers = connection.bytes.toString('hex');
        if (answers !== accepted) wrong.push(`[${clause}] ${what}: ${answers}`);
      }
      assert.deepEqual(wrong, []);
    });
  }
});
