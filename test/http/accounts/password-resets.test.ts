// Forgotten passwords (contract 2, decision 40): who is mailed a link, what a link does and when it is good no more, and
// what somebody finds out, or brings about, who asks for others.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { runSql } from '../../support/data.ts';
import { engineWith } from '../../support/engine-with.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { baseUrl, confirmEmail, Mailbox } from '../../support/peers/mailbox.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let mailbox: Mailbox;
let server: TestServer;
let names = 0;
before(async () => {
  mailbox = await Mailbox.open();
  server = await TestServer.start({ ...mailbox.settings, DUNDUN_LOG_LEVEL: 'trace' });
});
after(async () => {
  await server.stop();
  await mailbox.server.stop();
});
/** Addresses that ask have a bound of their own, so each test asks from another one. */
let from = '';
beforeEach(() => {
  names += 1;
  from = `127.0.1.${names}`;
});

/** A new user with a confirmed address. */
async function person(name = `person-${names}`): Promise<{ readonly name: string; readonly email: string }> {
  await addUsers(server.folder, [name], server.clock);
  const email = `${name}@dundun.example`;
  await confirmEmail(server, mailbox, { as: name, email, password });
  return { name, email };
}

const ask = (account: string, rest: object = {}) => server.call('guest', 'POST', '/auth/password-reset', { json: { account }, from, ...rest }); // biome-ignore format: one line
const set = (secret: string, rest: object = {}) => server.call('guest', 'POST', '/auth/new-password', { json: { secret, password: 'another drum', ...rest } }); // biome-ignore format: one line
const login = async (username: string, secret: string) =>
  (await server.send('POST', '/api/v2/auth/token', { json: { username, password: secret } })).status;

async function secretFor(account: string): Promise<string> {
  assert.equal((await ask(account)).status, 202);
  return (await mailbox.takeOne(server)).secret;
}

suite('a forgotten password', () => {
  test('is set anew by a link that is mailed to the confirmed address', async () => {
    const { name, email } = await person();
    assert.equal((await ask(name)).status, 202);
    const mail = await mailbox.takeOne(server);
    assert.deepEqual([mail.to, mail.subject], [email, `A new password for ${name}`]);
    assert.match(mail.link ?? '', /^https:\/\/dundun\.example\/new-password#[\w-]{43}$/);
    assert.equal((await set(mail.secret)).status, 204);
    assert.deepEqual([await login(name, password), await login(name, 'another drum')], [401, 200]);
    const notice = await mailbox.takeOne(server);
    assert.deepEqual([notice.to, notice.subject, notice.link], [email, `${name} has a new password`, undefined]);
  });

  test('is set anew by the address too, whatever the case of its letters, for each account that has confirmed it', async () => {
    const { email } = await person();
    await addUsers(server.folder, [`twin-${names}`], server.clock);
    await confirmEmail(server, mailbox, { as: `twin-${names}`, email, password });
    await ask(email.toUpperCase());
    const mails = await mailbox.take(server);
    assert.deepEqual(mails.map(({ to, subject }) => [to, subject.split(' ').at(-1)]), [[email, `person-${names}`], [email, `twin-${names}`]]); // biome-ignore format: one line
  });

  test('is written of in French to who asks in French', async () => {
    const { name } = await person();
    await ask(name, { headers: { 'accept-language': 'fr-SN,fr;q=0.9,en;q=0.8' } });
    const inFrench = await mailbox.takeOne(server);
    assert.match(inFrench.text, /Il est valable 30 minutes/);
    await ask(name, { json: { account: name, language: 'en' }, headers: { 'accept-language': 'fr' } });
    assert.match((await mailbox.takeOne(server)).text, /It is good for 30 minutes/);
  });

  test('ends tokens, sessions and MQTT connections of the user, and leaves those of others and API keys', async () => {
    const { name } = await person();
    const token = await server.token(name);
    const { body: key } = await server.call(name, 'POST', '/auth/keys', { json: { name: 'gateway' } });
    const session = await server.send('POST', '/api/v2/auth/session', { json: { username: name, password } });
    const cookie = String(session.headers['set-cookie']).split(';')[0] ?? '';
    const own = await Client.connect(server, name);
    const byKey = await Client.connect(server, name, { password: key.key });
    const other = await Client.connect(server, 'owner');
    assert.equal((await set(await secretFor(name))).status, 204);
    await own.closed;
    const status = async (headers: Record<string, string>, call = 'GET /api/v2/users/me') => {
      const [method = '', path = ''] = call.split(' ');
      return (await server.send(method, path, { headers })).status;
    };
    assert.equal(await status({ authorization: `Bearer ${token}` }), 401);
    assert.equal(await status({ cookie }, 'PUT /api/v2/auth/session'), 401);
    assert.equal(await status({ authorization: `Bearer ${key.key}` }, 'GET /api/v2/devices'), 200);
    await byKey.publish(`users/${name}/a`, 'still here');
    await other.publish('users/owner/a', 'still here');
    await Promise.all([byKey.end(), other.end()]);
    await mailbox.take(server);
  });

  test('ends the API keys too, with their connections, where that is asked for', async () => {
    const { name } = await person();
    const { body: key } = await server.call(name, 'POST', '/auth/keys', { json: { name: 'gateway' } });
    const byKey = await Client.connect(server, name, { password: key.key });
    assert.equal((await set(await secretFor(name), { end_keys: true })).status, 204);
    await byKey.closed;
    const headers = { authorization: `Bearer ${key.key}` };
    assert.equal((await server.send('GET', '/api/v2/devices', { headers })).status, 401);
    await mailbox.take(server);
  });

  test('of an admin is set anew as that of anybody', async () => {
    const { name } = await person(`admin-${names}`);
    assert.equal((await set(await secretFor(name))).status, 204);
    assert.equal(await login(name, 'another drum'), 200);
    await mailbox.take(server);
  });
});

suite('a link', () => {
  test('is good once, and the other links of the user end with it', async () => {
    const { name } = await person();
    const [first, second] = [await secretFor(name), await secretFor(name)];
    assert.deepEqual(
      [(await set(second)).status, (await set(second)).status, (await set(first)).status],
      [204, 404, 404],
    );
    await mailbox.take(server);
  });

  test('sets one password where two are sent at the same time', async () => {
    const { name } = await person();
    const secret = await secretFor(name);
    const answers = await Promise.all(['first drum', 'second drum'].map((text) => set(secret, { password: text })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 404]);
    const won = answers[0]?.status === 204 ? 'first drum' : 'second drum';
    const lost = won === 'first drum' ? 'second drum' : 'first drum';
    assert.deepEqual([await login(name, won), await login(name, lost)], [200, 401]);
    await mailbox.takeOne(server);
  });

  test('is good until half an hour has passed, and no longer', async () => {
    const { name } = await person();
    const [late, inTime] = [await secretFor(name), await secretFor(name)];
    server.clock.advance(limits.accountLinkMs - 10_000);
    assert.equal((await set(inTime, { password: 'short' })).status, 400, 'a bad password spends nothing');
    server.clock.advance(10_000);
    assert.equal((await set(late)).status, 404);
    assert.equal((await set(inTime)).status, 404);
  });

  test('is not stretched by a clock that is set back, nor good where it was made by one that was ahead', async () => {
    const { name } = await person();
    const secret = await secretFor(name);
    server.jump(-20 * 60_000);
    server.clock.advance(limits.accountLinkMs);
    assert.equal((await set(secret)).status, 404);
    server.jump(20 * 60_000);
    const own = await TestServer.start(mailbox.settings);
    try {
      await confirmEmail(own, mailbox, { as: 'owner', email: 'owner@dundun.example', password });
      own.jump(365 * 86_400_000);
      await own.call('guest', 'POST', '/auth/password-reset', { json: { account: 'owner' } });
      const ahead = (await mailbox.takeOne(own)).secret;
      own.jump(-365 * 86_400_000);
      await own.restart();
      const json = { secret: ahead, password: 'another drum' };
      await make(own, { call: 'POST /auth/new-password', json, expect: 404 });
    } finally {
      await own.stop();
    }
  });

  test('ends where the user has changed the password, or has another address', async () => {
    const { name } = await person();
    const { body: me } = await server.call(name, 'GET', '/users/me');
    const first = await secretFor(name);
    await make(server, { as: name, call: `PUT /users/${me.id}/password`, json: { current: password, password: 'changed drum' }, expect: 204 }); // biome-ignore format: one line
    assert.equal((await set(first)).status, 404);
    const second = await secretFor(name);
    await make(server, { as: 'admin', call: `PUT /users/${me.id}/email`, text: 'other@dundun.example', expect: 204 });
    assert.equal((await set(second)).status, 404);
    await mailbox.take(server);
  });

  test('that nobody was given is none, and costs no hash', async () => {
    for (const secret of ['', 'x', 'A'.repeat(43), 'A'.repeat(limits.linkSecretCharsMax)])
      await make(server, { call: 'POST /auth/new-password', json: { secret, password: 'another drum' }, expect: 404 });
    const long = 'A'.repeat(limits.linkSecretCharsMax + 1);
    await make(server, { call: 'POST /auth/new-password', json: { secret: long, password: 'x' }, expect: 400 });
  });

  test('to set a password confirms no address, and the other way round', async () => {
    const { name } = await person();
    const secret = await secretFor(name);
    await make(server, { call: 'POST /auth/email-confirmation', json: { secret }, expect: 404 });
    assert.equal((await set(secret)).status, 204);
    await mailbox.take(server);
  });

  test('is spent by no GET, and stands where no server and no Referer shows it', async () => {
    const { name } = await person();
    await ask(name);
    const { link = '', secret } = await mailbox.takeOne(server);
    assert.equal(new URL(link).hash.slice(1), secret);
    const page = await server.send('GET', '/new-password', { headers: { accept: 'text/html' } });
    assert.match(String(page.headers['referrer-policy']), /^(no-referrer|same-origin)$/);
    await server.send('GET', `/api/v2/auth/new-password?secret=${secret}`);
    await server.send('GET', '/api/v2/auth/new-password', { headers: { 'content-type': 'application/json' } });
    assert.equal((await set(secret)).status, 204);
    await mailbox.take(server);
  });

  test('has the address of the settings, whatever the request says of its host', async () => {
    const { name } = await person();
    const evil = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', origin: 'https://evil.example', referer: 'https://evil.example/' }; // biome-ignore format: one line
    await ask(name, { headers: evil });
    const mail = await mailbox.takeOne(server);
    assert.ok(mail.link?.startsWith(`${baseUrl}/new-password#`), mail.link);
    assert.doesNotMatch(mail.text, /evil/);
  });

  test('has its secret neither on disk nor in the log', async () => {
    const { name } = await person();
    const secret = await secretFor(name);
    const hash = createHash('sha256').update(secret).digest('base64');
    const links = await runSql(server.folder, 'SELECT * FROM account_link');
    const messages = await runSql(server.folder, 'SELECT * FROM message');
    assert.ok(JSON.stringify(links).includes(hash));
    assert.equal((await set(secret)).status, 204);
    assert.equal((await set(secret)).status, 404);
    for (const text of [...links, ...messages, ...server.logged].map((one) => JSON.stringify(one)))
      assert.ok(!text.includes(secret), text);
    await mailbox.take(server);
  });
});

suite('who asks for others', () => {
  test('gets the same answer for every account', async () => {
    const { name, email } = await person();
    const unconfirmed = `unconfirmed-${names}`;
    await addUsers(server.folder, [unconfirmed, `bare-${names}`], server.clock);
    const { body: theirs } = await server.call(unconfirmed, 'GET', '/users/me');
    await make(server, { as: 'admin', call: `PUT /users/${theirs.id}/email`, text: 'un@dundun.example', expect: 204 });
    const accounts = [name, email, unconfirmed, 'un@dundun.example', `bare-${names}`, 'nobody', 'no@body.example', 'guest', '', '%', name.toUpperCase()]; // biome-ignore format: one line
    const answers = new Set<string>();
    for (const account of accounts) {
      const { status, headers, text } = await ask(account);
      const { date: _, ...told } = headers;
      answers.add(JSON.stringify([status, told, text]));
    }
    assert.deepEqual([...answers].length, 1, [...answers].join('\n'));
    assert.deepEqual(
      (await mailbox.take(server)).map(({ to }) => to),
      [email, email],
    );
  });

  test('is answered before anything is counted or looked up, so in the same time', async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const own = await TestServer.start(mailbox.settings, {
      replaceEngine: (engine) => {
        const { counts } = engine.coordination;
        const take: typeof counts.take = async (wanted) => {
          if (wanted[0]?.kind === 'account-mails-by-address') await held;
          return counts.take(wanted);
        };
        const slow = { find: counts.find.bind(counts), add: counts.add.bind(counts), remove: counts.remove.bind(counts), take }; // biome-ignore format: one line
        return engineWith(engine, { counts: slow });
      },
    });
    try {
      await confirmEmail(own, mailbox, { as: 'owner', email: 'owner@dundun.example', password });
      for (const account of ['owner', 'nobody', 'owner'])
        assert.equal((await own.call('guest', 'POST', '/auth/password-reset', { json: { account } })).status, 202);
      letGo();
      assert.equal((await mailbox.take(own)).length, 2);
    } finally {
      await own.stop();
    }
  });

  test('has no more than some mails sent to an account, and the last of them is still good', async () => {
    const { name } = await person();
    for (let asked = 0; asked < 3 * limits.accountMailsPerUserMax; asked++) assert.equal((await ask(name)).status, 202);
    const mails = await mailbox.take(server);
    assert.equal(mails.length, limits.accountMailsPerUserMax);
    assert.equal((await set(mails[0]?.secret ?? '')).status, 204);
    await mailbox.take(server);
    server.clock.advance(limits.accountLinkMs);
    await secretFor(name);
  });

  test('from one address is heard so often, and others go on', async () => {
    const { name } = await person();
    for (let asked = 0; asked < limits.accountMailsPerAddressMax; asked++) await ask(`nobody-${asked}`);
    assert.equal((await ask(name)).status, 202);
    assert.deepEqual(await mailbox.take(server), []);
    from = '127.0.2.1';
    await secretFor(name);
  });

  test('all at once is refused where too many wait, and no mail is lost of those that were taken', async () => {
    const { name } = await person();
    from = '127.0.2.2';
    const taken = await ask(name);
    const flood = await Promise.all(
      Array.from({ length: 600 }, (_, n) => ask(`nobody-${n}`, { from: `127.0.3.${n % 200}` })),
    );
    assert.equal(taken.status, 202);
    assert.ok(flood.every(({ status }) => status === 202 || status === 503));
    assert.equal((await mailbox.take(server)).length, 1);
  });

  test('with a body that is none gets 400', async () => {
    await makeAll(server, [
      { call: 'POST /auth/password-reset', json: {}, expect: 400 },
      { call: 'POST /auth/password-reset', json: { account: 1 }, expect: 400 },
      { call: 'POST /auth/password-reset', json: { account: 'x'.repeat(513) }, expect: 400 },
      { call: 'POST /auth/password-reset', json: { account: 'x', language: 'tlh' }, expect: 400 },
      { call: 'POST /auth/new-password', json: { secret: 'x' }, expect: 400 },
    ]);
  });
});

suite('a service', () => {
  for (const missing of ['DUNDUN_BASE_URL', 'DUNDUN_SMTP_URL'] as const) {
    test(`without ${missing} says that it mails no links`, async () => {
      const { DUNDUN_SMTP_FROM, ...others } = { ...mailbox.settings, [missing]: '' };
      const own = await TestServer.start(missing === 'DUNDUN_SMTP_URL' ? others : { ...others, DUNDUN_SMTP_FROM });
      try {
        const { body: me } = await own.call('owner', 'GET', '/users/me');
        for (const call of [
          { call: 'POST /auth/password-reset', json: { account: 'owner' } },
          { call: 'POST /auth/new-password', json: { secret: 'x', password: 'another drum' } },
          { call: 'POST /auth/email-confirmation', json: { secret: 'x' } },
          { as: 'owner', call: `POST /users/${me.id}/email/confirmation` },
        ]) {
          const { body } = await make(own, { ...call, expect: 422 });
          assert.match(body.detail, /DUNDUN_SMTP_URL and DUNDUN_BASE_URL/);
        }
      } finally {
        await own.stop();
      }
    });
  }

  test('where guests may do nothing still takes them', async () => {
    const own = await TestServer.start({ ...mailbox.settings, DUNDUN_GUEST_ACCESS: 'none' });
    try {
      await confirmEmail(own, mailbox, { as: 'owner', email: 'owner@dundun.example', password });
      await own.send('POST', '/api/v2/auth/password-reset', { json: { account: 'owner' }, headers: { authorization: 'Bearer over' } }); // biome-ignore format: one line
      const { secret } = await mailbox.takeOne(own);
      await make(own, { call: 'POST /auth/new-password', json: { secret, password: 'another drum' }, expect: 204 });
    } finally {
      await own.stop();
    }
  });

  test('that is stopped, or whose mail server is away, sends the mail later', async () => {
    const { name } = await person();
    mailbox.server.replies({ greeting: '421 4.3.2 closing' });
    await ask(name);
    assert.deepEqual(await mailbox.take(server), []);
    await server.restart();
    mailbox.server.replies();
    server.clock.advance(10 * 60_000);
    assert.equal((await set((await mailbox.takeOne(server)).secret)).status, 204);
    await mailbox.take(server);
  });
});
