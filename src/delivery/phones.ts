// The phone numbers of a recipient, one after the other; used by sms.ts and voice.ts. Numbers that were written down
// before they were checked may lack their country code: those are left out, and named as the reason where no other is.
import type { Delivery, OutgoingMessage } from '../domain/notifications/sender.ts';
import { parsePhone } from '../domain/users/phone.ts';
import { noAddress, type Outcome, toFirstReachable } from './outcome.ts';

export async function toPhones(
  message: OutgoingMessage,
  send: (number: string) => Promise<Outcome>,
): Promise<Delivery> {
  const given = message.to.phone ?? [];
  if (given.length === 0) return noAddress(message, 'phone number');
  const numbers = given.flatMap((text) => parsePhone(text) ?? []);
  if (numbers.length === 0) return noAddress(message, 'phone number with country code, such as +221770000000');
  return toFirstReachable(numbers, send);
}
