// Who may read metrics and the API reference (contract 1): admins, keys with that scope, and everyone who reaches the
// port for metrics, but not strangers.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { setAdmin } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_METRICS_PORT: '0' });
});
after(() => server.stop());

async function keyOf(as: string, scopes: readonly string[] | undefined): Promise<string> {
  const { body } = await make(server, { as, call: 'POST /auth/keys', json: { name: 'k', scopes }, expect: 200 });
  return body.key;
}

const by = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

suite('the figures', () => {
  for (const path of ['/metrics', '/metrics/', '/metrics?name[]=up', '/%6detrics']) {
    test(`at ${path} are for admins alone`, async () => {
      assert.equal((await server.request('guest', 'GET', path)).status, 401);
      assert.equal((await server.request('stranger', 'GET', path)).status, 403);
      const { status, text } = await server.request('admin', 'GET', path);
      assert.equal(status, 200);
      assert.match(text, /^dundun_datapoints_stored_total /m);
    });
  }

  test('are refused in words, without a figure', async () => {
    const { headers, text } = await server.request('guest', 'GET', '/metrics');
    assert.match(text, /token of an admin, or an API key with the scope metrics:view/);
    assert.match(String(headers['www-authenticate']), /^Bearer/);
    assert.doesNotMatch(text, /dundun_/);
  });

  test('are for a key with the scope metrics:view, which an admin makes and which reaches nothing else', async () => {
    for (const as of ['owner', 'stranger']) {
      const json = { name: 'k', scopes: ['metrics:view'] };
      await make(server, { as, call: 'POST /auth/keys', json, expect: 403 });
    }
    const key = await keyOf('admin', ['metrics:view']);
    assert.equal((await server.send('GET', '/metrics', by(key))).status, 200);
    await server.call('owner', 'POST', '/devices', { json: { id: 'private', sensors: [{ id: 's' }] } });
    for (const [call, expect] of [
      ['GET /devices/private', 403],
      ['POST /devices/private/sensors/s/values', 403],
      ['DELETE /devices/private', 403],
      ['GET /notifications', 403],
      ['GET /settings/guest-access', 403],
      ['POST /devices', 403],
    ] as const) {
      const json = call.startsWith('POST') ? { json: call.endsWith('values') ? { value: 1 } : { id: 'x' } } : {};
      await make(server, { call, ...by(key), ...json, expect });
    }
    assert.deepEqual((await make(server, { call: 'GET /devices', ...by(key), expect: 200 })).body, []);
  });

  test('are for no other key, but one that acts as admin', async () => {
    for (const [scopes, expect] of [
      [undefined, 403],
      [['devices:view'], 403],
      [['admin'], 200],
      [['devices:view', 'metrics:view'], 200],
    ] as const) {
      const key = await keyOf('admin', scopes);
      assert.equal((await server.send('GET', '/metrics', by(key))).status, expect, String(scopes));
    }
    assert.equal((await server.send('GET', '/metrics', by(await keyOf('owner', undefined)))).status, 403);
  });

  test('are no more for a key whose owner is no admin any more', async () => {
    await setAdmin(server.folder, 'sharer', true);
    server.clock.advance(60_000);
    const key = await keyOf('sharer', ['metrics:view']);
    assert.equal((await server.send('GET', '/metrics', by(key))).status, 200);
    await setAdmin(server.folder, 'sharer', false);
    server.clock.advance(60_000);
    assert.equal((await server.send('GET', '/metrics', by(key))).status, 403);
  });

  test('have a port of their own where one is set, without a token, with nothing else on it', async () => {
    const url = `http://127.0.0.1:${server.running.ports.metrics}`;
    const answer = await fetch(`${url}/metrics`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.match(await answer.text(), /^dundun_datapoints_stored_total /m);
    assert.equal((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status, 405);
    for (const path of ['/', '/health/live', '/api/v2/devices', '/metrics/x'])
      assert.equal((await fetch(url + path)).status, 404, path);
  });

  test('on their own port stand neither resets nor silence, and stopping does not wait for them', async () => {
    for (const [n, begun] of [
      '',
      'GET /metr',
      'GET /metrics HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade',
    ].entries()) {
      const socket = connect({ host: '127.0.0.1', port: server.running.ports.metrics ?? 0 });
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      await new Promise((resolve) => socket.write(begun === '' ? '\r\n' : begun, resolve));
      if (n > 0) socket.resetAndDestroy();
    }
    await server.restart();
    await server.restart({ DUNDUN_METRICS_PORT: 'off' });
    assert.equal(server.running.ports.metrics, undefined);
  });
});

suite('the reference', () => {
  const paths = ['/docs', '/openapi.json'] as const;
  const basic = (login: string) => ({ headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}` } });

  test('is open where nothing else is said, also where guests are turned away', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    for (const path of paths) assert.equal((await server.request('guest', 'GET', path)).status, 200, path);
  });

  test('follows guest access where the setting says so', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push', DUNDUN_DOCS_ACCESS: 'guests' });
    for (const path of paths) assert.equal((await server.request('guest', 'GET', path)).status, 200, path);
    const script = /src="(\/docs\/[^"]+)"/.exec((await server.request('guest', 'GET', '/docs')).text)?.[1] ?? '';
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none', DUNDUN_DOCS_ACCESS: 'guests' });
    for (const path of [...paths, script]) {
      const status = async (carries: object) => (await server.send('GET', path, carries)).status;
      const refused = await server.send('GET', path);
      assert.equal(refused.status, 401, path);
      assert.match(String(refused.headers['www-authenticate']), /Bearer.*Basic/);
      assert.equal(await status(by(await server.token('stranger'))), 200);
      assert.equal(await status(by('nonsense')), 401);
      assert.equal(await status(basic('owner:talking drum')), 200);
      assert.equal(await status(basic('owner:wrong')), 401);
      assert.equal(await status(basic('owner')), 401);
    }
  });
});
