// The packets with which a server answers, as bytes, for each version. Words for people are left out where they would make
// a packet larger than its client takes. Pure; used by the session.
import { limits } from '../../config/limits.ts';
import { type AcknowledgementType, type ProtocolVersion, packetTypes, propertyIds } from './packet-types.ts';
import { encodeProperties, noProperties, type Property } from './properties.ts';
import { type ReasonCode, reasonCodes, returnCodeOf } from './reason-codes.ts';
import { variableIntegerBytes, variableIntegerMax, writeVariableInteger } from './variable-integers.ts';

export const pingResponse: Buffer = Buffer.of(packetTypes.pingresp << 4, 0);

/** What a client is told besides a code. */
export interface Words {
  /** For people; at most `limits.reasonStringLengthMax` characters of it are sent. Nothing where the client wants none. */
  readonly reason?: string | undefined;
  /** The client's Maximum Packet Size. Words beyond it are left out [MQTT-3.2.2-19, MQTT-3.4.2-2, …]. */
  readonly packetBytesMax?: number | undefined;
}

/** PUBACK, PUBREC, PUBREL or PUBCOMP [3.4 to 3.7]. Success takes four bytes in each version, as older ones know no other. */
export function acknowledgement(
  type: AcknowledgementType,
  packetId: number,
  version: ProtocolVersion,
  reasonCode: ReasonCode = reasonCodes.success,
  words: Words = {},
): Buffer {
  if (version !== 5 || (reasonCode === reasonCodes.success && words.reason === undefined)) {
    const bytes = Buffer.allocUnsafe(4);
    writeAcknowledgement(bytes, 0, type, packetId);
    return bytes;
  }
  const head = Buffer.of(packetId >> 8, packetId & 0xff, reasonCode);
  const properties = reasonProperties(words, 1 + head.length);
  // Without properties their length may lack [3.4.2.2.1].
  return properties === noProperties
    ? packet(headerOf(type), head)
    : packet(headerOf(type), head, withLength(properties));
}

/** Writes an acknowledgement of success, four bytes long. @returns where it ends. */
export function writeAcknowledgement(
  bytes: Uint8Array,
  at: number,
  type: AcknowledgementType,
  packetId: number,
): number {
  bytes[at] = headerOf(type);
  bytes[at + 1] = 2;
  bytes[at + 2] = packetId >> 8;
  bytes[at + 3] = packetId & 0xff;
  return at + 4;
}

/** PUBREL alone has flags [MQTT-3.6.1-1]. */
function headerOf(type: AcknowledgementType): number {
  return (type << 4) | (type === packetTypes.pubrel ? 2 : 0);
}

/** @param codes one for each filter, in their order; older versions know of failures only that they are some. */
export function suback(
  packetId: number,
  version: ProtocolVersion,
  codes: readonly ReasonCode[],
  words: Words = {},
): Buffer {
  const id = Buffer.of(packetId >> 8, packetId & 0xff);
  if (version !== 5) return packet(0x90, id, Buffer.from(codes.map((code) => Math.min(code, 0x80))));
  return packet(0x90, id, withLength(reasonProperties(words, 2 + codes.length)), Buffer.from(codes));
}

/** @param codes one for each filter, in their order; older versions are told none. */
export function unsuback(
  packetId: number,
  version: ProtocolVersion,
  codes: readonly ReasonCode[],
  words: Words = {},
): Buffer {
  const id = Buffer.of(packetId >> 8, packetId & 0xff);
  if (version !== 5) return packet(0xb0, id);
  return packet(0xb0, id, withLength(reasonProperties(words, 2 + codes.length)), Buffer.from(codes));
}

/** What a CONNACK of version 5 tells its client [3.2.2.3]; what lacks is as the specification has it by default. */
export interface ConnackProperties {
  readonly sessionExpiryS?: number | undefined;
  readonly receiveMaximum?: number | undefined;
  readonly packetBytesMax?: number | undefined;
  readonly assignedClientId?: string | undefined;
  readonly topicAliasMaximum?: number | undefined;
  readonly serverKeepAliveS?: number | undefined;
  readonly responseInformation?: string | undefined;
  readonly serverReference?: string | undefined;
  readonly authenticationMethod?: string | undefined;
}

/** @param answer.sessionPresent never told with a refusal [MQTT-3.2.2-6], nor by version 3.1, which knows none. */
export function connack(
  version: ProtocolVersion,
  answer: {
    readonly reasonCode: ReasonCode;
    readonly sessionPresent?: boolean;
    readonly properties?: ConnackProperties;
    readonly words?: Words;
  },
): Buffer {
  const { reasonCode, sessionPresent = false, properties = {}, words = {} } = answer;
  const flags = sessionPresent && version !== 3 && reasonCode === reasonCodes.success ? 1 : 0;
  if (version !== 5) return packet(0x20, Buffer.of(flags, returnCodeOf(reasonCode)));
  const told = encodeProperties(connackProperties(properties));
  const both = Buffer.concat([told, reasonProperties(words, 2 + told.length)]);
  return packet(0x20, Buffer.of(flags, reasonCode), withLength(both));
}

function connackProperties(told: ConnackProperties): Property[] {
  const all: readonly (readonly [id: number, value: number | string | undefined])[] = [
    [propertyIds.sessionExpiryInterval, told.sessionExpiryS],
    [propertyIds.receiveMaximum, told.receiveMaximum],
    [propertyIds.maximumPacketSize, told.packetBytesMax],
    [propertyIds.assignedClientIdentifier, told.assignedClientId],
    [propertyIds.topicAliasMaximum, told.topicAliasMaximum],
    [propertyIds.serverKeepAlive, told.serverKeepAliveS],
    [propertyIds.responseInformation, told.responseInformation],
    [propertyIds.serverReference, told.serverReference],
    [propertyIds.authenticationMethod, told.authenticationMethod],
  ];
  return all.flatMap(([id, value]): Property[] => (value === undefined ? [] : [[id, value]]));
}

/** A DISCONNECT, which servers send in version 5 alone: others are just closed. */
export function disconnect(
  reasonCode: ReasonCode,
  words: Words = {},
  { serverReference }: { readonly serverReference?: string } = {},
): Buffer {
  const told = serverReference === undefined ? [] : [[propertyIds.serverReference, serverReference] as const];
  const reference = encodeProperties(told);
  const properties = Buffer.concat([reference, reasonProperties(words, 1 + reference.length)]);
  return properties.length === 0
    ? packet(0xe0, Buffer.of(reasonCode))
    : packet(0xe0, Buffer.of(reasonCode), withLength(properties));
}

/** The Reason String, where it leaves the packet small enough. @param others bytes of the packet without length fields. */
function reasonProperties({ reason, packetBytesMax = variableIntegerMax }: Words, others: number): Buffer {
  if (reason === undefined || reason === '') return noProperties;
  const text = Buffer.from(shortened(reason));
  // The fixed header has up to five bytes, the length of the properties up to four.
  if (others + 3 + text.length + 9 > packetBytesMax) return noProperties;
  return encodeProperties([[propertyIds.reasonString, text]]);
}

/** Never half a character, nor U+0000, which no text may have [MQTT-1.5.4-2]. */
function shortened(reason: string): string {
  const text = reason.slice(0, limits.reasonStringLengthMax).replaceAll('\0', ' ');
  return text.toWellFormed();
}

function withLength(properties: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(variableIntegerBytes(properties.length) + properties.length);
  bytes.set(properties, writeVariableInteger(bytes, 0, properties.length));
  return bytes;
}

/** A packet of a first byte and what is behind its length. */
function packet(header: number, ...parts: readonly Buffer[]): Buffer {
  let length = 0;
  for (const { length: bytes } of parts) length += bytes;
  const packetBytes = Buffer.allocUnsafe(1 + variableIntegerBytes(length) + length);
  packetBytes[0] = header;
  let at = writeVariableInteger(packetBytes, 1, length);
  for (const part of parts) {
    packetBytes.set(part, at);
    at += part.length;
  }
  return packetBytes;
}
