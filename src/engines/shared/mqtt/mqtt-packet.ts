// Converts packets between the broker's form and table rows. Fields without a column are serialized into `rest`, so
// that nothing is lost.

import { deserialize, serialize } from 'node:v8';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';

/** Columns that every table of packets has. */
export interface PacketRow {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly qos: number;
  readonly rest: Uint8Array | null;
}

/** The values of the columns topic, payload and rest. */
export function packetColumns(packet: StoredPacket) {
  const { topic = '', payload = new Uint8Array(0) } = packet;
  return { topic, payload: ownBytes(payload), rest: restOf(packet) };
}

/** The fields of a packet from its columns. */
export function packetFields(row: PacketRow): StoredPacket {
  const { topic, payload, qos, rest } = row;
  const bytes = typeof payload === 'string' ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return { topic, payload: bytes, qos, ...(rest === null ? undefined : (deserialize(rest) as StoredPacket)) };
}

/** A payload is usually a view into a larger buffer; a view would copy that whole buffer to the writer thread. */
function ownBytes(payload: string | Uint8Array): string | Uint8Array {
  if (typeof payload === 'string' || payload.byteLength === payload.buffer.byteLength) return payload;
  return new Uint8Array(payload);
}

function restOf(packet: StoredPacket): Uint8Array | null {
  let rest: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(packet)) {
    if (hasColumn.has(name) || value === undefined || typeof value === 'function') continue;
    rest ??= {};
    rest[name] = value;
  }
  return rest === undefined ? null : new Uint8Array(serialize(rest));
}

// Fields that have a column, are set again when the packet is read, or concern only its transport.
const hasColumn = new Set([
  ...['cmd', 'topic', 'payload', 'qos', 'retain', 'dup', 'messageId', 'length'],
  ...['brokerId', 'brokerCounter', 'clientId', 'nl', 'user', 'isOfGuest', 'exactLevels'],
]);
