// Rules for every channel: how messages are shortened, how long a requested wait may be, and what happens without a
// provider.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { parseConfig } from '../../src/config/config.ts';
import { limits } from '../../src/config/limits.ts';
import { providersOf } from '../../src/config/provider-settings.ts';
import { boundedWait, shortened } from '../../src/delivery/send-outcome.ts';
import { makeSenders } from '../../src/delivery/senders.ts';
import { channels } from '../../src/domain/notifications/rules/notification.ts';
import { WebhookKeys } from '../../src/domain/users/webhook-keys.ts';
import { clock, messageTo, send } from '../support/peers/provider.ts';
import { properties } from '../support/properties.ts';

const webhook = { keys: new WebhookKeys(Buffer.from('secret')), networks: [] };
const everywhere = {
  phone: ['+221770000000'],
  email: 'awa@dundun.example',
  twitter: ['awadiop'],
  telegram: ['123456789'],
};

suite('messages', () => {
  test('are as long as a channel takes, are whole characters, and begin as they were written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 2, max: 50 }), (text, max) => {
        const short = shortened(text, max);
        assert.ok(short.length <= max && short.isWellFormed());
        if (text.length <= max) assert.equal(short, text.toWellFormed());
        else assert.ok(short.endsWith('…') && text.toWellFormed().startsWith(short.slice(0, -1)));
      }),
      properties(),
    );
  });

  test('wait whole seconds, from none to a day', () => {
    fc.assert(
      fc.property(fc.double(), (seconds) => {
        const wait = boundedWait(seconds);
        if (!Number.isFinite(seconds)) assert.equal(wait, undefined);
        else assert.ok(wait !== undefined && Number.isInteger(wait) && wait >= 0 && wait <= limits.retryAfterSMax);
      }),
      properties(),
    );
  });
});

suite('the senders of a service', () => {
  test('are one for every channel but none, whatever is set up', () => {
    const senders = makeSenders({ clock, ...providersOf(parseConfig({})), webhook });
    assert.deepEqual([...senders.keys()].sort(), channels.filter((name) => name !== 'none').sort());
    for (const [channel, sender] of senders) {
      assert.equal(sender.channel, channel);
      assert.ok(sender.perSMax > 0);
    }
  });

  test('say which setting is missing, and reach nobody', async () => {
    const senders = makeSenders({ clock, ...providersOf(parseConfig({})), webhook });
    const missing = {
      sms: 'DUNDUN_TWILIO_ACCOUNT_SID',
      voice: 'DUNDUN_TWILIO_ACCOUNT_SID',
      twitter: 'DUNDUN_X_APP_KEY',
      email: 'DUNDUN_SMTP_URL',
      telegram: 'DUNDUN_TELEGRAM_TOKEN',
    } as const;
    for (const [channel, setting] of Object.entries(missing) as [keyof typeof missing, string][]) {
      const sender = senders.get(channel);
      assert.ok(sender !== undefined);
      const reason = `no provider is set up for ${channel} (${setting})`;
      assert.deepEqual(await send(sender, messageTo(everywhere, channel)), { kind: 'undelivered', reason });
    }
  });

  test('make calls only where there is a number to call from', async () => {
    const twilio = {
      DUNDUN_TWILIO_ACCOUNT_SID: 'AC00',
      DUNDUN_TWILIO_TOKEN: 'secret',
      DUNDUN_TWILIO_URL: 'http://[::1]:1',
    };
    const callsFrom = async (settings: Readonly<Record<string, string>>) => {
      const senders = makeSenders({ clock, ...providersOf(parseConfig({ ...twilio, ...settings })), webhook });
      const voice = senders.get('voice');
      assert.ok(voice !== undefined);
      return send(voice, messageTo(everywhere, 'voice'), { secrets: ['secret'] });
    };
    const reason = 'no provider is set up for voice (DUNDUN_TWILIO_VOICE_FROM)';
    assert.deepEqual(await callsFrom({ DUNDUN_TWILIO_FROM: 'Dundun' }), { kind: 'undelivered', reason });
    assert.equal((await callsFrom({ DUNDUN_TWILIO_FROM: '+15005550006' })).kind, 'retry');
    const both = { DUNDUN_TWILIO_FROM: 'MG00', DUNDUN_TWILIO_VOICE_FROM: '+15005550006' };
    assert.equal((await callsFrom(both)).kind, 'retry');
  });
});
