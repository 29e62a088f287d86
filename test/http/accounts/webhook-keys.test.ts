// Webhook keys: who changes them, how long the old one signs, and that they belong to the account and not to the name
// (contract 3).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  for (const as of ['owner', 'stranger']) {
    const webhook = ['https://hook.dundun.example/messages'];
    assert.equal((await server.call(as, 'PUT', `/users/${await idOf(as)}`, { json: { webhook } })).status, 204);
  }
});
after(() => server.stop());

const me = async (as: string) => (await server.call(as, 'GET', '/users/me')).body;
const idOf = async (as: string): Promise<string> => (await me(as)).id;

suite('a new key for webhooks', () => {
  test('is made by the user and by admins; it is shown to the user alone', async () => {
    const id = await idOf('owner');
    const { key } = await makeKeyOn(server, 'owner');
    const rotate = (as: string) => server.call(as, 'POST', `/users/${id}/webhook_key`);
    const before = (await me('owner')).webhook_key;
    for (const as of ['guest', 'stranger']) assert.equal((await rotate(as)).status, 403, as);
    const byKey = await server.send('POST', `/api/v2/users/${id}/webhook_key`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(byKey.status, 403);
    assert.equal((await me('owner')).webhook_key, before);
    const { status, body } = await rotate('owner');
    assert.equal(status, 200);
    assert.notEqual(body.webhook_key, before);
    assert.equal(body.webhook_key, (await me('owner')).webhook_key);
    assert.equal(Date.parse(body.previous_until), server.clock.now() + limits.webhookKeyOverlapMs);
    const byAdmin = await rotate('admin');
    assert.deepEqual([byAdmin.status, Object.keys(byAdmin.body)], [200, ['previous_until']]);
    assert.notEqual((await me('owner')).webhook_key, body.webhook_key);
    assert.equal((await server.call('admin', 'POST', `/users/${crypto.randomUUID()}/webhook_key`)).status, 404);
  });

  test('outlives a restart', async () => {
    await server.call('owner', 'POST', `/users/${await idOf('owner')}/webhook_key`);
    const { webhook_key: key } = await me('owner');
    await server.restart();
    assert.equal((await me('owner')).webhook_key, key);
  });
});
