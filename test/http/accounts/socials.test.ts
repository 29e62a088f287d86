// Messages and the outbox (contract 7): outcomes of messages of rules and users, who may send to whom, and providers
// that refuse, do not answer or break off. The provider is a webhook server of the test.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { Provider } from '../../support/peers/provider.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
let provider: Provider;
let devices = 0;
let d = '';

before(async () => {
  provider = await Provider.start();
  server = await TestServer.start({ DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1', DUNDUN_PAID_MESSAGES_PER_DAY: '3' });
  for (const name of ['owner', 'sharer', 'stranger']) await setProfile(name, { webhook: [`${provider.url}/${name}`] });
});
after(async () => {
  await server.stop();
  await provider.stop();
});

beforeEach(async () => {
  await server.running.idle();
  provider.asked.splice(0);
  provider.reply = { status: 204 };
  devices += 1;
  d = `m${devices}`;
  const actuators = [{ id: 'valve', actuator_value_type: 'string' }];
  await server.call('owner', 'POST', '/devices', { json: { id: d, sensors: [{ id: 'TC' }], actuators } });
});

async function setProfile(name: string, fields: object): Promise<void> {
  const { id } = (await server.call(name, 'GET', '/users/me')).body;
  assert.equal((await server.call(name, 'PUT', `/users/${id}`, { json: fields })).status, 204);
}

async function send(as: string, username: string, channel = 'webhook', message = 'The pump stands still.') {
  const json = { username, channel, message };
  const { text } = await make(server, { as, call: 'POST /socials', json, expect: 200 });
  assert.match(text, /^[0-9a-f]{24}$/);
  return text;
}

async function read(id: string) {
  await server.running.idle();
  return (await make(server, { as: 'admin', call: `GET /socials/${id}`, expect: 200 })).body;
}

async function addRule(as: string, action: object, fields: object = {}): Promise<string> {
  const condition = { devices: [d], sensors: ['TC'], expression: 'TC<40' };
  return (await make(server, { as, call: 'POST /notifications', json: { condition, action, ...fields }, expect: 200 }))
    .text;
}

async function push(value: unknown): Promise<void> {
  await make(server, { as: 'owner', call: `POST /devices/${d}/sensors/TC/values`, json: { value }, expect: 204 });
  await server.running.idle();
}

const posted = () => provider.asked.map(({ path, body }) => [path, JSON.parse(body).data.message]);

describe('a message by hand', () => {
  test('goes out, and is read back with what became of it', async () => {
    const id = await send('owner', 'sharer');
    const record = await read(id);
    const { timestamp, finished, ...rest } = record;
    assert.deepEqual(rest, {
      ...{ id, owner: 'owner', username: 'sharer', channel: 'webhook', message: 'The pump stands still.' },
      ...{ status: 'sent', code: '204', attempts: 1 },
    });
    assert.equal(finished, timestamp);
    assert.deepEqual(posted(), [['/sharer', 'The pump stands still.']]);
    const [newest] = (await make(server, { as: 'owner', call: 'GET /socials?limit=1', expect: 200 })).body;
    assert.deepEqual(newest, record);
  });

  test('is for its author and admins', async () => {
    const id = await send('owner', 'sharer', 'none');
    await makeAll(server, [
      { as: 'owner', call: `GET /socials/${id}`, expect: 200 },
      { as: 'admin', call: `GET /socials/${id}`, expect: 200 },
      { as: 'sharer', call: `GET /socials/${id}`, expect: 403 },
      { as: 'stranger', call: `DELETE /socials/${id}`, expect: 403 },
      { as: 'guest', call: `GET /socials/${id}`, expect: 403 },
      { as: 'owner', call: 'GET /socials/abc', expect: 400 },
      { as: 'owner', call: `GET /socials/${'0'.repeat(24)}`, expect: 404 },
      { as: 'owner', call: `DELETE /socials/${id}`, expect: 204 },
      { as: 'owner', call: `GET /socials/${id}`, expect: 404 },
    ]);
    const { body, headers } = await make(server, { as: 'stranger', call: 'GET /socials', expect: 200 });
    assert.deepEqual([body, headers['x-total-count']], [[], '0']);
  });

  test('is checked', async () => {
    const good = { username: 'owner', channel: 'none', message: 'x' };
    const bad = [{}, { ...good, username: '' }, { ...good, channel: 'pigeon' }, { ...good, channel: 'actuator' }];
    for (const json of [...bad, { ...good, message: 7 }, { ...good, message: 'a\u0000b' }]) {
      await make(server, { as: 'owner', call: 'POST /socials', json, expect: 400 });
    }
    await make(server, {
      as: 'owner',
      call: 'POST /socials',
      json: { ...good, message: 'x'.repeat(5000) },
      expect: 413,
    });
  });

  test('goes to several on several channels at once', async () => {
    const json = { usernames: ['sharer', 'stranger', 'sharer'], channels: ['none', 'webhook'], message: 'Hello' };
    const { body: ids } = await make(server, { as: 'owner', call: 'POST /socials/batch', json, expect: 200 });
    await server.running.idle();
    const records = await Promise.all(ids.map(read));
    assert.deepEqual(
      records.map(({ username, channel, status }) => [username, channel, status]),
      [
        ['sharer', 'none', 'sent'],
        ['sharer', 'webhook', 'sent'],
        ['stranger', 'none', 'sent'],
        ['stranger', 'webhook', 'sent'],
      ],
    );
    assert.equal(posted().length, 2);
    const { body } = await make(server, {
      as: 'owner',
      call: 'GET /socials?q=message==Hello;channel==webhook',
      expect: 200,
    });
    assert.equal(body.length, 2);
  });

  test('of guest is kept, and not delivered', async () => {
    const [none, webhook] = [await send('guest', 'sharer', 'none'), await send('guest', 'sharer')];
    assert.equal((await read(none)).status, 'sent');
    const { status, reason } = await read(webhook);
    assert.deepEqual([status, reason, posted()], ['undelivered', 'sign in to send', []]);
  });

  test('to nobody fails; without a provider, or a number, it rests', async () => {
    const told = async (id: string) =>
      Object.values(await read(id)).filter((value) => /^(failed|undelivered)$|such|DUNDUN/.test(String(value)));
    assert.deepEqual(await told(await send('owner', 'nobody')), ['failed', 'no such user']);
    assert.deepEqual(await told(await send('owner', 'guest')), ['failed', 'no such user']);
    const { status, reason } = await read(await send('owner', 'sharer', 'telegram'));
    assert.equal(status, 'undelivered');
    assert.match(reason, /DUNDUN_TELEGRAM_TOKEN/);
  });

  test('that is only recorded fails as well where nobody has the name', async () => {
    for (const name of ['nobody', 'guest']) {
      const { status, reason } = await read(await send('owner', name, 'none'));
      assert.deepEqual([status, reason], ['failed', 'no such user']);
    }
    const { status, reason } = await read(await send('owner', 'sharer', 'none'));
    assert.deepEqual([status, reason], ['sent', undefined]);
  });

  test('goes to those alone who want it', async () => {
    const told = async (as: string) => (await read(await send(as, 'sharer'))).status;
    await setProfile('sharer', { messages_from: 'self' });
    assert.deepEqual([await told('owner'), await told('sharer')], ['undelivered', 'sent']);
    await setProfile('sharer', { messages_from: 'sharers' });
    assert.deepEqual([await told('owner'), await told('stranger')], ['undelivered', 'undelivered']);
    await server.call('owner', 'PUT', `/devices/${d}/shares/sharer`, { json: { scopes: ['device:view'] } });
    assert.deepEqual([await told('owner'), await told('stranger')], ['sent', 'undelivered']);
    await setProfile('sharer', { messages_from: 'everyone' });
    assert.equal(await told('stranger'), 'sent');
  });

  test('is tried again later and later, under one id, and fails in the end', async () => {
    provider.reply = { status: 503 };
    const id = await send('owner', 'sharer');
    const { status, reason } = await read(id);
    assert.equal(status, 'queued');
    assert.match(reason, /503/);
    const started = server.clock.now();
    const triedAfterS: number[] = [];
    for (let tries = 1; tries < 10; ) {
      server.clock.advance(500);
      await server.running.idle();
      if (provider.asked.length === tries) continue;
      tries += 1;
      triedAfterS.push((server.clock.now() - started) / 1000);
    }
    assert.equal((await read(id)).status, 'failed');
    assert.equal(new Set(provider.asked.map(({ headers }) => headers['webhook-id'])).size, 1);
    const pauses = triedAfterS.map((s, n) => s - (triedAfterS[n - 1] ?? 0));
    for (const [n, pause] of pauses.entries()) {
      assert.ok(pause >= 2.5 * 2 ** n && pause <= 5 * 2 ** n + 0.5, `pause ${n} was ${pause} s`);
    }
  });

  test('that waits can be taken back', async () => {
    provider.reply = { status: 503 };
    const id = await send('owner', 'sharer');
    await read(id);
    await make(server, { as: 'owner', call: `DELETE /socials/${id}`, expect: 204 });
    server.clock.advance(3_600_000);
    await server.running.idle();
    assert.equal(provider.asked.length, 1);
  });

  test('that has no answer at a stop goes out at the next start, under the same id', async () => {
    provider.reply = 'silence';
    const id = await send('owner', 'sharer');
    await until(() => provider.asked.length > 0);
    provider.reply = { status: 204 };
    await server.restart();
    server.clock.advance(10_000);
    assert.equal((await read(id)).status, 'sent');
    assert.deepEqual(
      provider.asked.map(({ headers }) => headers['webhook-id']),
      [id, id],
    );
  });
});

describe('a rule', () => {
  test('sends to each user on each channel, and tells what came of it', async () => {
    const message = { usernames: ['sharer', 'nobody'], channels: ['webhook', 'none'], message: '{id} is at {TC}' };
    const rule = await addRule('owner', { type: 'SocialAction', value: message });
    await push(12.5);
    assert.deepEqual(posted(), [['/sharer', 'TC is at 12.5']]);
    const { body } = await make(server, { as: 'owner', call: `GET /socials?q=notification==${rule}`, expect: 200 });
    assert.deepEqual(
      body.map(({ username, channel, status }: Record<string, string>) => [username, channel, status]).sort(),
      [
        ['nobody', 'none', 'failed'],
        ['nobody', 'webhook', 'failed'],
        ['sharer', 'none', 'sent'],
        ['sharer', 'webhook', 'sent'],
      ],
    );
    const record = (await make(server, { as: 'owner', call: `GET /notifications/${rule}`, expect: 200 })).body;
    assert.equal(record.times_sent, 1);
    assert.equal(record.last_failure_reason, 'no such user');
    assert.ok([200, 204].includes(record.last_success_code), String(record.last_success_code));
    assert.ok(record.last_success !== undefined && record.last_failure !== undefined);
  });

  test('tells codes as numbers, in both versions: of a provider, of an actuator, of what is only recorded', async () => {
    const codes = async (rule: string) => {
      const { body } = await make(server, { as: 'owner', call: `GET /notifications/${rule}`, expect: 200 });
      const v1 = await server.request('owner', 'GET', `/api/v1/notifications/${rule}`);
      const { body: listed } = await server.call('owner', 'GET', `/notifications?q=id==${rule}`);
      const seen = [body, v1.body, listed[0]].map((one) => [one.last_success_code, one.last_failure_code]);
      assert.deepEqual(new Set(seen.map((pair) => JSON.stringify(pair))).size, 1);
      return seen[0];
    };
    const social = (usernames: string[], channels: string[]) => ({ usernames, channels, message: 'x' });
    const webhook = await addRule('owner', social(['sharer'], ['webhook']));
    const recorded = await addRule('owner', social(['sharer'], ['none']));
    const unknown = await addRule('owner', social(['nobody'], ['none']));
    const value = { device_id: d, actuator_id: 'valve', actuator_value: 1 };
    const actuation = await addRule('owner', { type: 'ActuationAction', value });
    await push(1);
    assert.deepEqual(await codes(webhook), [204, undefined]);
    assert.deepEqual(await codes(recorded), [200, undefined]);
    assert.deepEqual(await codes(unknown), [undefined, undefined]);
    assert.deepEqual(await codes(actuation), [204, undefined]);
    provider.reply = { status: 410 };
    await push(2);
    assert.deepEqual(await codes(webhook), [204, 410]);
    const q = 'last_failure_code>=400;last_success_code==204';
    const { body } = await make(server, { as: 'owner', call: `GET /notifications?q=${q}`, expect: 200 });
    assert.ok(body.some(({ id }: { id: string }) => id === webhook));
    const { body: silent } = await make(server, { as: 'owner', call: `GET /notifications/${unknown}`, expect: 200 });
    assert.equal(silent.last_failure_reason, 'no such user');
  });

  test('keeps its distance though the provider fails', async () => {
    provider.reply = { status: 400 };
    const message = { usernames: ['sharer'], channels: ['webhook'], message: 'x' };
    const rule = await addRule('owner', message, { throttling: 60 });
    await push(1);
    await push(2);
    const { body } = await make(server, { as: 'owner', call: `GET /notifications/${rule}`, expect: 200 });
    assert.deepEqual([body.times_sent, provider.asked.length], [1, 1]);
  });

  test('sets an actuator as its author, with the rights they have then', async () => {
    const value = { device_id: d, actuator_id: 'valve', actuator_value: 'open at {TC}' };
    await addRule('owner', { type: 'ActuationAction', value });
    await push(7);
    const valve = async () => (await server.call('owner', 'GET', `/devices/${d}/actuators/valve`)).body.value;
    assert.equal(await valve(), 'open at 7');
    await server.call('owner', 'PUT', `/devices/${d}/visibility`, { text: 'public' });
    const foreign = { ...value, actuator_value: 'by a stranger' };
    const rule = await addRule('stranger', { type: 'ActuationAction', value: foreign });
    await push(8);
    assert.equal(await valve(), 'open at 8');
    const { body } = await make(server, { as: 'stranger', call: `GET /notifications/${rule}`, expect: 200 });
    assert.equal(body.times_sent, 1);
    assert.match(body.last_failure_reason, /needs the right devices:update/);
    // Settings are no messages.
    assert.deepEqual(
      (await make(server, { as: 'stranger', call: `GET /socials?q=notification==${rule}`, expect: 200 })).body,
      [],
    );
  });

  test('cannot send more than an author may in a minute', async () => {
    const json = {
      usernames: Array.from({ length: 1000 }, (_, n) => `u${n}`),
      channels: ['none', 'email'],
      message: 'x'.repeat(4000),
    };
    const statuses = new Set<number>();
    for (let n = 0; n < 15; n++)
      statuses.add((await server.call('stranger', 'POST', '/socials/batch', { json })).status);
    assert.deepEqual([...statuses], [200, 429]);
    server.clock.advance(60_000);
    assert.equal((await server.call('stranger', 'POST', '/socials/batch', { json })).status, 200);
  });
});
