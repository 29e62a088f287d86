// E-mail addresses of accounts (contract 2, decision 40): who changes them, the word to the address before, and how they
// are confirmed.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { confirmEmail, Mailbox } from '../../support/peers/mailbox.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let mailbox: Mailbox;
let server: TestServer;
let ids: Record<string, string>;
let self = '';
let users = 0;
before(async () => {
  mailbox = await Mailbox.open();
  server = await TestServer.start(mailbox.settings);
});
after(async () => {
  await server.stop();
  await mailbox.server.stop();
});
beforeEach(async () => {
  users += 1;
  self = `self-${users}`;
  await addUsers(server.folder, [self], server.clock);
  const { body } = await server.call('admin', 'GET', '/users');
  ids = Object.fromEntries(body.map(({ id, username }: Record<string, string>) => [username, id]));
});

const email = () => `${self}@dundun.example`;
const everybody = ['guest', 'stranger', self, 'admin'] as const;
const table = (call: Omit<Call, 'as' | 'expect'>, expects: readonly number[]): Call[] =>
  ['guest', 'stranger', self, 'admin'].map((as, index) => ({ ...call, as, expect: expects[index] ?? 0 }));
const recordOf = async (username: string) => (await server.call(username, 'GET', '/users/me')).body;

suite('an e-mail address', () => {
  test('is changed by its user with the password, and by admins without', async () => {
    const call = `PUT /users/${ids[self]}/email`;
    assert.equal(everybody.length, 4);
    await makeAll(server, [
      ...table({ call, json: { current: password, email: email() } }, [403, 403, 204, 204]),
      ...table({ call, text: 'other@dundun.example' }, [403, 403, 400, 204]),
      ...table({ call, json: 'third@dundun.example' }, [403, 403, 400, 204]),
      ...table({ call, json: { email: 'fourth@dundun.example' } }, [403, 403, 400, 204]),
      { as: self, call, json: { current: 'wrong', email: email() }, expect: 403 },
      { as: self, call, json: { current: 1, email: email() }, expect: 400 },
      { as: self, call, json: { current: password }, expect: 400 },
      { as: self, call, json: { current: password, email: 'a@b\r\nBcc: c@d' }, expect: 400 },
    ]);
    assert.equal((await recordOf(self)).email, 'fourth@dundun.example');
  });

  test('is changed with the other fields by the password, which the same address needs not', async () => {
    const call = `PUT /users/${ids[self]}`;
    await makeAll(server, [
      { as: self, call, json: { firstName: 'Awa', email: email() }, expect: 400 },
      { as: self, call, json: { firstName: 'Awa', email: email(), current: 'wrong' }, expect: 403 },
      { as: self, call, json: { firstName: 'Awa', email: email(), current: password }, expect: 204 },
      { as: self, call, json: { firstName: 'Binta', email: ` ${email()} ` }, expect: 204 },
      { as: self, call, json: { email: '' }, expect: 400 },
      { as: 'admin', call, json: { email: '' }, expect: 204 },
    ]);
    const { body } = await make(server, { as: self, call, json: { email: email() }, expect: 400 });
    assert.equal(body.errors[0].pointer, '/current');
    assert.equal((await recordOf(self)).email, undefined);
  });

  test('of an admin needs the password of that admin', async () => {
    const call = `PUT /users/${ids['admin']}/email`;
    await makeAll(server, [
      { as: 'admin', call, text: 'admin@dundun.example', expect: 400 },
      { as: 'admin', call, json: { current: password, email: 'admin@dundun.example' }, expect: 204 },
    ]);
  });

  test('that is replaced is told of it, whoever did it', async () => {
    await confirmEmail(server, mailbox, { as: self, email: email(), password });
    const call = `PUT /users/${ids[self]}/email`;
    const json = { current: password, email: 'next@dundun.example' };
    await make(server, { as: self, call, json, expect: 204, headers: { 'accept-language': 'fr' } });
    const told = await mailbox.takeOne(server);
    assert.equal(told.to, email());
    assert.match(told.text, new RegExp(`Le compte ${self} sur https://dundun.example a maintenant une autre adresse`));
    assert.doesNotMatch(told.text, /next@/);
    await make(server, { as: 'admin', call, text: '', expect: 204 });
    assert.equal((await mailbox.takeOne(server)).to, 'next@dundun.example');
    await make(server, { as: 'admin', call, text: 'not an address', expect: 204 });
    await make(server, { as: 'admin', call, text: 'none@dundun.example, either@dundun.example', expect: 204 });
    assert.deepEqual(await mailbox.take(server), []);
  });

  test('makes no flood of mails to a mailbox, whosever accounts are used for it', async () => {
    const call = `PUT /users/${ids[self]}/email`;
    for (let round = 0; round < 12; round++) {
      for (const text of ['victim@dundun.example', '']) await make(server, { as: 'admin', call, text, expect: 204 });
    }
    assert.equal((await mailbox.take(server)).length, limits.accountMailsPerUserMax);
    for (let other = 0; other < 6; other++) {
      const name = `other-${users}-${other}`;
      await addUsers(server.folder, [name], server.clock);
      const me = await recordOf(name);
      await make(server, {
        as: 'admin',
        call: `PUT /users/${me.id}/email`,
        text: 'victim@dundun.example',
        expect: 204,
      });
      for (let asked = 0; asked < 3; asked++) await server.call(name, 'POST', `/users/${me.id}/email/confirmation`);
    }
    const sent = (await mailbox.take(server)).filter(({ to }) => to === 'victim@dundun.example');
    assert.equal(sent.length, limits.accountMailsPerMailboxMax - limits.accountMailsPerUserMax);
  });
});

suite('the confirmation of an address', () => {
  test('is asked for by the user and admins, and done by the link alone', async () => {
    const call = `POST /users/${ids[self]}/email/confirmation`;
    await makeAll(server, table({ call }, [403, 403, 422, 422]));
    await make(server, { as: 'admin', call: `PUT /users/${ids[self]}/email`, text: email(), expect: 204 });
    assert.equal((await recordOf(self)).email_confirmed, undefined);
    await makeAll(server, table({ call }, [403, 403, 202, 202]));
    const mails = await mailbox.take(server);
    assert.deepEqual(
      mails.map(({ to }) => to),
      [email(), email()],
    );
    assert.match(mails[0]?.link ?? '', /^https:\/\/dundun\.example\/confirm-email#[\w-]{43}$/);
    const confirm = { call: 'POST /auth/email-confirmation', json: { secret: mails[0]?.secret } };
    await makeAll(server, [
      { ...confirm, expect: 204 },
      { ...confirm, expect: 404 },
      { ...confirm, json: { secret: mails[1]?.secret }, expect: 404 },
      { as: self, call, expect: 422 },
    ]);
    assert.equal((await recordOf(self)).email_confirmed, true);
    const seen = await server.call('stranger', 'GET', `/users/${ids[self]}`);
    assert.equal('email_confirmed' in seen.body, false);
  });

  test('is asked for by no API key', async () => {
    await make(server, { as: 'admin', call: `PUT /users/${ids[self]}/email`, text: email(), expect: 204 });
    const { body } = await server.call(self, 'POST', '/auth/keys', { json: { name: 'k' } });
    const headers = { authorization: `Bearer ${body.key}` };
    const { status } = await server.send('POST', `/api/v2/users/${ids[self]}/email/confirmation`, { headers });
    assert.equal(status, 403);
  });

  test('ends with another address, and does not come back with the first', async () => {
    await confirmEmail(server, mailbox, { as: self, email: email(), password });
    const call = `PUT /users/${ids[self]}/email`;
    await make(server, { as: self, call, json: { current: password, email: 'next@dundun.example' }, expect: 204 });
    assert.equal((await recordOf(self)).email_confirmed, undefined);
    await make(server, { as: self, call, json: { current: password, email: email() }, expect: 204 });
    assert.equal((await recordOf(self)).email_confirmed, undefined);
    await mailbox.take(server);
    await server.call('guest', 'POST', '/auth/password-reset', { json: { account: self } });
    assert.deepEqual(await mailbox.take(server), []);
  });

  test('goes on over other changes of the profile, and a restart', async () => {
    await confirmEmail(server, mailbox, { as: self, email: email(), password });
    await make(server, { as: self, call: `PUT /users/${ids[self]}`, json: { lastName: 'Diop' }, expect: 204 });
    await server.restart();
    assert.equal((await recordOf(self)).email_confirmed, true);
  });

  test('does nothing for an address that was replaced since the link was sent', async () => {
    const call = `PUT /users/${ids[self]}/email`;
    await make(server, { as: 'admin', call, text: email(), expect: 204 });
    await make(server, { as: self, call: `POST /users/${ids[self]}/email/confirmation`, expect: 202 });
    const { secret } = await mailbox.takeOne(server);
    await make(server, { as: 'admin', call, text: 'evil@dundun.example', expect: 204 });
    await make(server, { call: 'POST /auth/email-confirmation', json: { secret }, expect: 404 });
    assert.equal((await recordOf(self)).email_confirmed, undefined);
    await mailbox.take(server);
  });

  test('is mailed so often, and then refused until half an hour is over', async () => {
    await make(server, { as: 'admin', call: `PUT /users/${ids[self]}/email`, text: email(), expect: 204 });
    const call = `POST /users/${ids[self]}/email/confirmation`;
    for (let asked = 0; asked < limits.accountMailsPerUserMax; asked++)
      await make(server, { as: self, call, expect: 202 });
    const { headers } = await make(server, { as: self, call, expect: 429 });
    assert.ok(Number(headers['retry-after']) <= limits.accountLinkMs / 1000);
    server.clock.advance(limits.accountLinkMs);
    await make(server, { as: self, call, expect: 202 });
    await mailbox.take(server);
  });

  test('is not needed for messages of rules and people', async () => {
    await make(server, { as: 'admin', call: `PUT /users/${ids[self]}/email`, text: email(), expect: 204 });
    const json = { username: self, channel: 'email', message: 'Field 3 is dry' };
    await make(server, { as: self, call: 'POST /socials', json, expect: 200 });
    assert.equal((await mailbox.takeOne(server)).subject, 'Field 3 is dry');
  });

  test('and what else the service writes stands in no list of messages', async () => {
    await confirmEmail(server, mailbox, { as: self, email: email(), password });
    for (const as of [self, 'admin']) {
      const { body } = await server.call(as, 'GET', '/socials');
      assert.ok(!JSON.stringify(body).includes('"account"'), as);
    }
  });
});
