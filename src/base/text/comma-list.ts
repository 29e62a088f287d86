// Lists of words in a query, with commas between them: ids in `sensors_data`, values in a filter `q`. Ids may have
// commas themselves: such a comma is written as %2C (which makes %252C of it in an address), and a %2C that is meant as
// it stands as %252C, so that every word can be named, and words without either are written as they are.

export function splitAtCommas(text: string): string[] {
  return text.split(',').map(unescapeComma);
}

function unescapeComma(word: string): string {
  return word.replaceAll(/%((?:25)*)2C/gi, (escaped, levels: string) => (levels === '' ? ',' : `%${escaped.slice(3)}`));
}
