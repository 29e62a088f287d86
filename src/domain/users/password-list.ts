// Whether a password is among the ten thousand most common ones, which attackers try first. Called by passwords.ts for
// each new password; existing ones are not affected.
import passwordList from './password-list.json' with { type: 'json' };

/** About 1 MiB; created when the first new password is checked. */
let common: ReadonlySet<string> | undefined;

/** Ignores case and width of letters. */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(passwordList.passwords.split(' '));
  return common.has(password.normalize('NFKC').toLowerCase());
}
