// What stands in a sentence and is of no language, such as a format of times: kept together by itself where one reads from right
// to left (Unicode's first strong isolate), which would else turn its parts round.

export function isolated<T extends string | number>(part: T): T | string {
  return document.documentElement.dir === 'rtl' && typeof part === 'string' ? `\u2068${part}\u2069` : part;
}
