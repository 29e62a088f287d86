// Answers are compressed where whoever asks takes brotli or gzip: the same bytes, a tenth of them on the way. What holds a
// compressor unread takes none of the others'.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { setLimits } from '../../support/limits.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

setLimits({ compressorsMax: 4 });
const datapoints = 30_000;
const values = '/api/v2/devices/d/sensors/s/values';
const gzip = { 'accept-encoding': 'gzip, deflate' };
/** As browsers send it. */
const brotli = { 'accept-encoding': 'gzip, deflate, br, zstd' };
let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_CORS_ORIGINS: 'https://fields.example' });
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  const array = Array.from({ length: datapoints }, (_, n) => ({
    value: Math.round(Math.sin(n / 100) * 1_000) / 100,
    timestamp: new Date(1.4e12 + n * 10_000).toISOString(),
  }));
  await make(server, { as: 'owner', call: 'POST /devices/d/sensors/s/values', json: array, expect: 204 });
});
after(() => server.stop());

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, from = '127.0.0.1') =>
  server.send('GET', path, { headers, from });

const isCompressed = (answer: Answer) => answer.headers['content-encoding'] !== undefined;

const paths = [
  { path: `${values}?limit=10000`, what: 'a list', times: 6 },
  { path: `${values}?format=csv`, what: 'a stream of CSV', times: 5 },
  { path: `${values}?format=ndjson`, what: 'a stream of NDJSON', times: 6 },
  { path: '/api/v2/devices/d/sensors/s/values?limit=200', what: 'a short list', times: 4 },
  { path: '/api/v1/sensors/d/measurements/s/values?limit=1000', what: 'a list of version 1', times: 4 },
  { path: '/openapi.json', what: 'the document of the API', times: 4 },
  { path: '/api/v2/ontologies/quantity_kinds?limit=200', what: 'kinds', times: 3 },
];

for (const { path, what, times } of paths) {
  test(`${what} is sent compressed to whoever takes it, and as it is to others`, async () => {
    const plain = await ask(path);
    const answers = { gzip: await ask(path, gzip), br: await ask(path, brotli) };
    assert.equal(plain.status, 200, plain.text);
    assert.equal(plain.headers['content-encoding'], undefined);
    for (const [encoding, packed] of Object.entries(answers)) {
      assert.equal(packed.headers['content-encoding'], encoding);
      const unpack = encoding === 'br' ? brotliDecompressSync : gunzipSync;
      assert.ok(unpack(packed.bytes).equals(plain.bytes));
      assert.equal(packed.headers['content-type'], plain.headers['content-type']);
      assert.ok(packed.bytes.length * times <= plain.bytes.length, `${packed.bytes.length} of ${plain.bytes.length}`);
    }
    assert.ok(answers.br.bytes.length < answers.gzip.bytes.length * 1.02);
    for (const { headers } of [plain, ...Object.values(answers)]) assert.match(String(headers.vary), /Accept-Encoding/);
  });
}

test('weights decide, and who sends none gets the smaller', async () => {
  const rows = [
    ['br', 'br'],
    ['gzip, br', 'br'],
    ['gzip, br;q=0.9', 'gzip'],
    ['gzip;q=0.5, br;q=0.1, identity;q=0.2', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['identity, gzip;q=0.5', undefined],
  ] as const;
  for (const [header, expected] of rows) {
    const answer = await ask(`${values}?limit=1000`, { 'accept-encoding': header });
    assert.equal(answer.headers['content-encoding'], expected, header);
    assert.equal(answer.body.length, 1_000);
  }
});

test('who refuses both, or says nothing, gets the answer as it is', async () => {
  for (const header of ['identity', 'gzip;q=0', 'deflate', 'br;q=0.000']) {
    const answer = await ask(`${values}?limit=1000`, { 'accept-encoding': header });
    assert.equal(answer.headers['content-encoding'], undefined, header);
    assert.equal(answer.body.length, 1_000);
  }
});

test('short answers, refusals, answers to POST, Parquet and HEAD are never compressed', async () => {
  const short = await ask('/api/v2/devices/d', gzip);
  assert.equal(short.status, 200);
  const refused = await ask('/api/v2/devices/nobody', gzip);
  assert.equal(refused.status, 404);
  const parquet = await ask(`${values}?format=parquet`, gzip);
  assert.equal(parquet.bytes.subarray(0, 4).toString(), 'PAR1');
  const head = await server.send('HEAD', `${values}?limit=1000`, { headers: gzip });
  assert.equal(head.status, 200);
  // A cache that asks by HEAD hears what the answer to GET depends on.
  assert.match(String(head.headers.vary), /Accept-Encoding/);
  assert.equal(head.bytes.length, 0);
  const login = { username: 'owner', password: 'a wrong one'.repeat(200) };
  const post = await server.send('POST', '/api/v2/auth/token', { json: login, headers: gzip });
  for (const answer of [short, refused, parquet, head, post]) assert.ok(!isCompressed(answer), answer.text);
});

test('no answer has a tag that would stand for bytes of several encodings', async () => {
  for (const headers of [gzip, brotli, {}]) {
    for (const { path } of paths) assert.equal((await ask(path, headers)).headers.etag, undefined);
  }
});

test('a cache hears that origin and encoding both matter', async () => {
  const answer = await ask(`${values}?limit=1000`, { ...gzip, origin: 'https://fields.example' });
  assert.equal(answer.headers.vary, 'Origin, Accept-Encoding');
});

test('who reads nothing of what it asked for leaves compressors to others, and gives back its own', async () => {
  const sockets: Socket[] = [];
  for (let n = 0; n < 8; n += 1) {
    const socket = connect({ port: server.running.ports.http, host: '127.0.0.1', localAddress: '127.0.0.3' });
    socket.on('error', () => {});
    socket.pause();
    // More than the buffers of a connection take.
    const head = `GET ${values}?format=csv&limit=30000`;
    socket.write(`${head} HTTP/1.1\r\nHost: d\r\nAccept-Encoding: gzip\r\n\r\n`.repeat(40));
    sockets.push(socket);
  }
  const others = Array.from({ length: 6 }, (_, n) => `127.0.0.${10 + n}`);
  const answers = await Promise.all(others.map((from) => ask(`${values}?limit=1000`, gzip, from)));
  for (const { body } of answers) assert.equal(body.length, 1_000);
  assert.ok(answers.some(isCompressed));
  for (const socket of sockets) socket.destroy();
  // All of them are there again: each of so many is compressed at the same time.
  await until(async () => {
    const now = others.slice(0, limits.compressorsMax).map((from) => ask(`${values}?limit=10000`, gzip, from));
    return (await Promise.all(now)).every(isCompressed);
  });
});
