// What a username may look like: it stands in URLs and MQTT topics (`users/{username}/…`), and people tell each other
// apart by it. Called by users.ts, and by the migrations that fold the names that were there before.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { skeletonOf } from './skeleton.ts';

const good = new RegExp(`^(?!\\s)(?!\\.{1,2}$)[^/+#?]{1,${limits.usernameCharsMax}}(?<!\\s)$`, 'u');

/**
 * What leaves no ink: controls, marks of direction, variation selectors, fillers, joiners, and the blanks of Braille and
 * of musical notation. Surrogates alone and private or unassigned code points show as nothing, or as anything.
 */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u2800\ufffc\u{1d159}]/u;

/**
 * 1 to 64 characters without control and invisible characters, spaces at the ends, or what a URL or a topic gives a
 * meaning.
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

/** By what a name is taken for another; two names are alike where one of the two texts is the same. */
export interface NameLikeness {
  /** The skeleton of the folded name: case makes no difference. */
  readonly folded: string;
  /** The skeleton of the name as it is shown, in which a capital I is a small l; lower case. */
  readonly shown: string;
}

export function likenessOf(username: string): NameLikeness {
  // As it is, for NFKC makes other characters of some: a long s (like f) becomes s, an ogonek (like i) a space.
  const shown = username.replace(/\s+/g, ' ');
  return { folded: skeletonOf(foldName(username)), shown: skeletonOf(shown).toLowerCase() };
}

/** Names that somebody who makes an account for themselves might pass for the service with. */
const reserved = ['admin', 'administrator', 'guest', 'root', 'system', 'dundun', 'me'];

/** Does the name look like one of those, in small letters or capitals? */
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
