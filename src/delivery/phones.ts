// The phone numbers of a recipient, one after the other; used by sms.ts and voice.ts. Numbers that were written down
// before they were checked may lack their country code: those are left out, and named as the reason where no other is.
import type { OutgoingMessage, SendOutcome } from '../domain/notifications/outbox/sender.ts';
import { parsePhone } from '../domain/users/phone.ts';
import { type AddressOutcome, noAddress, toFirstReachable } from './send-outcome.ts';

export async function toPhones(
  message: OutgoingMessage,
  send: (number: string) => Promise<AddressOutcome>,
): Promise<SendOutcome> {
  const given = message.to.phone ?? [];
  if (given.length === 0) return noAddress(message, 'phone number');
  const numbers = given.flatMap((text) => parsePhone(text) ?? []);
  if (numbers.length === 0) return noAddress(message, 'phone number with country code, such as +221770000000');
  return toFirstReachable(numbers, send);
}
