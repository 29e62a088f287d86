// Messages by the Telegram Bot API (core.telegram.org/bots/api#sendmessage), against a server that answers like it.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { TelegramSender } from '../../src/delivery/telegram.ts';
import { clock, messageTo, Provider, send, troubleTests } from '../support/peers/provider.ts';

let provider: Provider;
before(async () => {
  provider = await Provider.start();
});
after(() => provider.stop());

const token = '123456789:AAH-secret_4711';
const sender = (msMax = 20_000) => new TelegramSender({ token, url: provider.url }, { clock, msMax });
const toAwa = (text?: string) => messageTo({ telegram: ['-1001234567890'] }, 'telegram', text);
const secrets = [token, 'AAH-secret_4711'];
const taken = { status: 200, json: { ok: true, result: { message_id: 7, chat: { id: -1001234567890 }, date: 1 } } };
const refused = (status: number, description: string, parameters?: object) => ({
  status,
  json: { ok: false, error_code: status, description, ...(parameters === undefined ? {} : { parameters }) },
});

suite('a message on Telegram', () => {
  test('is posted to the chat as plain text, without a preview of links, under its own id', async () => {
    provider.reply = taken;
    const message = toAwa('*Field* <b>3</b> is _dry_ https://farm.example');
    assert.deepEqual(await send(sender(), message, { secrets }), { kind: 'sent', code: '200' });
    const { method, path, headers, body } = provider.last;
    assert.deepEqual([method, path], ['POST', `/bot${token}/sendMessage`]);
    assert.deepEqual([headers['content-type'], headers['idempotency-key']], ['application/json', message.id]);
    const link_preview_options = { is_disabled: true };
    assert.deepEqual(JSON.parse(body), { chat_id: '-1001234567890', text: message.text, link_preview_options });
  });

  test('that is too long is shortened', async () => {
    provider.reply = taken;
    await send(sender(), toAwa('ö'.repeat(5_000)), { secrets });
    assert.equal(JSON.parse(provider.last.body).text, `${'ö'.repeat(4_095)}…`);
  });

  test('cannot go to who has no chat', async () => {
    const asked = provider.asked.length;
    const sendOutcome = await send(sender(), messageTo({}, 'telegram'));
    assert.deepEqual(sendOutcome, { kind: 'undelivered', reason: 'awa has no chat with the Telegram bot' });
    assert.equal(provider.asked.length, asked);
  });

  for (const [status, description, reason] of [
    [400, 'Bad Request: chat not found', /knows no such chat/],
    [400, 'Bad Request: PEER_ID_INVALID', /knows no such chat/],
    [400, 'Bad Request: group chat was upgraded to a supergroup chat', /another number/],
    [400, 'Bad Request: message text is empty', /refuses the message/],
    [403, 'Forbidden: bot was blocked by the user', /has blocked/],
    [403, "Forbidden: bot can't initiate conversation with a user", /has not started/],
    [403, 'Forbidden: user is deactivated', /closed/],
    [403, 'Forbidden: bot is not a member of the channel chat', /may not write/],
  ] as const) {
    test(`is failed with "${description}", and the next chat is tried`, async () => {
      provider.reply = refused(status, `${description} -1001234567890`);
      const telegram = ['-1001234567890', '@field_news'];
      const asked = provider.asked.length;
      const sendOutcome = await send(sender(), messageTo({ telegram }, 'telegram'), { secrets });
      assert.equal(sendOutcome.kind, 'failed');
      assert.match((sendOutcome as { reason: string }).reason, reason);
      assert.equal(provider.asked.length, asked + 2);
    });
  }

  test('is failed where the token is none, with no other chat tried', async () => {
    for (const [status, description] of [
      [401, 'Unauthorized'],
      [404, 'Not Found'],
    ] as const) {
      provider.reply = refused(status, description);
      const asked = provider.asked.length;
      const sendOutcome = await send(sender(), messageTo({ telegram: ['1234567', '7654321'] }, 'telegram'), {
        secrets,
      });
      const reason = 'Telegram refuses the credentials of this service';
      assert.deepEqual(sendOutcome, { kind: 'failed', reason, code: String(status) });
      assert.equal(provider.asked.length, asked + 1);
    }
  });

  test('waits as long as Telegram says in its own way', async () => {
    provider.reply = refused(429, 'Too Many Requests: retry after 35', { retry_after: 35 });
    const sendOutcome = await send(sender(), toAwa(), { secrets });
    assert.deepEqual(sendOutcome, { ...sendOutcome, kind: 'retry', code: '429', retryAfterS: 35 });
  });

  test('is tried again where something else answers in place of Telegram', async () => {
    for (const text of ['', '<html>', '{}', '{"ok": false}', '{"ok": "true"}', 'null', '[']) {
      provider.reply = { status: 200, text };
      assert.equal((await send(sender(), toAwa(), { secrets })).kind, 'retry', text);
    }
  });

  troubleTests({ provider: () => provider, sender, message: () => toAwa(), secrets });
});
