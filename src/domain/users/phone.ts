// Parses phone numbers (spec 2.6) with country code into one spelling (E.164). Used when a profile is changed and
// when a message is sent. Only the provider knows whether a number is in use.
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** The number as `+` and digits; undefined where it has no country code or a length that its country does not have. */
export function parsePhone(text: string): string | undefined {
  if (!/^\+[\d\s()./-]+$/.test(text)) return undefined;
  const number = parsePhoneNumberFromString(text, { extract: false });
  // Checks only the length: new ranges of numbers open every month, and must not require a new release.
  return number?.isPossible() === true ? number.number : undefined;
}
