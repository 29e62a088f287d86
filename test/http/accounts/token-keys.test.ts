// Rotation of the key that signs tokens: for some time both keys are valid, and what ends with the old one.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SignJWT } from 'jose';
import { randomIds } from '../../../src/base/ids.ts';
import { SqlSecretStore } from '../../../src/engines/shared/registry/accounts/secret-store.ts';
import { openRegistryOf } from '../../support/data.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

async function withSecrets<T>(work: (secrets: SqlSecretStore) => Promise<T>): Promise<T> {
  const { registry, close } = await openRegistryOf(server.folder);
  try {
    return await work(new SqlSecretStore(registry));
  } finally {
    await close();
  }
}
const rotate = ({ overlapMs }: { overlapMs: number }) =>
  withSecrets((secrets) => secrets.rotate('token-key', randomIds.bytes(32), server.clock.now() + overlapMs));
/** Past what the server may remember of the keys. */
const aSecondLater = () => server.clock.advance(1_001);
const signIn = async () => {
  const answer = await server.send('POST', '/api/v2/auth/token', { json: { username: 'owner', password } });
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
};
const use = async (token: string) =>
  (await server.send('GET', '/api/v2/users/me/quota', { headers: { authorization: `Bearer ${token}` } })).status;
const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
const claims = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

/** As versions signed that had no `kid`. */
async function withoutKid(token: string): Promise<string> {
  const { present } = await withSecrets((secrets) => secrets.getRotated('token-key'));
  return new SignJWT(claims(token)).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(present);
}

test('tokens of the former key are good until the overlap ends, new ones have the new key', async () => {
  const before = await signIn();
  const beforeKid = kidOf(before);
  const old = await withoutKid(before);
  assert.match(beforeKid, /^[\w-]{11}$/);
  for (const token of [before, old]) assert.equal(await use(token), 200);
  await rotate({ overlapMs: 5 * minuteMs });
  aSecondLater();
  const now = await signIn();
  assert.notEqual(kidOf(now), beforeKid);
  for (const token of [before, old, now, await withoutKid(now)]) assert.equal(await use(token), 200);
  server.clock.advance(5 * minuteMs - 1_001 - 1);
  for (const token of [before, old]) assert.equal(await use(token), 200);
  // Requests of the last second may be remembered for a second.
  aSecondLater();
  for (const token of [before, old]) assert.equal(await use(token), 401);
  assert.equal(await use(now), 200);
  await server.restart();
  assert.equal(await use(before), 401);
  assert.equal(await use(now), 200);
});

test('a rotation without overlap ends all tokens within a second', async () => {
  const before = await signIn();
  assert.equal(await use(before), 200);
  await rotate({ overlapMs: 0 });
  aSecondLater();
  assert.equal(await use(before), 401);
  assert.equal(await use(await signIn()), 200);
});

test('a second rotation ends what was signed before the first', async () => {
  const first = await signIn();
  await rotate({ overlapMs: 10 * minuteMs });
  aSecondLater();
  const second = await signIn();
  await rotate({ overlapMs: 10 * minuteMs });
  aSecondLater();
  assert.deepEqual([await use(first), await use(second), await use(await signIn())], [401, 200, 200]);
});

test('a token that names another key, or none of ours, is refused', async () => {
  const good = await signIn();
  const [, body, signature] = good.split('.');
  for (const kid of ['another', '', 7, null, {}]) {
    const head = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid })).toString('base64url');
    assert.equal(await use(`${head}.${body}.${signature}`), 401);
  }
  const foreign = await new SignJWT(claims(good))
    .setProtectedHeader({ alg: 'HS256', kid: kidOf(good) })
    .sign(randomIds.bytes(32));
  assert.equal(await use(foreign), 401);
});
