// About how many bytes a value takes in the memory of V8, so that caches are weighed in what runs out. An estimate from
// above for what comes from outside: text of JSON may take twenty times as much when it has been parsed.
const objectBytes = 56;
const fieldBytes = 40;
const arrayBytes = 32;
const textBytes = 24;
/** What an entry of a map costs beside its key and its value: its place in the table, and in the order of use. */
export const entryBytes = 120;

/** A text: two bytes a character, as where one of them is beyond Latin-1. */
export function textHeapBytes(text: string): number {
  return textBytes + 2 * text.length;
}

/** Plain values, arrays, objects, maps and sets of them; each is gone through once, and nothing is shared. */
export function heapBytes(value: unknown): number {
  if (typeof value === 'string') return textHeapBytes(value);
  if (typeof value === 'number') return 16;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + 8 + heapBytes(item), arrayBytes);
  if (value instanceof Map) {
    let sum = 160;
    for (const [key, item] of value) sum += 64 + heapBytes(key) + heapBytes(item);
    return sum;
  }
  if (value instanceof Set) {
    let sum = 160;
    for (const item of value) sum += 64 + heapBytes(item);
    return sum;
  }
  let sum = objectBytes;
  for (const key in value) sum += fieldBytes + heapBytes((value as { readonly [key: string]: unknown })[key]);
  return sum;
}
