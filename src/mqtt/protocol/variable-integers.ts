// Integers of one to four bytes, as lengths and subscription identifiers have them [1.5.5]. Pure, without allocation.

/** The largest that four bytes hold. */
export const variableIntegerMax = 0x0fff_ffff;

/** Bytes that it takes, at least. */
export function variableIntegerBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : 4;
}

/** Writes it in as few bytes as it takes [MQTT-1.5.5-1]. @returns where it ends. */
export function writeVariableInteger(bytes: Uint8Array, at: number, value: number): number {
  let [next, rest] = [at, value];
  for (; rest >= 0x80; rest >>>= 7) bytes[next++] = (rest & 0x7f) | 0x80;
  bytes[next] = rest;
  return next + 1;
}

/**
 * Where the integer that begins at `at` ends; -1 where it goes on beyond `end`, -2 where it has more than four bytes.
 * Its value is `variableIntegerAt`.
 */
export function variableIntegerEnd(bytes: Uint8Array, at: number, end: number): number {
  for (let next = at; next < at + 4; next++) {
    if (next >= end) return -1;
    if ((bytes[next] as number) < 0x80) return next + 1;
  }
  return -2;
}

/** The integer between `at` and `end`, which `variableIntegerEnd` has found. */
export function variableIntegerAt(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  for (let next = end - 1; next >= at; next--) value = (value << 7) | ((bytes[next] as number) & 0x7f);
  return value;
}

/** Whether it takes more bytes than it must, which is malformed in version 5 [MQTT-1.5.5-1]. */
export function isPadded(bytes: Uint8Array, at: number, end: number): boolean {
  return end - at > 1 && bytes[end - 1] === 0;
}
