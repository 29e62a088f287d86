// Tells whether a password is among the ten thousand most common ones, which attackers try first. Called by
// passwords.ts for each new password; existing passwords are not affected.
import passwordList from './password-list.json' with { type: 'json' };

/** Takes about 1 MiB; created when the first new password is checked. */
let common: ReadonlySet<string> | undefined;

/** Whether the password is common, regardless of case and width of letters. */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(passwordList.passwords.split(' '));
  return common.has(password.normalize('NFKC').toLowerCase());
}
