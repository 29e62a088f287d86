// `Idempotency-Key` on a push (contract 5): a repeat within a day stores nothing twice and gets the first answer.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

let count = 0;
let d = '';
beforeEach(async () => {
  count += 1;
  d = `/devices/device-${count}`;
  const sensors = [{ id: 's' }, { id: 't' }];
  await server.call('owner', 'POST', '/devices', { json: { id: `device-${count}`, visibility: 'public', sensors } });
});

const push = (key: string, json: unknown, { as = 'owner', door = 's/values', expect = 204 } = {}) => {
  return make(server, { as, call: `POST ${d}/sensors/${door}`, json, headers: { 'idempotency-key': key }, expect });
};
const stored = async (sensor = 's') => {
  const { body } = await make(server, {
    as: 'owner',
    call: `GET ${d}/sensors/${sensor}/values?limit=1000`,
    expect: 200,
  });
  return body.map((point: { value: unknown }) => point.value);
};

test('a repeat stores nothing twice, after a restart neither', async () => {
  await push('key', { value: 1 });
  await push('key', { value: 1 });
  await server.running.engine.seal();
  await server.restart();
  await push('key', { value: 1 });
  assert.deepEqual(await stored(), [1]);
});

test('repeats at once store one', async () => {
  await Promise.all(
    Array.from({ length: 10 }, () => {
      return server.call('owner', 'POST', `${d}/sensors/s/value`, {
        json: { value: 1 },
        headers: { 'idempotency-key': 'once' },
      });
    }),
  );
  assert.deepEqual(await stored(), [1]);
});

test('the same key with another body is 422', async () => {
  await push('key', { value: 1 });
  await push('key', { value: 2 }, { expect: 422 });
  await push('key', [{ value: 1 }], { expect: 422 });
  assert.deepEqual(await stored(), [1]);
});

test('the key belongs to caller, method and path', async () => {
  await push('key', { value: 'owner' });
  await push('key', { value: 'stranger' }, { as: 'stranger' });
  await push('key', { value: 'guest' }, { as: 'guest' });
  await push('key', { value: 'other door' }, { door: 's/value' });
  await push('key', { value: 'other sensor' }, { door: 't/values' });
  assert.deepEqual(await stored(), ['owner', 'stranger', 'guest', 'other door']);
  assert.deepEqual(await stored('t'), ['other sensor']);
});

test('a key is forgotten after a day', async () => {
  await push('key', { value: 1 });
  server.clock.advance(24 * 3_600_000 - 1);
  await push('key', { value: 1 });
  assert.deepEqual(await stored(), [1]);
  server.clock.advance(1);
  await push('key', { value: 1 });
  assert.deepEqual(await stored(), [1, 1]);
});

test('a refused push leaves its key free', async () => {
  await push('key', { values: 1 }, { expect: 400 });
  await push('key', { value: 1 }, { door: 'none/values', expect: 404 });
  await push('key', { value: 1 });
  await make(server, { as: 'owner', call: `PUT ${d}/visibility`, text: 'private', expect: 204 });
  await push('key', { value: 1 }, { as: 'stranger', expect: 403 });
  assert.deepEqual(await stored(), [1]);
});

test('an empty push and a text push have their keys too', async () => {
  await push('empty', []);
  await push('empty', []);
  await push('empty', [{ value: 1 }], { expect: 422 });
  for (let n = 0; n < 2; n++) {
    const headers = { 'idempotency-key': 'text' };
    await make(server, { as: 'owner', call: `POST ${d}/sensors/s/value`, text: 'on', headers, expect: 204 });
  }
  assert.deepEqual(await stored(), ['on']);
});

test('a key that is too long, or none, is 400', async () => {
  await push('x'.repeat(256), { value: 1 });
  await push('x'.repeat(257), { value: 1 }, { expect: 400 });
  await push('', { value: 1 }, { expect: 400 });
});

test('guests of two addresses have their keys apart, and guests of one address have them together', async () => {
  const push = (from: string, value: number) => {
    const headers = { 'idempotency-key': 'key' };
    return make(server, { from, call: `POST ${d}/sensors/s/values`, json: { value }, headers, expect: 204 });
  };
  await push('127.0.0.1', 1);
  await push('127.0.0.2', 2);
  await push('127.0.0.1', 1);
  await push('127.0.0.2', 2);
  assert.deepEqual(await stored(), [1, 2]);
});

test('behind a trusted proxy the address of a guest is the one the proxy tells', async () => {
  const push = (address: string, value: number) => {
    const headers = { 'idempotency-key': 'key', 'x-forwarded-for': address };
    return make(server, { call: `POST ${d}/sensors/s/values`, json: { value }, headers, expect: 204 });
  };
  await push('192.0.2.1', 1);
  await make(server, {
    call: `POST ${d}/sensors/s/values`,
    json: { value: 2 },
    headers: { 'idempotency-key': 'key', 'x-forwarded-for': '192.0.2.2' },
    expect: 422,
  });
  await server.restart({ DUNDUN_TRUST_PROXY: '127.0.0.1' });
  await push('192.0.2.1', 1);
  await push('192.0.2.2', 2);
  await push('2001:db8::1', 3);
  await push('2001:db8::2', 3);
  assert.deepEqual(await stored(), [1, 1, 2, 3]);
});
