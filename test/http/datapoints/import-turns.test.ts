// Long bodies of datapoints are read in turns, line by line where lines take long and empty lines some at a time;
// objects with too many keys take next to nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { setLimits } from '../../support/limits.ts';
import { answersOf } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';

// One piece in each turn of the event loop, each line or few empty ones a piece, so that the test measures no time.
setLimits({ turnMsMax: 1e-6, turnMsMin: 1e-6, pieceMsMax: 0, blankCharsPerStep: 64 });

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json })).status, 204);
});
after(() => server.stop());

async function open(from: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.running.ports.http, localAddress: from, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

const objectOf = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]));

let addresses = 0;

/** Sends the request, and then short ones of another caller; fails unless it is answered behind these. */
async function assertOvertaken(
  line: string,
  { type, body, by }: { type: string; body: string; by: number },
): Promise<void> {
  // Addresses of which none has used the main thread lately.
  const heavy = await open(`127.0.1.${++addresses}`);
  const quiet = await open(`127.0.1.${++addresses}`);
  const order: string[] = [];
  const follow = async (who: string, socket: Socket, count: number) => {
    const answers = answersOf(socket);
    for (let n = 0; n < count; n += 1) {
      assert.match((await answers.next()).value ?? '', /^HTTP\/1\.1 200 /);
      order.push(who);
    }
  };
  const head = `Host: d\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}`;
  heavy.write(`POST /api/v2/${line} HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  quiet.write('GET /health/live HTTP/1.1\r\nHost: d\r\n\r\n'.repeat(by));
  await Promise.all([follow('heavy', heavy, 1), follow('other', quiet, by)]);
  assert.equal(order.at(-1), 'heavy', order.join(' '));
  for (const socket of [heavy, quiet]) socket.destroy();
}

for (const [type, last] of [
  ['application/x-ndjson', '{"device_id":"d","sensor_id":"s","value":1}'],
  ['text/csv', 'd,s,,1'],
] as const) {
  for (const blank of ['\n', '\r\n']) {
    test(`empty lines let forty requests of another caller be answered first (${type}, ${JSON.stringify(blank)})`, async () => {
      await assertOvertaken('datapoints', { type, body: blank.repeat(100 * limits.blankCharsPerStep) + last, by: 40 });
    });
  }
}

suite('an import of JSON', () => {
  test('of fifteen lines lets nine requests of another caller be answered first', async () => {
    const line = { sensor_id: 's', timestamp: '2026-01-01T00:00:00Z', value: 1 };
    const body = JSON.stringify(Array.from({ length: 15 }, () => line));
    await assertOvertaken('import?dry_run=true&device=d', { type: 'application/json', body, by: 9 });
  });

  for (const type of ['application/json', 'application/x-ndjson']) {
    test(`refuses a line with too many keys, and reads those behind it (${type})`, async () => {
      const lines = [
        objectOf(limits.importColumnsMax + 1),
        { sensor_id: 's', timestamp: '2026-01-01T00:00:00Z', value: 1 },
        { sensor_id: 's', timestamp: '2026-01-01T00:00:01Z', value: 2 },
      ];
      const body = type.endsWith('json') && !type.endsWith('ndjson') ? JSON.stringify(lines) : lines.map((line) => JSON.stringify(line)).join('\n'); // biome-ignore format: one line
      const { status, body: answer } = await server.request('owner', 'POST', '/api/v2/import?dry_run=true&device=d', {
        body,
        headers: { 'content-type': type },
      });
      assert.equal(status, 200);
      assert.deepEqual(answer.refused, [
        { line: 1, detail: 'The file has more than 2000 keys.', code: 'many-keys', params: { max: 2000 } },
      ]);
      assert.equal(answer.accepted, 2, JSON.stringify(answer));
    });
  }
});
