// What is wrong with a CONNECT [3.1], and which version it asks for. Used by packet-faults.ts; the session asks for the
// protocol first, because what is not spoken gets an answer of its own.
import { malformed, type PacketCursor, type PacketFault, protocolError } from './packet-cursor.ts';
import { type ProtocolVersion, propertyIds } from './packet-types.ts';
import { allowedProperties, propertiesFault } from './property-faults.ts';
import { reasonCodes } from './reason-codes.ts';
import { variableIntegerEnd } from './variable-integers.ts';

/** The bit that a bridge sets in the protocol level, as bridges of mosquitto do. */
const bridgeBit = 0x80;

/** What a CONNECT asks to speak. */
export interface Protocol {
  readonly name: string;
  /** Without the bit of bridges. */
  readonly level: number;
  readonly isBridge: boolean;
  /** Undefined: none that is spoken here. */
  readonly version: ProtocolVersion | undefined;
}

/** The protocol that a whole CONNECT at `from` asks for; undefined where it is too short for one. */
export function protocolOf(bytes: Uint8Array, from = 0, to = bytes.length): Protocol | undefined {
  const body = variableIntegerEnd(bytes, from + 1, to);
  if (body < 0 || body + 2 > to) return undefined;
  const end = body + 2 + (bytes[body] as number) * 256 + (bytes[body + 1] as number);
  if (end >= to) return undefined;
  // No name that is known is longer.
  const name = String.fromCharCode(...bytes.subarray(body + 2, Math.min(end, body + 2 + 32)));
  const byte = bytes[end] as number;
  const level = byte & ~bridgeBit;
  return { name, level, isBridge: byte !== level, version: versionOf(name, level, byte !== level) };
}

function versionOf(name: string, level: number, isBridge: boolean): ProtocolVersion | undefined {
  if (name === 'MQIsdp') return level === 3 ? 3 : undefined;
  if (name !== 'MQTT') return undefined;
  // Bridges of version 5 have an option for what the bit says.
  return level === 4 || (level === 5 && !isBridge) ? level : undefined;
}

const namesWithLevels = [
  { name: 'MQTT', version: 5, level: 5 },
  { name: 'MQTT', version: 4, level: 4 },
  { name: 'MQTT', version: 4, level: 4 | bridgeBit },
  { name: 'MQIsdp', version: 3, level: 3 },
  { name: 'MQIsdp', version: 3, level: 3 | bridgeBit },
] as const;

/** @param cursor at the body; sets its version to that of the packet. */
export function connectFault(cursor: PacketCursor): PacketFault | undefined {
  const fault = cursor.binary('protocol name') ?? protocolFault(cursor) ?? cursor.byte('flags');
  if (fault !== undefined) return fault;
  const flags = cursor.value;
  const wrong =
    flagsFault(cursor, flags) ??
    cursor.twoBytes('keep-alive') ??
    (cursor.isV5 ? connectPropertiesFault(cursor) : undefined) ??
    // In this order [MQTT-3.1.3-1].
    cursor.text('client id') ??
    ((flags & 0x04) !== 0 ? willFault(cursor) : undefined) ??
    ((flags & 0x80) !== 0 ? cursor.text('user name') : undefined) ??
    ((flags & 0x40) !== 0 ? cursor.binary('password') : undefined);
  if (wrong !== undefined || cursor.isAtEnd) return wrong;
  return malformed(cursor.clause('MQTT-3.1.4-1', 'MQTT-4.8.0-1'), 'the packet goes on behind its last field');
}

/** Of the name that was read last, and the level behind it [MQTT-3.1.2-1, MQTT-3.1.2-2]. */
function protocolFault(cursor: PacketCursor): PacketFault | undefined {
  const { fieldStart, fieldEnd, bytes } = cursor;
  const fault = cursor.byte('protocol level');
  if (fault !== undefined) return fault;
  let isName = false;
  for (const { name, version, level } of namesWithLevels) {
    if (fieldEnd - fieldStart !== name.length) continue;
    let n = 0;
    while (n < name.length && bytes[fieldStart + n] === name.charCodeAt(n)) n++;
    if (n < name.length) continue;
    isName = true;
    if (cursor.value !== level) continue;
    cursor.version = version;
    return undefined;
  }
  const reasonCode = reasonCodes.unsupportedProtocolVersion;
  return isName
    ? { reasonCode, clause: 'MQTT-3.1.2-2', detail: `the protocol level ${cursor.value} is not spoken` }
    : { reasonCode, clause: 'MQTT-3.1.2-1', detail: 'the protocol is not MQTT' };
}

function flagsFault(cursor: PacketCursor, flags: number): PacketFault | undefined {
  if ((flags & 0x01) !== 0) return malformed('MQTT-3.1.2-3', 'the reserved flag is set');
  const willQos = (flags >> 3) & 3;
  if ((flags & 0x04) === 0) {
    if (willQos !== 0) return malformed(cursor.clause('MQTT-3.1.2-11', 'MQTT-3.1.2-13'), 'QoS of no will');
    if ((flags & 0x20) !== 0) return malformed(cursor.clause('MQTT-3.1.2-13', 'MQTT-3.1.2-15'), 'RETAIN of no will');
  }
  if (willQos === 3) return malformed(cursor.clause('MQTT-3.1.2-12', 'MQTT-3.1.2-14'), 'the QoS of the will is 3');
  // Version 5 allows it [3.1.2.9].
  if (!cursor.isV5 && (flags & 0xc0) === 0x40)
    return malformed('MQTT-3.1.2-22', 'there is a password without a user name');
  return undefined;
}

function connectPropertiesFault(cursor: PacketCursor): PacketFault | undefined {
  const fault = propertiesFault(cursor, allowedProperties.connect);
  if (fault !== undefined || !cursor.hasSeen(propertyIds.authenticationData)) return fault;
  if (cursor.hasSeen(propertyIds.authenticationMethod)) return undefined;
  return protocolError('3.1.2.11.10', 'there are data of authentication without a method');
}

function willFault(cursor: PacketCursor): PacketFault | undefined {
  const fault =
    (cursor.isV5 ? propertiesFault(cursor, allowedProperties.will) : undefined) ??
    cursor.topicName('topic of the will', cursor.clause('MQTT-4.7.0-1', 'MQTT-4.7.1-1'));
  if (fault !== undefined) return fault;
  if (cursor.fieldStart === cursor.fieldEnd) return malformed('MQTT-4.7.3-1', 'the topic of the will is empty');
  return cursor.binary('will');
}
