// How long a text is, asked before anything else is done with it. Characters are Unicode code points, as JSON Schema
// counts them, so that a bound in a schema and one in the domain agree.

/** Is the text at most so many characters long? Costs nothing for a text that is far beyond. */
export function hasCharsMax(text: string, charsMax: number): boolean {
  if (text.length <= charsMax) return true;
  // A character has one or two UTF-16 code units.
  if (text.length > 2 * charsMax) return false;
  let chars = 0;
  for (const _ of text) chars += 1;
  return chars <= charsMax;
}

/** Has the text at most so many bytes in UTF-8? */
export function hasBytesMax(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax);
}
