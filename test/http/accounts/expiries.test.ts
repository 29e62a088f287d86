// Tokens, keys, sessions and locks end when they were meant to, though the wall clock is set back (decision 30).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { confirmClock, settleClock } from '../../support/clock.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { password } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
const yearMs = 365 * 24 * 60 * minuteMs;

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
});
after(() => server.stop());
beforeEach(() => confirmClock(server));

suite('no expiry is stretched by a jump back', () => {
  const me = (authorization: string, expect: number) =>
    make(server, { call: 'GET /users/me', headers: { authorization }, expect });
  const token = async () => {
    const { text } = await make(server, {
      call: 'POST /auth/token',
      json: { username: 'owner', password },
      expect: 200,
    });
    return `Bearer ${text}`;
  };
  const cookieOf = ({ headers }: Answer) => String(headers['set-cookie']).split(';')[0] as string;
  const signIn = async () =>
    cookieOf(await make(server, { call: 'POST /auth/session', json: { username: 'owner', password }, expect: 200 }));
  const renew = (cookie: string, expect: number) =>
    make(server, { call: 'PUT /auth/session', headers: { cookie }, expect });

  test('that of a token', async () => {
    const before = await token();
    server.jump(-yearMs);
    const after = await token();
    server.clock.advance(limits.tokenLifetimeS * 1000 - 1000);
    await me(before, 200);
    await me(after, 200);
    server.clock.advance(1000);
    await me(before, 401);
    await me(after, 401);
  });

  test('that of a token from the time when the clock was ahead, also after a restart', async () => {
    server.jump(yearMs);
    const ahead = await token();
    await me(ahead, 200);
    server.jump(-yearMs);
    // Who has just called is known for a moment.
    server.clock.advance(limits.userFreshMs);
    await me(ahead, 401);
    await server.restart();
    await me(ahead, 401);
  });

  test('that of a session', async () => {
    const [used, unused] = [await signIn(), await signIn()];
    server.jump(-yearMs);
    server.clock.advance(limits.refreshSessionIdleMs - 1);
    const next = cookieOf(await renew(used, 200));
    server.clock.advance(1);
    await renew(unused, 401);
    await renew(next, 200);
  });

  test('that of a session from the time when the clock was ahead', async () => {
    const before = await signIn();
    server.jump(yearMs);
    const ahead = await signIn();
    server.jump(-yearMs);
    await renew(ahead, 401);
    await renew(before, 200);
  });

  test('that of an API key, over HTTP and MQTT', async () => {
    const expires = new Date(server.clock.now() + 10 * minuteMs).toISOString();
    const made = await make(server, {
      as: 'owner',
      call: 'POST /auth/keys',
      json: { name: 'k', expires },
      expect: 200,
    });
    const key = `Bearer ${made.body.key}`;
    await me(key, 200);
    const client = await Client.connect(server, 'owner', { password: made.body.key });
    server.jump(-yearMs);
    await me(key, 200);
    await client.roundTrip();
    server.clock.advance(10 * minuteMs);
    await me(key, 401);
    client.publish('devices/d/sensors/s/value', { value: 1 }).catch(() => {});
    await client.closed;
    const { body } = await server.call('owner', 'GET', '/devices/d/sensors/s/values');
    assert.deepEqual(body, []);
    await settleClock(server);
    await me(key, 401);
    await server.call('owner', 'DELETE', `/auth/keys/${made.body.id}`);
  });

  test('nor is anybody locked out for longer than they were', async () => {
    const attempt = (secret: string) =>
      server.call('guest', 'POST', '/auth/token', {
        json: { username: 'sharer', password: secret },
        from: '127.0.0.9',
      });
    for (let n = 0; n < limits.loginFailuresMax; n++) assert.equal((await attempt('wrong')).status, 401);
    assert.equal((await attempt('wrong')).status, 429);
    server.jump(-yearMs);
    server.clock.advance(limits.loginFailureForgetMs);
    assert.equal((await attempt(password)).status, 200);
  });
});
