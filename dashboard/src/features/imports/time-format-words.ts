// How times are written, for people: `D/M/YYYY[ H:mm[:ss]]` is "day/month/year hour:minute" in the language of the page. What
// may be left out stands there but for parts of a minute; a pattern that is none of these stays as it is.

const fields = {
  year: /Y+/y,
  month: /M+/y,
  day: /D+/y,
  hour: /[Hh]+/y,
  minute: /m+/y,
} as const;

export function timeFormatWords(format: string, tag: string): string {
  const names = new Intl.DisplayNames(tag, { type: 'dateTimeField' });
  const plain = format.replace(/\[?:ss(\[?\.S+\]?)?\]?/, '').replaceAll(/[[\]]/g, '');
  if (!/D/.test(plain) || /[^YMDHhm/.\-: ,T]/.test(plain)) return format;
  let words = '';
  for (let at = 0; at < plain.length; ) {
    const found = Object.entries(fields).find(([, pattern]) => {
      pattern.lastIndex = at;
      return pattern.test(plain);
    });
    words += found === undefined ? plain[at] : names.of(found[0]);
    at = found === undefined ? at + 1 : found[1].lastIndex;
  }
  return words;
}
