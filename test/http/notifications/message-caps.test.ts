// Caps on paid messages and the rate of each channel (contract 7). The provider is a sender of the test, because costs
// do not depend on the protocol.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { OutgoingMessage, Sender, SendOutcome } from '../../../src/domain/notifications/outbox/sender.ts';
import type { Channel } from '../../../src/domain/notifications/rules/notification.ts';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

const tried: OutgoingMessage[] = [];
let answer: SendOutcome = { kind: 'sent' };

function sender(channel: Channel, perSMax: number): Sender {
  const send = async (message: OutgoingMessage) => {
    tried.push(message);
    return answer;
  };
  return { channel, perSMax, send };
}

const senders = new Map(
  [sender('sms', 100), sender('email', 100), sender('twitter', 0.25)].map((one) => [one.channel, one]),
);
let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_PAID_MESSAGES_PER_DAY: '3' }, { senders });
});
after(() => server.stop());

async function send(as: string, usernames: readonly string[], channel: string): Promise<string[]> {
  const json = { usernames, channels: [channel], message: 'x' };
  const { body } = await server.call(as, 'POST', '/socials/batch', { json });
  await server.running.idle();
  const records = await Promise.all(body.map((id: string) => server.call('admin', 'GET', `/socials/${id}`)));
  return records.map(({ body: { status, reason } }) => (reason === undefined ? status : `${status}: ${reason}`));
}

const nextDay = () => server.clock.advance(86_400_000);
const capped = (name: string) => `undelivered: ${name} has reached the cap of 3 paid messages a day`;

test('a paid message counts for who sends it and for who gets it, whichever is at the cap first', async () => {
  assert.deepEqual(await send('owner', ['stranger', 'sharer'], 'sms'), ['sent', 'sent']);
  assert.deepEqual(await send('owner', ['stranger', 'sharer'], 'sms'), ['sent', capped('owner')]);
  assert.deepEqual(await send('admin', ['stranger', 'sharer'], 'sms'), ['sent', 'sent']);
  // Three have come to stranger, two to sharer.
  assert.deepEqual(await send('admin', ['stranger'], 'sms'), [capped('stranger')]);
  assert.deepEqual(await send('sharer', ['sharer'], 'sms'), ['sent']);
  assert.deepEqual(await send('admin', ['sharer'], 'sms'), [capped('sharer')]);
  assert.deepEqual(await send('owner', ['sharer'], 'email'), ['sent']);
  await server.restart();
  assert.deepEqual(await send('owner', ['admin'], 'sms'), [capped('owner')]);
  nextDay();
  assert.deepEqual(await send('owner', ['admin'], 'sms'), ['sent']);
});

test('what could not go is not counted, and a try again counts once', async () => {
  nextDay();
  answer = { kind: 'undelivered', reason: 'no phone number' };
  for (let n = 0; n < 5; n++)
    assert.deepEqual(await send('owner', ['sharer'], 'sms'), ['undelivered: no phone number']);
  answer = { kind: 'retry', reason: 'later', retryAfterS: 100 };
  assert.deepEqual(await send('owner', ['sharer'], 'sms'), ['queued: later']);
  const before = tried.length;
  server.clock.advance(99_999);
  await server.running.idle();
  assert.equal(tried.length, before);
  server.clock.advance(1);
  answer = { kind: 'sent' };
  await server.running.idle();
  assert.equal(tried.length, before + 1);
  assert.equal(tried.at(-1)?.id, tried.at(-2)?.id);
  assert.deepEqual(await send('owner', ['sharer', 'admin', 'stranger'], 'sms'), ['sent', 'sent', capped('owner')]);
});

test('a credit that an admin gives a user caps below the setting, and never above it', async () => {
  nextDay();
  const { body: users } = await server.call('admin', 'GET', '/users');
  const idOf = (name: string) => users.find((user: { username: string }) => user.username === name).id as string;
  const give = (credit: unknown, expect = 204) =>
    make(server, { as: 'admin', call: `PUT /users/${idOf('owner')}/sms_credit`, json: credit, expect });
  await give(1);
  assert.deepEqual(await send('owner', ['sharer', 'stranger'], 'sms'), [
    'sent',
    'undelivered: owner has reached the cap of 1 paid messages a day',
  ]);
  // It counts for the recipient as well.
  assert.deepEqual(await send('admin', ['owner'], 'sms'), ['undelivered: owner has reached the cap of 1 paid messages a day']); // biome-ignore format: one line
  assert.deepEqual(await send('owner', ['sharer'], 'email'), ['sent']);
  await give(100);
  assert.deepEqual(await send('owner', ['admin', 'stranger', 'sharer'], 'sms'), ['sent', 'sent', capped('owner')]);
  await give(0);
  nextDay();
  assert.deepEqual(await send('owner', ['sharer'], 'sms'), ['undelivered: owner has reached the cap of 0 paid messages a day']); // biome-ignore format: one line
  await give(null);
  assert.deepEqual(await send('owner', ['sharer'], 'sms'), ['sent']);
});

test('where no provider is set up that is the reason, and no cap', async (t) => {
  const without = await TestServer.start({ DUNDUN_PAID_MESSAGES_PER_DAY: '1' });
  t.after(() => without.stop());
  const json = { usernames: ['owner', 'stranger', 'sharer'], channels: ['sms', 'voice', 'twitter'], message: 'x' };
  await without.call('owner', 'POST', '/socials/batch', { json });
  await without.running.idle();
  const { body } = await without.call('owner', 'GET', '/socials');
  assert.equal(body.length, 9);
  for (const { channel, status, reason } of body) {
    assert.equal(status, 'undelivered');
    assert.match(reason, new RegExp(`^no provider is set up for ${channel} `));
  }
});

test('a channel goes no faster than its provider takes', async () => {
  nextDay();
  const before = tried.length;
  const statuses = await send('admin', ['owner', 'sharer', 'stranger'], 'twitter');
  assert.deepEqual([statuses, tried.length - before], [['sent', 'queued', 'queued'], 1]);
  for (const [ms, sum] of [
    [3_999, 1],
    [1, 2],
    [4_000, 3],
  ] as const) {
    server.clock.advance(ms);
    await server.running.idle();
    assert.equal(tried.length - before, sum);
  }
});

test('of what waits too long in too great numbers the oldest fails', { timeout: 1_800_000 }, async () => {
  answer = { kind: 'retry', reason: 'later' };
  const usernames = Array.from({ length: 1000 }, (_, n) => `nobody-${n}`);
  const batch = (as: string) =>
    server.call(as, 'POST', '/socials/batch', { json: { usernames, channels: ['twitter'], message: 'x' } });
  const [, , , , , early] = (await batch('stranger')).body;
  for (let n = 0; n < 12; n++) {
    assert.equal((await batch('stranger')).status, 200);
    server.clock.advance(1);
  }
  const oldest = (await server.call('stranger', 'GET', `/socials/${early}`)).body;
  assert.deepEqual([oldest.status, oldest.reason], ['failed', 'too many messages of its author wait']);
  const { headers } = await server.call('stranger', 'GET', '/socials?q=status==queued&limit=1');
  assert.ok(Number(headers['x-total-count']) <= 10_500, `${headers['x-total-count']} wait`);
});
