// Words one after another, as the language of the page parts them.

export function listed(words: readonly string[]): string {
  return words.join(comma());
}

/** Between what happens and what comes of it. */
export function arrow(): string {
  return document.documentElement.dir === 'rtl' ? '←' : '→';
}

export function comma(): string {
  return document.documentElement.lang === 'ar' ? '، ' : ', ';
}
