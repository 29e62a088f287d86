// Creates the senders of all channels from the settings. Called once at start, by wiring/wire-domain.ts. A channel
// without credentials gets a sender that sends nothing and names the missing setting.
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { Sender } from '../domain/notifications/outbox/sender.ts';
import type { Channel } from '../domain/notifications/rules/notification.ts';
import { type EmailOptions, EmailSender } from './email.ts';
import { SmsSender } from './sms.ts';
import { type TelegramOptions, TelegramSender } from './telegram.ts';
import { TwilioAccount, type TwilioOptions } from './twilio.ts';
import { type TwitterOptions, TwitterSender } from './twitter.ts';
import { UnconfiguredSender } from './unconfigured-sender.ts';
import { VoiceSender } from './voice.ts';
import { type WebhookOptions, WebhookSender } from './webhook.ts';

export interface SenderOptions {
  readonly clock: Clock;
  readonly twilio?: TwilioOptions | undefined;
  readonly twitter?: TwitterOptions | undefined;
  readonly email?: EmailOptions | undefined;
  readonly telegram?: TelegramOptions | undefined;
  readonly webhook: WebhookOptions;
  /** Milliseconds that a provider may take for one attempt. */
  readonly msMax?: number;
}

export function makeSenders(options: SenderOptions): ReadonlyMap<Channel, Sender> {
  const { clock, twilio, twitter, email, telegram, webhook, msMax = limits.providerMsMax } = options;
  const bounds = { clock, msMax };
  // Loads the packages now, because the first message would block everything for half a second. A missing one is
  // reported by the sender that needs it.
  const packages = [twilio && import('twilio'), twitter && import('twitter-api-v2'), email && import('nodemailer')];
  for (const loading of packages) loading?.catch(() => {});
  const account = twilio && new TwilioAccount(twilio, bounds);
  const senders: readonly Sender[] = [
    account ? new SmsSender(account) : new UnconfiguredSender('sms', 'DUNDUN_TWILIO_ACCOUNT_SID'),
    account?.options.voiceFrom ? new VoiceSender(account) : new UnconfiguredSender('voice', voiceMissing(account)),
    twitter ? new TwitterSender(twitter, bounds) : new UnconfiguredSender('twitter', 'DUNDUN_X_APP_KEY'),
    email ? new EmailSender(email, bounds) : new UnconfiguredSender('email', 'DUNDUN_SMTP_URL'),
    telegram ? new TelegramSender(telegram, bounds) : new UnconfiguredSender('telegram', 'DUNDUN_TELEGRAM_TOKEN'),
    new WebhookSender(webhook, bounds),
  ];
  return new Map(senders.map((sender) => [sender.channel, sender]));
}

function voiceMissing(account: TwilioAccount | undefined): string {
  return account === undefined ? 'DUNDUN_TWILIO_ACCOUNT_SID' : 'DUNDUN_TWILIO_VOICE_FROM';
}
