// Phone numbers (spec 2.6): with country code, kept in one spelling (E.164). Used where a profile is changed and where a
// message is to go out. Whether the number is in use is for the provider to say.
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** The number as `+` and digits; undefined where it has no country code or a length that its country does not have. */
export function parsePhone(text: string): string | undefined {
  if (!/^\+[\d\s()./-]+$/.test(text)) return undefined;
  const number = parsePhoneNumberFromString(text, { extract: false });
  // By length alone: new ranges are opened every month, and whoever has one must not wait for our next version.
  return number?.isPossible() === true ? number.number : undefined;
}
