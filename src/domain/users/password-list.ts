// Whether a password is among the ten thousand most common ones, which guessing begins with. Called by passwords.ts
// for each new password; signing in with one that was set before is not affected.
import { commonPasswordsText } from './password-list.generated.ts';

/** Some 1 MiB; made when the first new password is checked. */
let common: ReadonlySet<string> | undefined;

/** Case and width of the letters make no difference. */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(commonPasswordsText.split(' '));
  return common.has(password.normalize('NFKC').toLowerCase());
}
