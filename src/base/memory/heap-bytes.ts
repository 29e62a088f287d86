// Estimates the bytes of a value on V8's heap, by which caches are weighed. An upper bound for data from outside:
// parsed JSON may take twenty times as much as its text.
const objectBytes = 56;
const fieldBytes = 40;
const arrayBytes = 32;
const textBytes = 24;
/** Overhead of an entry of a map beside key and value: its slot, and its place in the order of use. */
export const entryBytes = 120;

/** A string with two bytes for each character, as when one of them is beyond Latin-1. */
export function textHeapBytes(text: string): number {
  return textBytes + 2 * text.length;
}

/** For plain values, arrays, objects, maps and sets; each is visited once, assuming that nothing is shared. */
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
