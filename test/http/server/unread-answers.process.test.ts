// Long answers that wait for their readers share one memory budget by caller: a caller that requests much and reads
// nothing has to wait, and others are not affected.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { call, type Dundun, makeDevice, startDundun, withLimits } from '../../support/process.ts';
import { until } from '../../support/until.ts';

/** More than the system takes in for a connection that nobody reads. */
const rows = 3_000;
const chars = 8_000;
const greed = 30;

suite('an answer that nobody reads', { timeout: 300_000 }, () => {
  test('holds memory until its connection ends; beyond its share 503, and others are served', async () => {
    const step = limits.answerStepBytes;
    // The first step of a stream has some megabytes here: one caller has room for a few.
    const dundun = await startDundun(
      withLimits({ answerBytesMax: 24 * step, answerBytesReserve: 8 * step, answerWaitMs: 200 }),
    );
    await makeDevice(dundun, 'd', ['s']);
    for (let n = 0; n < rows; n += 500) {
      const json = Array.from({ length: 500 }, (_, m) => ({ value: 'x'.repeat(chars - 10) + (n + m) }));
      assert.equal((await call(dundun, '/api/v2/devices/d/sensors/s/values', { json })).status, 204);
    }

    const heads: string[] = [];
    const ask = async (from: string): Promise<Socket> => {
      const socket = connect({ host: '127.0.0.1', port: dundun.ports.http, localAddress: from });
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(`GET /api/v2/devices/d/sensors/s/values?format=ndjson HTTP/1.1\r\nHost: d\r\n\r\n`);
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      socket.pause();
      heads.push(bytes.toString('latin1'));
      return socket;
    };
    const greedy = [];
    for (let n = 0; n < greed; n++) greedy.push(await ask('127.0.0.2'));
    const refused = heads.filter((head) => head.startsWith('HTTP/1.1 503'));
    assert.ok(refused.length > 0, 'not all of them have a place');
    assert.ok(refused.length < greed, 'and some have');
    assert.match(refused[0] as string, /retry-after: \d/i);

    // Somebody else, and a short list of the same caller, are served at once.
    assert.equal(await lengthOf(dundun, '?limit=200'), 200);
    assert.equal(await lengthOf(dundun, '?limit=2'), 2);

    for (const socket of greedy) socket.destroy();
    await until(async () => (await lengthOf(dundun, '?limit=400')) === 400);
    await dundun.stop();
  });

  test('of the usual bounds a full list has its place at once', () => {
    assert.ok(limits.datapointListMax * limits.answerRowBytes <= limits.answerBytesMax / 8);
    assert.ok(limits.answerStepBytes <= limits.answerBytesMax / 8);
  });
});

async function lengthOf(dundun: Dundun, query: string): Promise<number> {
  const answer = await call(dundun, `/api/v2/devices/d/sensors/s/values${query}`);
  const body = (await answer.json()) as unknown;
  return Array.isArray(body) ? body.length : -1;
}
