// Properties of MQTT 5 as bytes: gone through one by one, written, and made ready to be passed on [2.2.2]. Pure.
import { propertyIds, valueKindOf, valueKinds } from './packet-types.ts';
import { variableIntegerBytes, variableIntegerEnd, writeVariableInteger } from './variable-integers.ts';

/** A property to write: its number, and its value as its kind has it. */
export type Property =
  | readonly [id: number, value: number | string | Uint8Array]
  | readonly [id: typeof propertyIds.userProperty, name: string, value: string];

export const noProperties: Buffer = Buffer.alloc(0);

/** Where the property at `at` ends; its number, which is its first byte, tells how. -1 where it is broken. */
export function propertyEnd(bytes: Uint8Array, at: number, end: number): number {
  const value = at + 1;
  const next = valueEnd(bytes, value, end, valueKindOf(bytes[at] as number));
  return next > end ? -1 : next;
}

function valueEnd(bytes: Uint8Array, at: number, end: number, kind: number): number {
  switch (kind) {
    case valueKinds.byte:
      return at + 1;
    case valueKinds.twoBytes:
      return at + 2;
    case valueKinds.fourBytes:
      return at + 4;
    case valueKinds.variable:
      return Math.max(-1, variableIntegerEnd(bytes, at, end));
    case valueKinds.text:
    case valueKinds.binary:
      return fieldEnd(bytes, at, end);
    case valueKinds.pair: {
      const name = fieldEnd(bytes, at, end);
      return name < 0 ? -1 : fieldEnd(bytes, name, end);
    }
    default:
      return -1;
  }
}

function fieldEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at + 2 > end) return -1;
  const next = at + 2 + (bytes[at] as number) * 256 + (bytes[at + 1] as number);
  return next > end ? -1 : next;
}

/** Whether a property is of one hop alone, or written anew for each receiver [3.3.2.3.3, 3.3.2.3.4, 3.3.4-3, 3.1.3.2.2]. */
function isOfOneHop(id: number): boolean {
  return (
    id === propertyIds.topicAlias ||
    id === propertyIds.messageExpiryInterval ||
    id === propertyIds.subscriptionIdentifier ||
    id === propertyIds.willDelayInterval
  );
}

/**
 * A copy of those properties of a PUBLISH or will that receivers get as they were sent, in their order [MQTT-3.3.2-18]:
 * all but the alias, the expiry, and the delay. The properties must have no fault.
 */
export function forwardableProperties(bytes: Buffer, start: number, end: number): Buffer {
  if (start === end) return noProperties;
  const kept: Buffer[] = [];
  let from = start;
  for (let at = start; at < end; ) {
    const next = propertyEnd(bytes, at, end);
    if (next < 0) break;
    if (isOfOneHop(bytes[at] as number)) {
      if (from < at) kept.push(bytes.subarray(from, at));
      from = next;
    }
    at = next;
  }
  if (from < end) kept.push(bytes.subarray(from, end));
  return kept.length === 0 ? noProperties : Buffer.concat(kept);
}

/** Bytes of the properties, without their length. */
export function encodeProperties(properties: readonly Property[]): Buffer {
  return properties.length === 0 ? noProperties : Buffer.concat(properties.map(encodeProperty));
}

function encodeProperty([id, value, second]: Property): Buffer {
  const kind = valueKindOf(id);
  if (typeof value === 'number') return encodeNumber(id, kind, value);
  const texts = second === undefined ? [value] : [value, second];
  const parts: Uint8Array[] = [Buffer.of(id)];
  for (const text of texts) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    parts.push(Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes);
  }
  return Buffer.concat(parts);
}

function encodeNumber(id: number, kind: number, value: number): Buffer {
  const length =
    kind === valueKinds.byte ? 1 : kind === valueKinds.twoBytes ? 2 : kind === valueKinds.fourBytes ? 4 : 0;
  const bytes = Buffer.allocUnsafe(1 + (length === 0 ? variableIntegerBytes(value) : length));
  bytes[0] = id;
  if (length === 0) writeVariableInteger(bytes, 1, value);
  else bytes.writeUIntBE(value, 1, length);
  return bytes;
}
