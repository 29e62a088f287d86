// Makes calls that read the message aloud, through Twilio, to the first number of the recipient that works.
import { limits } from '../config/limits.ts';
import type { OutgoingMessage, Sender, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { toPhones } from './phones.ts';
import { shortened } from './send-outcome.ts';
import type { TwilioAccount } from './twilio.ts';

export class VoiceSender implements Sender {
  readonly channel = 'voice';
  readonly perSMax = limits.voicePerSMax;
  readonly #account: TwilioAccount;

  constructor(account: TwilioAccount) {
    this.#account = account;
  }

  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const { voiceFrom: from, voiceLanguage } = this.#account.options;
    const twiml = twimlOf(message.text, voiceLanguage);
    return toPhones(message, (to) =>
      this.#account.create((client) => client.calls.create({ to, from, twiml }), message, signal),
    );
  }
}

/** The call's script (TwiML); the message is escaped text, never markup. */
function twimlOf(text: string, language: string): string {
  const spoken = shortened(text.replace(controlCharacters, ' '), limits.voiceCharsMax);
  return `<?xml version="1.0" encoding="UTF-8"?><Response><Say language="${escaped(language)}">${escaped(spoken)}</Say></Response>`;
}

/** Characters that XML 1.0 cannot contain, escaped or not. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be left out.
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => entities[mark] as string);
}
