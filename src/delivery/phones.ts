// The phone numbers of a recipient, one after the other; used by sms.ts and voice.ts. Numbers that were written down
// before they were checked may lack their country code: those are left out, and named as the reason where no other is.
import type { OutgoingMessage, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { parsePhone } from '../domain/users/phone.ts';
import { type AddressOutcome, toFirstReachable } from './send-outcome.ts';

export function toPhones(
  message: OutgoingMessage,
  send: (number: string) => Promise<AddressOutcome>,
): Promise<SendOutcome> {
  const given = message.to.phone ?? [];
  const addresses = given.flatMap((text) => parsePhone(text) ?? []);
  const what = given.length === 0 ? 'phone number' : 'phone number with country code, such as +221770000000';
  return toFirstReachable(message, { addresses, what }, send);
}
