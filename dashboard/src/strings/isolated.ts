// What stands in a sentence and is not of its language, such as a name or a format of times: kept together by itself (Unicode's
// first strong isolate) where it would else turn its neighbours round, or be turned by them: where the page reads from right to
// left, and where it is written in letters that do.

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

export function isolated<T>(part: T): T | string {
  if (typeof part !== 'string' || part === '') return part;
  const isTurned = rightToLeft.test(part);
  if (document.documentElement.dir !== 'rtl') return isTurned ? `\u2068${part}\u2069` : part;
  // A part of the page's own words may begin with a name in other letters, and is read as they are all the same.
  return `${isTurned ? '\u2067' : '\u2068'}${part}\u2069`;
}

/** The texts of a catalogue, where whatever is put into a sentence is isolated. */
export function withIsolatedParts<T>(texts: T): T {
  if (typeof texts === 'function') return ((...parts: unknown[]) => texts(...parts.map(isolated))) as T;
  if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) return texts;
  return Object.fromEntries(Object.entries(texts).map(([name, one]) => [name, withIsolatedParts(one)])) as T;
}
