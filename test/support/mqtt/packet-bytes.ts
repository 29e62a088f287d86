// Packets of MQTT byte by byte, lawful or not, for tests that mqtt-packet would not write.
import { password } from '../people.ts';

/** A text is written with its length before it; numbers are bytes; a buffer is written as it is. */
export type Part = string | readonly number[] | Buffer;

/** A packet of this first byte, with the length that its parts have. */
export function packet(header: number, ...parts: readonly Part[]): Buffer {
  const body = Buffer.concat(parts.map(bytesOf));
  return Buffer.concat([Buffer.from([header]), lengthBytes(body.length), body]);
}

/** A remaining length as MQTT writes it [MQTT-2.2.3]. */
export function lengthBytes(length: number): Buffer {
  const bytes: number[] = [];
  for (let left = length; bytes.length === 0 || left > 0; left = Math.floor(left / 128)) {
    bytes.push((left % 128) | (left >= 128 ? 0x80 : 0));
  }
  return Buffer.from(bytes);
}

/** Bytes with their length before them. */
export function prefixed(field: string | Buffer): Buffer {
  const bytes = Buffer.from(field as string);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

/** A CONNECT; the fields behind the keep-alive as they are to be. */
export function connectOf(
  { name = 'MQTT', level = 4, flags = 0x02, keepAlive = 60, header = 0x10 } = {},
  ...fields: readonly Part[]
): Buffer {
  return packet(header, name, [level, flags, keepAlive >> 8, keepAlive & 255], ...fields);
}

/** The CONNECT of a person, with a session that is not kept, or is. */
export function loginOf(as: string, clientId: string, isKept = false): Buffer {
  return connectOf({ flags: isKept ? 0xc0 : 0xc2 }, clientId, as, password);
}

function bytesOf(part: Part): Buffer {
  if (typeof part === 'string') return prefixed(part);
  return Buffer.isBuffer(part) ? part : Buffer.from(part);
}
