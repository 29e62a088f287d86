// The sender of each channel, from the settings. Called once, by server.ts. There is one for every channel, always:
// where credentials are missing it says so.
import type { Channel } from '../domain/notifications/notification.ts';
import type { Sender } from '../domain/notifications/sender.ts';
import { WithoutProvider } from './without-provider.ts';

const missing: { readonly [C in Channel]: string } = {
  sms: 'DUNDUN_TWILIO_ACCOUNT, DUNDUN_TWILIO_TOKEN and DUNDUN_TWILIO_FROM',
  voice: 'DUNDUN_TWILIO_ACCOUNT, DUNDUN_TWILIO_TOKEN and DUNDUN_TWILIO_FROM',
  twitter: 'DUNDUN_X_APP_KEY, DUNDUN_X_APP_SECRET, DUNDUN_X_ACCESS_TOKEN and DUNDUN_X_ACCESS_SECRET',
  email: 'DUNDUN_SMTP_URL and DUNDUN_SMTP_FROM',
  webhook: 'DUNDUN_WEBHOOK_SECRET',
  telegram: 'DUNDUN_TELEGRAM_TOKEN',
};

export function makeSenders(): ReadonlyMap<Channel, Sender> {
  const names = Object.keys(missing) as Channel[];
  return new Map(names.map((channel) => [channel, new WithoutProvider(channel, missing[channel])]));
}
