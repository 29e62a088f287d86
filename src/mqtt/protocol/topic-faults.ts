// What the specification asks of texts, topics and filters as bytes [1.5.4, 4.7, 4.8.2]. Pure, linear, and without
// allocation, because each PUBLISH is looked at. Used by packet-cursor.ts and packet-faults.ts.

const hash = 0x23;
const plus = 0x2b;
const slash = 0x2f;

/** What `scanText` has found, as bits. */
export const textMarks = { illFormed: 1, nul: 2, wildcard: 4 } as const;

/** Looks once at a text: whether it is UTF-8, has U+0000, has a character that is a wildcard in filters. */
export function scanText(bytes: Uint8Array, start: number, end: number): number {
  let marks = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) {
      const next = characterEnd(bytes, at, end);
      if (next < 0) return marks | textMarks.illFormed;
      at = next - 1;
    } else if (byte === 0) marks |= textMarks.nul;
    else if (byte === plus || byte === hash) marks |= textMarks.wildcard;
  }
  return marks;
}

/** Where the character of several bytes at `at` ends; -1 where it is none [Unicode, table 3-7]. */
function characterEnd(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] as number;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > end) return -1;
  // Neither overlong, nor half of a surrogate pair, nor beyond U+10FFFF.
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  const second = bytes[at + 1] as number;
  if (second < low || second > high) return -1;
  for (let next = at + 2; next < at + length; next++) if (((bytes[next] as number) & 0xc0) !== 0x80) return -1;
  return at + length;
}

/** Where a filter breaks the rules of wildcards: [MQTT-4.7.1-1], [MQTT-4.7.1-2] of version 5; undefined: nowhere. */
export function wildcardFault(bytes: Uint8Array, start: number, end: number): typeof hash | typeof plus | undefined {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte !== hash && byte !== plus) continue;
    if (at > start && bytes[at - 1] !== slash) return byte;
    const isLast = at === end - 1;
    if (byte === hash ? !isLast : !isLast && bytes[at + 1] !== slash) return byte;
  }
  return undefined;
}

const sharePrefix = Buffer.from('$share/');

/** Whether a filter is one of a shared subscription, well-formed or not [4.8.2]. Without the slash it is a usual one. */
export function isShared(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < sharePrefix.length) return false;
  for (let n = 0; n < sharePrefix.length; n++) if (bytes[start + n] !== sharePrefix[n]) return false;
  return true;
}

/**
 * Where the filter within a shared subscription's filter begins; -1 where its group is empty or has a wildcard, or
 * nothing follows the group [MQTT-4.8.2-1, MQTT-4.8.2-2].
 */
export function sharedFilterStart(bytes: Uint8Array, start: number, end: number): number {
  const group = start + sharePrefix.length;
  for (let at = group; at < end; at++) {
    const byte = bytes[at];
    if (byte === hash || byte === plus) return -1;
    if (byte === slash) return at === group || at + 1 === end ? -1 : at + 1;
  }
  return -1;
}
