// Estimates the bytes of a value on V8's heap. Caches use it to weigh their entries. The estimate is an upper bound
// for data from outside: parsed JSON may take twenty times as much as its text.
const objectBytes = 56;
const fieldBytes = 40;
const arrayBytes = 32;
const textBytes = 24;
/** Overhead of a map entry besides key and value: its slot, and its place in the order of use. */
export const entryBytes = 120;

/** Bytes of a string that takes two bytes for each character, as V8 stores it when one character is beyond Latin-1. */
export function textHeapBytes(text: string): number {
  return textBytes + 2 * text.length;
}

/** Bytes of plain values, arrays, objects, maps and sets. A part that occurs twice counts twice. */
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
