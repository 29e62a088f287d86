// Phone numbers (spec 2.6): with country code, in one spelling (E.164). Used when a profile is changed and when a
// message is sent. Whether a number is in use only the provider knows.
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** The number as `+` and digits; undefined where it has no country code or a length that its country does not have. */
export function parsePhone(text: string): string | undefined {
  if (!/^\+[\d\s()./-]+$/.test(text)) return undefined;
  const number = parsePhoneNumberFromString(text, { extract: false });
  // Checked by length only: new ranges are opened every month, and must not need a new release.
  return number?.isPossible() === true ? number.number : undefined;
}
