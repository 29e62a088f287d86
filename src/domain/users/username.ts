// What a username may look like: it stands in URLs and MQTT topics (`users/{username}/…`), and people tell each other
// apart by it. Called by users.ts, and by the migration that folds the names that were there before.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';

const good = new RegExp(
  `^(?!\\s)(?!\\.{1,2}$)[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}/+#?]{1,${limits.usernameCharsMax}}(?<!\\s)$`,
  'u',
);

/**
 * 1 to 128 characters without control and invisible characters, spaces at the ends, or what a URL or a topic gives a
 * meaning.
 * @throws Refusal `malformed`
 */
export function assertUsername(username: string): void {
  if (good.test(username)) return;
  throw malformed(
    `A username has 1 to ${limits.usernameCharsMax} characters, none of / + # ? and no control characters, and is not . or .. alone.`,
    `must have 1 to ${limits.usernameCharsMax} characters, none of / + # ?`,
  );
}

/**
 * A name that somebody gives themselves must not pass for another: letters that look like Latin ones do not mix with
 * them.
 * @throws Refusal `malformed`
 */
export function assertOneScript(username: string): void {
  const hasLatin = /\p{Script=Latin}/u.test(username);
  const hasTwin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u;
  if (!hasLatin || !hasTwin.test(username)) return;
  throw malformed('A username does not mix Latin letters with others that look like them.', 'must keep to one script');
}

/** The same for names that look alike: case, width, accents' encoding and repeated spaces make no difference. */
export function foldName(username: string): string {
  return username.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').normalize('NFKC');
}

function malformed(message: string, detail: string): Refusal {
  return new Refusal('malformed', message, { faults: [{ pointer: '/username', detail }] });
}
