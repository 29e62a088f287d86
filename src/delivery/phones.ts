// Tries the phone numbers of a recipient in order; used by sms.ts and voice.ts. Numbers without a country code, which
// earlier releases accepted, are skipped. If no other number remains, the outcome says so.
import type { OutgoingMessage, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { parsePhone } from '../domain/users/phone.ts';
import { type AddressOutcome, toFirstReachable } from './send-outcome.ts';

/** Calls `send` with each number in E.164 until one is not refused as such. */
export function toPhones(
  message: OutgoingMessage,
  send: (number: string) => Promise<AddressOutcome>,
): Promise<SendOutcome> {
  const given = message.to.phone ?? [];
  const addresses = given.flatMap((text) => parsePhone(text) ?? []);
  const what = given.length === 0 ? 'phone number' : 'phone number with country code, such as +221770000000';
  return toFirstReachable(message, { addresses, what }, send);
}
