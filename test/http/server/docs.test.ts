// The interactive API reference: its headers and its script. That it works in a browser without any other host is shown by
// docs.browser.test.ts.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

test('the document is at /swagger.json as well', async () => {
  const [document, other] = await Promise.all(
    ['/openapi.json', '/swagger.json'].map((path) => server.request('guest', 'GET', path)),
  );
  assert.equal(other?.status, 200);
  assert.equal(other?.text, document?.text);
  assert.equal(other?.headers['content-type'], document?.headers['content-type']);
});

describe('the page of the reference', () => {
  test('lets one script run, by a nonce of its own each time, and lets it call this service alone', async () => {
    const policies = await Promise.all([policyOf('/docs'), policyOf('/docs/')]);
    for (const policy of policies) {
      assert.match(policy['script-src'] ?? '', /^'nonce-[A-Za-z0-9+/=]{24}'$/);
      assert.equal(policy['default-src'], "'none'");
      assert.equal(policy['connect-src'], "'self'");
      assert.equal(policy['frame-ancestors'], "'none'");
      assert.equal(policy['script-src-elem'] ?? policy['script-src-attr'], undefined);
    }
    assert.notEqual(policies[0]['script-src'], policies[1]['script-src']);
  });

  test('puts its headers on no other answer', async () => {
    for (const path of ['/api/v2/devices', '/openapi.json', '/health/live']) {
      const { headers } = await server.request('guest', 'GET', path);
      assert.equal(headers['content-security-policy'], undefined, path);
    }
  });

  test('names no other host', async () => {
    const { text } = await server.request('guest', 'GET', '/docs');
    // A nonce is in Base64, which may hold two slashes.
    const page = text.replace(/nonce="[^"]*"/g, '');
    const hosts = [...page.matchAll(/(?:https?:)?\/\/[\w.-]+/g)].map(([host]) => host);
    // The name of the SVG format is no address.
    assert.deepEqual(new Set(hosts), new Set(['http://www.w3.org']));
  });

  test('has a script that is kept for a year under its hash, compressed for those who take it', async () => {
    const path = await scriptPath();
    const origin = JSON.parse(await readFile('src/http/docs/vendor/scalar/origin.json', 'utf8')) as { sha256: string };
    for (const [encoding, expected] of [
      ['gzip, deflate, br', 'gzip'],
      ['br, gzip;q=0.5', 'gzip'],
      ['br', undefined],
      ['gzip;q=0, identity', undefined],
    ] as const) {
      const answer = await server.send('GET', path, { headers: { 'accept-encoding': encoding } });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['content-encoding'], expected, encoding);
      assert.equal(answer.headers['content-type'], 'text/javascript; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(answer.headers.vary, 'Accept-Encoding');
      const script = expected === 'gzip' ? gunzipSync(answer.bytes) : answer.bytes;
      assert.equal(createHash('sha256').update(script).digest('hex'), origin.sha256, encoding);
    }
  });
});

async function policyOf(path: string): Promise<Record<string, string>> {
  const { headers } = await server.request('guest', 'GET', path);
  const directives = String(headers['content-security-policy']).split(';');
  return Object.fromEntries(directives.map((directive) => directive.trim().split(/ (.*)/s)));
}

async function scriptPath(): Promise<string> {
  const { text } = await server.request('guest', 'GET', '/docs');
  const path = /src="(\/docs\/reference-[\w-]+\.js)"/.exec(text)?.[1];
  assert.ok(path !== undefined, text);
  return path;
}
