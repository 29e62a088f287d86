// E-mail over SMTP (RFC 5321) against a server of the test: commands and messages that are sent, and what each reply
// leads to.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { EmailSender } from '../../src/delivery/email.ts';
import { MailServer, type Moment } from '../support/peers/mail-server.ts';
import { messageTo, send } from '../support/peers/provider.ts';
import { until } from '../support/until.ts';

let server: MailServer;
before(async () => {
  server = await MailServer.start();
});
after(() => server.stop());

const password = 'mail-secret-4711';
const secrets = [password, Buffer.from(`\0dundun\0${password}`).toString('base64')];
const from = 'Dundun <dundun@farm.example>';
const sender = (msMax = 20_000) =>
  new EmailSender({ url: `smtp://dundun:${password}@127.0.0.1:${server.port}`, from }, { msMax });
const toAwa = (text?: string, email = 'awa@dundun.example') => messageTo({ email }, 'email', text);
const sent = { kind: 'sent', code: '250' };

suite('an e-mail', () => {
  test('is handed to the server, signed in, with subject, text and an id of its own', async () => {
    server.replies();
    const message = toAwa('Field 3 is dry: 12 %\nWater it.');
    const before = server.commands.length;
    assert.deepEqual(await send(sender(), message, { secrets }), sent);
    const said = server.commands.slice(before);
    assert.ok(said.includes(`AUTH PLAIN ${secrets[1]}`));
    assert.deepEqual(
      said.filter((line) => /^(MAIL|RCPT)/.test(line)).map((line) => line.split(' ', 2).join(' ')),
      ['MAIL FROM:<dundun@farm.example>', 'RCPT TO:<awa@dundun.example>'],
    );
    const [head = '', text] = server.last.split('\r\n\r\n');
    const headers = Object.fromEntries(head.split('\r\n').map((line) => line.split(/: (.*)/s, 2)));
    assert.equal(headers['From'], from);
    assert.equal(headers['To'], 'awa@dundun.example');
    assert.equal(headers['Subject'], 'Field 3 is dry: 12 %');
    assert.equal(headers['Message-ID'], `<${message.id}@farm.example>`);
    assert.equal(headers['Auto-Submitted'], 'auto-generated');
    assert.equal(text?.trimEnd(), 'Field 3 is dry: 12 %\r\nWater it.');
  });

  test('has the same Message-ID at every try', async () => {
    server.replies({ message: 'cut' });
    const message = toAwa();
    assert.equal((await send(sender(), message, { secrets })).kind, 'retry');
    const first = server.last;
    server.replies();
    assert.deepEqual(await send(sender(), message, { secrets }), sent);
    const idOf = (text: string) => /^Message-ID: (.*)$/im.exec(text)?.[1];
    assert.equal(idOf(server.last), idOf(first));
  });

  test('carries letters of the world, and lines that look like commands or headers as text', async () => {
    server.replies();
    const text = 'Sec à 12 % 🌡\r\n.\r\nMAIL FROM:<a@b>\r\nBcc: c@d.example';
    const before = server.commands.length;
    assert.deepEqual(await send(sender(), toAwa(text), { secrets }), sent);
    assert.equal(server.commands.slice(before).filter((line) => line.startsWith('MAIL')).length, 1);
    const [head = ''] = server.last.split('\r\n\r\n');
    assert.doesNotMatch(head, /Bcc/i);
    assert.match(head, /^Subject: =\?UTF-8\?/m);
  });

  test('goes to one address alone, and to none where the profile has something else', async () => {
    server.replies();
    const before = server.commands.length;
    const wrong = [
      ...['a@b.example, c@d.example', 'Awa <a@b.example>', 'a@b.example;c@d.example', 'a b@c.example', 'awa', '@', ''],
      ...['a@b@c.example', 'group: a@b.example;', '"a@b"@c.example', '(x)a@b.example'],
    ];
    for (const email of wrong) {
      const sendOutcome = await sender().send(toAwa('x', email), new AbortController().signal);
      assert.equal(sendOutcome.kind, 'undelivered', email);
    }
    const nothing = await sender().send(messageTo({}, 'email'), new AbortController().signal);
    assert.deepEqual(nothing, { kind: 'undelivered', reason: 'awa has no e-mail address' });
    assert.equal(server.commands.length, before);
  });

  const replies: readonly (readonly [Moment, string, 'retry' | 'failed', RegExp])[] = [
    ['AUTH', '535 5.7.8 bad credentials', 'failed', /refuses the credentials/],
    ['AUTH', '454 4.7.0 try later', 'retry', /try again later \(454\)/],
    ['greeting', '421 4.3.2 closing', 'retry', /421/],
    ['greeting', '554 5.3.2 no service', 'failed', /refuses/],
    ['MAIL', '451 4.3.0 local error', 'retry', /451/],
    ['MAIL', '550 5.7.1 sender refused', 'failed', /refuses/],
    ['RCPT', '550 5.1.1 <awa@dundun.example>: no such user', 'failed', /refuses the address \(550\)/],
    ['RCPT', '450 4.2.1 <awa@dundun.example>: mailbox busy', 'retry', /450/],
    ['RCPT', '452 4.2.2 <awa@dundun.example>: mailbox full', 'retry', /452/],
    ['DATA', '451 4.3.0 not now', 'retry', /451/],
    ['message', '554 5.7.1 this is spam', 'failed', /refuses the message \(554\)/],
    ['message', '421 4.7.0 too many messages', 'retry', /421/],
  ];
  for (const [moment, reply, kind, reason] of replies) {
    test(`is ${kind} where ${moment} is answered by ${reply.split(' ', 2).join(' ')}`, async () => {
      server.replies({ [moment]: reply });
      const sendOutcome = await send(sender(), toAwa(), { secrets });
      assert.equal(sendOutcome.kind, kind, JSON.stringify(sendOutcome));
      assert.match((sendOutcome as { reason: string }).reason, reason);
      assert.equal((sendOutcome as { code: string }).code, reply.slice(0, 3));
    });
  }

  for (const moment of ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'message'] as const) {
    test(`is tried again where the server cuts at ${moment}, or says nothing, or nonsense`, async () => {
      server.replies({ [moment]: 'cut' });
      assert.equal((await send(sender(), toAwa(), { secrets })).kind, 'retry');
      server.replies({ [moment]: 'silence' });
      const silence = await send(sender(200), toAwa(), { secrets });
      assert.equal(silence.kind, 'retry');
      server.replies({ [moment]: 'HTTP/1.1 400 Bad Request' });
      const noise = await send(sender(1_000), toAwa(), { secrets });
      assert.equal(noise.kind, 'retry', JSON.stringify(noise));
    });
  }

  test('is tried again where there is no server, or it is stopped meanwhile', async () => {
    const gone = await MailServer.start();
    const url = `smtp://127.0.0.1:${gone.port}`;
    await gone.stop();
    const sendOutcome = await send(new EmailSender({ url, from }, { msMax: 20_000 }), toAwa());
    assert.deepEqual(sendOutcome, { kind: 'retry', reason: 'the mail server cannot be reached', code: 'ECONNREFUSED' });
    server.replies({ RCPT: 'silence' });
    const stop = new AbortController();
    const before = server.commands.length;
    const sending = send(sender(), toAwa(), { secrets, signal: stop.signal });
    await until(() => server.commands.slice(before).some((line) => line.startsWith('RCPT')));
    stop.abort();
    assert.deepEqual({ ...(await sending), reason: '' }, { kind: 'retry', reason: '', code: 'stopped' });
  });
});
