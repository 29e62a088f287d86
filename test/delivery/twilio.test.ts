// Text messages and calls by Twilio (twilio.com/docs/sms/api, /voice/api), against a server that answers like it: the
// requests, and what each answer leads to.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SmsSender } from '../../src/delivery/sms.ts';
import { TwilioAccount, type TwilioOptions } from '../../src/delivery/twilio.ts';
import { VoiceSender } from '../../src/delivery/voice.ts';
import { clock, messageTo, Provider, send, troubleTests } from '../support/peers/provider.ts';

let provider: Provider;
before(async () => {
  provider = await Provider.start();
});
after(() => provider.stop());

const token = 'twilio-secret-4711';
const accountSid = `AC${'0'.repeat(32)}`;
const account = (options: Partial<TwilioOptions> = {}, msMax = 20_000) =>
  new TwilioAccount(
    {
      ...{ accountSid, apiKey: '', token, from: '+15005550006', voiceFrom: '+15005550007' },
      ...{ voiceLanguage: 'fr-FR', url: provider.url, ...options },
    },
    { clock, msMax },
  );
const sms = (options?: Partial<TwilioOptions>, msMax?: number) => new SmsSender(account(options, msMax));
const voice = (options?: Partial<TwilioOptions>, msMax?: number) => new VoiceSender(account(options, msMax));
const toAwa = (text?: string) => messageTo({ phone: ['+221770000000'] }, 'sms', text);
const secrets = [token, Buffer.from(`${accountSid}:${token}`).toString('base64')];

/** As Twilio answers a message that it takes. */
const created = {
  status: 201,
  json: {
    sid: `SM${'1'.repeat(32)}`,
    account_sid: accountSid,
    status: 'queued',
    to: '+221770000000',
    error_code: null,
  },
};
const refused = (status: number, code: number) => ({
  status,
  json: {
    ...{ code, message: "The 'To' number +221770000000 is not a valid phone number.", status },
    more_info: `https://www.twilio.com/docs/errors/${code}`,
  },
});
const form = () => Object.fromEntries(new URLSearchParams(provider.last.body));

suite('a text message', () => {
  test('is created with number, sender and text, signed in, under its own id', async () => {
    provider.reply = created;
    const message = toAwa('Sec à 12 % & "très" <chaud> 🌡');
    assert.deepEqual(await send(sms(), message, { secrets }), { kind: 'sent', code: '201' });
    const { method, path, headers } = provider.last;
    assert.deepEqual([method, path], ['POST', `/2010-04-01/Accounts/${accountSid}/Messages.json`]);
    assert.equal(headers.authorization, `Basic ${Buffer.from(`${accountSid}:${token}`).toString('base64')}`);
    assert.equal(headers['content-type'], 'application/x-www-form-urlencoded');
    assert.equal(headers['idempotency-key'], message.id);
    assert.deepEqual(form(), { To: '+221770000000', From: '+15005550006', Body: message.text });
  });

  test('goes by a messaging service, an API key and a gateway below a path, where that is set', async () => {
    provider.reply = created;
    const service = `MG${'2'.repeat(32)}`;
    const key = `SK${'3'.repeat(32)}`;
    await send(sms({ from: service, apiKey: key, url: `${provider.url}/gateway` }), toAwa(), { secrets });
    assert.deepEqual(form(), { To: '+221770000000', MessagingServiceSid: service, Body: 'Field 3 is dry: 12 %' });
    assert.equal(provider.last.path, `/gateway/2010-04-01/Accounts/${accountSid}/Messages.json`);
    assert.equal(provider.last.headers.authorization, `Basic ${Buffer.from(`${key}:${token}`).toString('base64')}`);
  });

  test('that is too long is shortened, never within a character', async () => {
    provider.reply = created;
    await send(sms(), toAwa(`${'a'.repeat(1_598)}🌡🌡`), { secrets });
    assert.equal(form()['Body'], `${'a'.repeat(1_598)}…`);
    await send(sms(), toAwa('b'.repeat(1_600)), { secrets });
    assert.equal(form()['Body'], 'b'.repeat(1_600));
  });

  test('cannot go to who has no number, or none with a country code', async () => {
    const asked = provider.asked.length;
    for (const phone of [undefined, [], ['0771234567'], ['nonsense', '+1']]) {
      const sendOutcome = await send(sms(), messageTo(phone === undefined ? {} : { phone }, 'sms'));
      assert.equal(sendOutcome.kind, 'undelivered');
      assert.match((sendOutcome as { reason: string }).reason, /^awa has no phone number/);
    }
    assert.equal(provider.asked.length, asked);
  });

  test('goes to the next number where one is refused, and to no second where one was taken', async () => {
    const phone = ['+221770000000', '0771234567', '+221771111111', '+221772222222'];
    provider.reply = ({ body }) => (body.includes('221770000000') ? refused(400, 21211) : created);
    const asked = provider.asked.length;
    assert.equal((await send(sms(), messageTo({ phone }, 'sms'), { secrets })).kind, 'sent');
    const numbers = provider.asked.slice(asked).map(({ body }) => new URLSearchParams(body).get('To'));
    assert.deepEqual(numbers, ['+221770000000', '+221771111111']);
  });

  const ofNumber = [21211, 21214, 21217, 21608, 21610, 21612, 21614, 21408];
  for (const code of ofNumber) {
    test(`is failed with ${code}, in words that name no number`, async () => {
      provider.reply = refused(400, code);
      const sendOutcome = await send(sms(), toAwa(), { secrets });
      assert.deepEqual({ ...sendOutcome, reason: '' }, { kind: 'failed', reason: '', code: String(code) });
    });
  }

  test('is failed where credentials or sender are wrong, with no other number tried', async () => {
    for (const [status, code] of [
      [401, 20003],
      [404, 20404],
      [400, 21606],
      [400, 21659],
    ] as const) {
      provider.reply = refused(status, code);
      const asked = provider.asked.length;
      const sendOutcome = await send(sms(), messageTo({ phone: ['+221770000000', '+221771111111'] }, 'sms'), {
        secrets,
      });
      assert.deepEqual({ ...sendOutcome, reason: '' }, { kind: 'failed', reason: '', code: String(code) });
      assert.equal(provider.asked.length, asked + 1);
    }
    provider.reply = { status: 401, text: 'who are you?' };
    assert.deepEqual(await send(sms(), toAwa(), { secrets }), {
      ...{ kind: 'failed', reason: 'Twilio refuses the credentials of this service', code: '401' },
    });
  });

  test('is tried again where Twilio takes no more just now', async () => {
    for (const [status, code] of [
      [429, 20429],
      [400, 21611],
    ] as const) {
      provider.reply = { ...refused(status, code), headers: { 'retry-after': '3' } };
      const sendOutcome = await send(sms(), toAwa(), { secrets });
      const reason = 'Twilio takes no more just now';
      assert.deepEqual(sendOutcome, { kind: 'retry', reason, code: String(code), retryAfterS: 3 });
    }
  });

  test('is sent where Twilio says created and nothing else that can be read', async () => {
    for (const text of ['', '<html>', '[]', '{"sid": ']) {
      provider.reply = { status: 201, text };
      assert.equal((await send(sms(), toAwa(), { secrets })).kind, 'sent', text);
    }
  });

  test('is tried again where something else answers in place of Twilio, and failed where that points elsewhere', async () => {
    for (const text of ['', '<html>sign in to the network', '{}', 'null']) {
      provider.reply = { status: 200, text };
      assert.equal((await send(sms(), toAwa(), { secrets })).kind, 'retry', text);
    }
    const asked = provider.asked.length;
    provider.reply = { status: 302, headers: { location: `${provider.url}/elsewhere` } };
    assert.equal((await send(sms(), toAwa(), { secrets })).kind, 'failed');
    assert.equal(provider.asked.length, asked + 1);
  });

  troubleTests({ provider: () => provider, sender: (msMax) => sms({}, msMax), message: () => toAwa(), secrets });
});

suite('a call', () => {
  const call = (text?: string) => messageTo({ phone: ['+221770000000'] }, 'voice', text);
  const spoken = () => /<Say language="fr-FR">(.*)<\/Say>/s.exec(form()['Twiml'] ?? '')?.[1] ?? '';

  test('is made from the number for calls, and reads the message in the language that is set', async () => {
    provider.reply = created;
    const message = call('Field 3 is dry');
    assert.deepEqual(await send(voice(), message, { secrets }), { kind: 'sent', code: '201' });
    assert.equal(provider.last.path, `/2010-04-01/Accounts/${accountSid}/Calls.json`);
    assert.equal(provider.last.headers['idempotency-key'], message.id);
    const { To, From, Twiml, ...rest } = form();
    assert.deepEqual([To, From, rest], ['+221770000000', '+15005550007', {}]);
    assert.equal(
      Twiml,
      '<?xml version="1.0" encoding="UTF-8"?><Response><Say language="fr-FR">Field 3 is dry</Say></Response>',
    );
  });

  test('reads markup in the message as text: nobody dials, plays or records through a message', async () => {
    provider.reply = created;
    await send(voice(), call('</Say><Dial>+33142685300</Dial><Say>&lt; "5" \u0000\u001b\ud800'), { secrets });
    assert.equal(
      spoken(),
      '&lt;/Say&gt;&lt;Dial&gt;+33142685300&lt;/Dial&gt;&lt;Say&gt;&amp;lt; &quot;5&quot;   \ufffd',
    );
  });

  test('has a script that Twilio takes, however long the message and whatever is in it', async () => {
    provider.reply = created;
    for (const mark of ['a', '&', '"', '🌡']) {
      await send(voice(), call(mark.repeat(4_096)), { secrets });
      assert.ok((form()['Twiml'] ?? '').length <= 4_000, mark);
      assert.ok(spoken().endsWith('…'), mark);
    }
  });

  for (const code of [21214, 21215, 21219]) {
    test(`is failed with ${code}`, async () => {
      provider.reply = refused(400, code);
      const sendOutcome = await send(voice(), call(), { secrets });
      assert.deepEqual({ ...sendOutcome, reason: '' }, { kind: 'failed', reason: '', code: String(code) });
    });
  }

  troubleTests({ provider: () => provider, sender: (msMax) => voice({}, msMax), message: () => call(), secrets });
});
