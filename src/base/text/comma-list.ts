// Comma-separated lists in queries: ids in `sensors_data`, values in a filter `q`. A comma within a word is written as
// %2C (in a URL: %252C), and a literal %2C as %252C, so that every word can be written; words without either are
// unchanged.

/** The words of the list, with escaped commas restored. An empty text gives one empty word. */
export function splitAtCommas(text: string): string[] {
  return text.split(',').map(unescapeComma);
}

function unescapeComma(word: string): string {
  return word.replaceAll(/%((?:25)*)2C/gi, (escaped, levels: string) => (levels === '' ? ',' : `%${escaped.slice(3)}`));
}
