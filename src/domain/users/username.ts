// Rules for usernames: they occur in URLs and MQTT topics (`users/{username}/…`), and people recognise each other by
// them. Called by users.ts, and by migrations for earlier names.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { skeletonOf } from './skeleton.ts';

const good = new RegExp(`^(?!\\s)(?!\\.{1,2}$)[^/+#?]{1,${limits.usernameCharsMax}}(?<!\\s)$`, 'u');

/**
 * Characters that are invisible: controls, direction marks, variation selectors, fillers, joiners, the blanks of
 * Braille and musical notation, and spaces so narrow that two words look like one. Also lone surrogates and private
 * or unassigned code points, which have no defined appearance.
 */
const unseen =
  /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u2004-\u200a\u202f\u205f\u2800\ufffc\u{1107f}\u{16fe4}\u{1d159}]/u;

/**
 * Checks a new name: 1 to 64 characters, without control or invisible characters, spaces at the ends, and characters
 * with a meaning in URLs or topics.
 * @throws Refusal `malformed`
 */
export function assertUsername(username: string): void {
  if (unseen.test(username)) {
    throw malformed(
      'A username holds no characters that do not show: it would look like another name.',
      'must not hold characters that do not show',
    );
  }
  if (good.test(username)) return;
  throw malformed(
    `A username has 1 to ${limits.usernameCharsMax} characters, none of / + # ? and no control characters, and is not . or .. alone.`,
    `must have 1 to ${limits.usernameCharsMax} characters, none of / + # ?`,
  );
}

/**
 * Refuses a name that mixes Latin letters with letters that look like Latin ones; in self-registration.
 * @throws Refusal `malformed`
 */
export function assertOneScript(username: string): void {
  const hasLatin = /\p{Script=Latin}/u.test(username);
  const hasTwin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u;
  if (!hasLatin || !hasTwin.test(username)) return;
  throw malformed('A username does not mix Latin letters with others that look like them.', 'must keep to one script');
}

/** Folds a name: names that differ only in case, width, encoding of accents or repeated spaces give the same text. */
export function foldName(username: string): string {
  return username.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').normalize('NFKC');
}

/** What a name looks like. Two names look alike if either text is equal. */
export interface NameLikeness {
  /** Skeleton of the folded name, which ignores case. */
  readonly folded: string;
  /** Skeleton of the name as shown, in which a capital I looks like a small l; in lower case. */
  readonly shown: string;
}

/** What the name looks like. */
export function likenessOf(username: string): NameLikeness {
  // Not NFKC: it replaces some characters by others that look different, a long s (which looks like f) by s, an
  // ogonek (which looks like i) by a space.
  const shown = username.replace(/\s+/g, ' ');
  return { folded: skeletonOf(foldName(username)), shown: skeletonOf(shown).toLowerCase() };
}

/** Names by which a self-registered user could pass for the service. */
const reserved = ['admin', 'administrator', 'guest', 'root', 'system', 'dundun', 'me'];

/** Whether the name looks like a reserved one, in lower or upper case. */
export function isLikeReserved(username: string): boolean {
  const { folded, shown } = likenessOf(username);
  return reserved.some((name) => {
    const small = likenessOf(name);
    return folded === small.folded || shown === small.shown || shown === likenessOf(name.toUpperCase()).shown;
  });
}

function malformed(message: string, detail: string): Refusal {
  return new Refusal('malformed', message, { faults: [{ pointer: '/username', detail }] });
}
