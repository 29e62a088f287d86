// Serving the dashboard: its page on paths of the browser, its files, its headers, and what API clients get on these
// paths.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Env } from '../../../src/config/env.ts';
import { readDashboard } from '../../../src/http/dashboard/dashboard-files.ts';
import { TestServer } from '../../support/test-server.ts';

const page = '<!doctype html><script nonce="%NONCE%" src="/assets/main-1.js"></script>';
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('the dashboard is served', () => {
  let server: TestServer;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dundun-dashboard-'));
    await mkdir(join(folder, 'assets'));
    for (const [name, content] of [
      ['index.html', page],
      ['drum.svg', '<svg/>'],
      ['assets/main-1.js', 'plain'],
      ['assets/main-1.js.br', 'brotli'],
      ['assets/main-1.js.gz', 'gzip'],
      ['assets/notes.txt', 'not for the web'],
    ] as const) {
      await writeFile(join(folder, name), content);
    }
    const tiles = { DUNDUN_TILE_URL: 'https://{s}.tiles.example/{z}/{x}/{y}.png', DUNDUN_TILE_ATTRIBUTION: '© Tiles' };
    server = await TestServer.start(
      { ...tiles, DUNDUN_GUEST_ACCESS: 'none' },
      { readDashboard: () => readDashboard(folder) },
    );
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('at its own addresses, also where guests are not let in, to whoever asks for HTML', async () => {
    for (const path of [
      '/',
      '/devices',
      '/devices/field-3/sensors/TC',
      '/gateways/g1',
      '/sign-in?next=/map',
      '/typo',
    ]) {
      const { status, headers, text } = await server.send('GET', path, { headers: html });
      assert.equal(status, 200, path);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-store');
      assert.match(text, /^<!doctype html>/);
    }
    assert.equal((await server.send('HEAD', '/devices', { headers: html })).status, 200);
  });

  test('and everything else hears what it did before', async () => {
    for (const [method, path, headers, expected] of [
      ['GET', '/devices', { accept: 'application/json' }, 404],
      ['GET', '/devices', {}, 404],
      ['POST', '/devices', html, 404],
      ['GET', '/api/v2/nothing', html, 404],
      ['GET', '/api', html, 404],
      ['GET', '/docs/nothing', html, 404],
      ['GET', '/health', html, 404],
      ['GET', '/assets/gone.js', html, 404],
      ['GET', '/assets/notes.txt', html, 404],
      ['GET', '/assets/..%2f..%2fpackage.json', html, 404],
      ['DELETE', '/', html, 405],
    ] as const) {
      const answer = await server.send(method, path, { headers });
      assert.equal(answer.status, expected, `${method} ${path}`);
      assert.match(String(answer.headers['content-type']), /^application\/problem\+json/);
    }
    assert.equal((await server.send('GET', '/docs', { headers: html })).status, 200);
  });

  test('under a policy that runs its own files alone and asks no host but that of the tiles', async () => {
    const first = await server.send('GET', '/', { headers: html });
    const second = await server.send('GET', '/', { headers: html });
    const policy = String(first.headers['content-security-policy']);
    const [, nonce = ''] = /nonce-([A-Za-z0-9+/=]{24})'/.exec(policy) ?? [];
    assert.ok(first.text.includes(`nonce="${nonce}"`));
    assert.notEqual(second.headers['content-security-policy'], policy);
    assert.doesNotMatch(policy, /unsafe/);
    const directives = Object.fromEntries(policy.split('; ').map((directive) => directive.split(/ (.*)/s)));
    assert.equal(directives['default-src'], "'none'");
    assert.equal(directives['connect-src'], "'self'");
    assert.equal(directives['script-src'], `'self' 'nonce-${nonce}'`);
    assert.equal(directives['style-src'], `'self' 'nonce-${nonce}'`);
    assert.equal(directives['img-src'], "'self' data: blob: https://*.tiles.example");
    assert.equal(directives['frame-ancestors'], "'none'");
  });

  test('with files that are kept for a year, as small as the browser takes them', async () => {
    for (const [encoding, expected] of [
      ['gzip, deflate, br', 'brotli'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['identity', 'plain'],
      ['', 'plain'],
    ] as const) {
      const answer = await server.send('GET', '/assets/main-1.js', { headers: { 'accept-encoding': encoding } });
      assert.equal(answer.text, expected);
      assert.equal(answer.headers['content-type'], 'text/javascript; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(answer.headers['vary'], 'Accept-Encoding');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    }
    assert.equal((await server.send('GET', '/drum.svg')).headers['cache-control'], 'public, max-age=3600');
  });

  test('with what it must know before anybody signs in, and no secret', async () => {
    const { body } = await server.send('GET', '/dashboard.json');
    const { version, mqtt, time, ...facts } = body;
    assert.equal(time, server.clock.now());
    assert.match(version, /^\d+\.\d+\.\d+/);
    assert.equal(mqtt.port, server.running.ports.mqtt);
    assert.deepEqual(facts, {
      channels: ['none', 'webhook'],
      mailsLinks: false,
      selfRegistration: false,
      guestAccess: 'none',
      defaultVisibility: 'private',
      passwordLengthMin: 8,
      tiles: { url: 'https://{s}.tiles.example/{z}/{x}/{y}.png', attribution: '© Tiles' },
    });
  });
});

describe('the dashboard hears how others reach the service', () => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address;
  const reachable = async (settings: Env, { host, from = '127.0.0.1' }: { host?: string; from?: string } = {}) => {
    const server = await TestServer.start(settings);
    const headers = host === undefined ? {} : { host };
    const { body } = await server.send('GET', '/dashboard.json', { headers, from });
    const { http } = server.running.ports;
    await server.stop();
    return { told: body.reachable, http };
  };

  test('by the setting, where there is one, whoever asks', async () => {
    const { told } = await reachable({ DUNDUN_BASE_URL: 'https://fields.example/dundun' }, { host: 'x.example' });
    assert.deepEqual(told, { origin: 'https://fields.example', isGuess: false });
  });

  test('by the address of the machine, where somebody at it asks', {
    skip: own === undefined && 'No network',
  }, async () => {
    for (const name of ['localhost', '127.0.0.1']) {
      const { told } = await reachable({ DUNDUN_HTTP_HOST: '0.0.0.0' }, { host: `${name}:8080` });
      assert.equal(told.isGuess, true);
      assert.match(told.origin, /^http:\/\/\d+\.\d+\.\d+\.\d+:8080$/);
      assert.doesNotMatch(told.origin, /127\.0/);
    }
  });

  test('not at all, where others ask, by another name, or nobody else gets in', async () => {
    const all = { DUNDUN_HTTP_HOST: '0.0.0.0' };
    const byName = await reachable(all, { host: 'fields.example' });
    assert.equal(byName.told, undefined);
    const malformed = await reachable(all, { host: 'local host' });
    assert.equal(malformed.told, undefined);
    const loopback = await reachable({}, { host: 'localhost' });
    assert.equal(loopback.told, undefined);
    if (own === undefined) return;
    const server = await TestServer.start(all);
    const answer = await fetch(`http://${own}:${server.running.ports.http}/dashboard.json`);
    assert.equal(((await answer.json()) as { reachable?: unknown }).reachable, undefined);
    await server.stop();
  });
});

test('where no dashboard is built, a browser is led to the reference, and nothing else is different', async () => {
  const server = await TestServer.start({}, { readDashboard: () => readDashboard('/nowhere') });
  const home = await server.send('GET', '/', { headers: html });
  assert.deepEqual([home.status, home.headers.location], [302, '/docs']);
  assert.equal((await server.send('GET', '/devices', { headers: html })).status, 404);
  await server.stop();
});
