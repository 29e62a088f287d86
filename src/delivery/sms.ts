// Sends text messages through Twilio, to the first number of the recipient that works.
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { toPhones } from './phones.ts';
import { shortened } from './send-outcome.ts';
import type { TwilioAccount } from './twilio.ts';

export class SmsSender implements Sender {
  readonly channel = 'sms';
  readonly perSMax = limits.smsPerSMax;
  readonly #account: TwilioAccount;

  constructor(account: TwilioAccount) {
    this.#account = account;
  }

  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const { from } = this.#account.options;
    const sender = from.startsWith('MG') ? { messagingServiceSid: from } : { from };
    const body = shortened(message.text, limits.smsCharsMax);
    return toPhones(message, (to) =>
      this.#account.create((client) => client.messages.create({ to, body, ...sender }), message, signal),
    );
  }
}
