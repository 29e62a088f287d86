// Lengths of texts, checked before anything else is done with them. Characters are Unicode code points, as in JSON
// Schema, so that bounds of schemas and of the domain agree.

/** Whether the text has at most so many characters; constant time for a text that is far longer. */
export function hasCharsMax(text: string, charsMax: number): boolean {
  if (text.length <= charsMax) return true;
  // A character has one or two UTF-16 code units.
  if (text.length > 2 * charsMax) return false;
  let chars = 0;
  for (const _ of text) chars += 1;
  return chars <= charsMax;
}

/** Whether the text has at most so many bytes in UTF-8. */
export function hasBytesMax(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax);
}
