// Whether a packet of a client is lawful, by the version that its connection speaks: lengths, flags, packet ids, texts,
// topics, filters, properties, reason codes. What a packet means at its moment (a second CONNECT, an alias that is not
// known) is the session's to judge. Pure and linear; a good packet costs no object. Clauses stand beside what obeys them;
// of versions 3.1 and 3.1.1 they are those of 3.1.1.
import { connectFault } from './connect-faults.ts';
import { malformed, PacketCursor, type PacketFault, protocolError } from './packet-cursor.ts';
import { type ProtocolVersion, packetTypes, propertyIds } from './packet-types.ts';
import { allowedProperties, propertiesFault } from './property-faults.ts';
import { isShared, sharedFilterStart, wildcardFault } from './topic-faults.ts';
import { isPadded, variableIntegerAt, variableIntegerEnd } from './variable-integers.ts';

const cursor = new PacketCursor();

/**
 * What is wrong with a whole packet; undefined: nothing.
 * @param version that its connection speaks; a CONNECT is judged by the version that it names itself.
 * @param from where its first byte is; `to` where it ends.
 */
export function packetFault(
  bytes: Uint8Array,
  version: ProtocolVersion,
  from = 0,
  to = bytes.length,
): PacketFault | undefined {
  const header = bytes[from];
  const body = variableIntegerEnd(bytes, from + 1, to);
  if (header === undefined || body < 0 || body + variableIntegerAt(bytes, from + 1, body) !== to)
    return malformed('2.1.4', 'the length of the packet is broken');
  cursor.start(bytes, body, to);
  cursor.version = version;
  const fault =
    headerFault(header, to - body, version) ??
    bodyFault(header) ??
    // 3.1.1 allows a length in more bytes than it takes [2.2.3].
    (cursor.isV5 && isPadded(bytes, from + 1, body)
      ? malformed('MQTT-1.5.5-1', 'the length of the packet has more bytes than it takes')
      : undefined);
  cursor.release();
  return fault;
}

/**
 * What is wrong with a packet of which the first byte and the length alone have come, before the rest is gathered.
 * @param length of what is behind the fixed header.
 */
export function headerFault(header: number, length: number, version: ProtocolVersion): PacketFault | undefined {
  const type = header >> 4;
  const flags = header & 0x0f;
  if (!isOfClients(type, version)) return foreignType(type, version);
  if (type === packetTypes.publish) return publishFlagsFault(flags);
  const required = hasFlagsOfTwo(type) ? 2 : 0;
  // Version 3.1 has DUP there too: a client that repeats one sets it [3.1: 2.1].
  const judged = version === 3 && required === 2 ? flags & ~8 : flags;
  if (judged !== required) return malformed(flagsClause(type, version), `the flags are ${flags}, not ${required}`);
  return lengthFault(type, length, version);
}

function isOfClients(type: number, version: ProtocolVersion): boolean {
  switch (type) {
    case 0:
    case packetTypes.connack:
    case packetTypes.suback:
    case packetTypes.unsuback:
    case packetTypes.pingresp:
      return false;
    case packetTypes.auth:
      return version === 5;
    default:
      return true;
  }
}

function foreignType(type: number, version: ProtocolVersion): PacketFault {
  const detail = `no client sends a packet of type ${type}`;
  const section = version === 5 ? '2.1.2' : '2.2.1';
  return type === 0 || type === packetTypes.auth ? malformed(section, detail) : protocolError(section, detail);
}

function hasFlagsOfTwo(type: number): boolean {
  return type === packetTypes.pubrel || type === packetTypes.subscribe || type === packetTypes.unsubscribe;
}

function publishFlagsFault(flags: number): PacketFault | undefined {
  const qos = (flags >> 1) & 3;
  if (qos === 3) return malformed('MQTT-3.3.1-4', 'the QoS is 3');
  return qos === 0 && (flags & 8) !== 0 ? malformed('MQTT-3.3.1-2', 'DUP is set with QoS 0') : undefined;
}

function flagsClause(type: number, version: ProtocolVersion): string {
  switch (type) {
    case packetTypes.pubrel:
      return 'MQTT-3.6.1-1';
    case packetTypes.subscribe:
      return 'MQTT-3.8.1-1';
    case packetTypes.unsubscribe:
      return 'MQTT-3.10.1-1';
    case packetTypes.disconnect:
      return 'MQTT-3.14.1-1';
    case packetTypes.auth:
      return 'MQTT-3.15.1-1';
    default:
      return version === 5 ? 'MQTT-2.1.3-1' : 'MQTT-2.2.2-2';
  }
}

/** Of those packets that have one length alone, or a least one. */
function lengthFault(type: number, length: number, version: ProtocolVersion): PacketFault | undefined {
  const isV5 = version === 5;
  const clause = isV5 ? 'MQTT-4.13.1-1' : 'MQTT-4.8.0-1';
  const isAcknowledgement = type >= packetTypes.puback && type <= packetTypes.pubcomp;
  if (isAcknowledgement && (isV5 ? length < 2 : length !== 2))
    return malformed(clause, `it has ${length} bytes, not 2`);
  const isEmpty = type === packetTypes.pingreq || (type === packetTypes.disconnect && !isV5);
  return isEmpty && length !== 0 ? malformed(clause, `it has ${length} bytes, not 0`) : undefined;
}

function bodyFault(header: number): PacketFault | undefined {
  switch (header >> 4) {
    case packetTypes.connect:
      return connectFault(cursor);
    case packetTypes.publish:
      return publishFault((header >> 1) & 3);
    case packetTypes.puback:
    case packetTypes.pubrec:
    case packetTypes.pubrel:
    case packetTypes.pubcomp:
      return acknowledgementFault(header >> 4);
    case packetTypes.subscribe:
      return filtersFault(true);
    case packetTypes.unsubscribe:
      return filtersFault(false);
    case packetTypes.disconnect:
      return disconnectFault();
    case packetTypes.auth:
      return authFault();
    default:
      return undefined;
  }
}

function publishFault(qos: number): PacketFault | undefined {
  const fault = cursor.topicName('topic', 'MQTT-3.3.2-2') ?? (qos > 0 ? cursor.packetId() : undefined);
  if (fault !== undefined) return fault;
  // Behind a packet id the topic is still the last field.
  const isEmpty = cursor.fieldStart === cursor.fieldEnd;
  if (!cursor.isV5) return isEmpty ? malformed('MQTT-4.7.3-1', 'the topic is empty') : undefined;
  const found = propertiesFault(cursor, allowedProperties.publish);
  if (found !== undefined || !isEmpty || cursor.hasSeen(propertyIds.topicAlias)) return found;
  return protocolError('3.3.2.1', 'the topic is empty, and there is no alias for it');
}

/** Of a SUBSCRIBE, with options behind each filter, or an UNSUBSCRIBE. */
function filtersFault(hasOptions: boolean): PacketFault | undefined {
  const { isV5 } = cursor;
  const allowed = hasOptions ? allowedProperties.subscribe : allowedProperties.unsubscribe;
  const fault = cursor.packetId() ?? (isV5 ? propertiesFault(cursor, allowed) : undefined);
  if (fault !== undefined) return fault;
  // [MQTT-3.8.3-2], [MQTT-3.10.3-2]; of 3.1.1 [MQTT-3.8.3-3].
  const clause = hasOptions ? cursor.clause('MQTT-3.8.3-2', 'MQTT-3.8.3-3') : 'MQTT-3.10.3-2';
  if (cursor.isAtEnd) return protocolError(clause, 'the packet has no filter');
  while (!cursor.isAtEnd) {
    const found = cursor.text('filter') ?? filterFault();
    if (found !== undefined) return found;
    if (!hasOptions) continue;
    const { fieldStart, fieldEnd } = cursor;
    const isOfGroup = isV5 && isShared(cursor.bytes, fieldStart, fieldEnd);
    const wrong = cursor.byte('options of a filter') ?? optionsFault(cursor.value, isOfGroup);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** Of the filter that was read last. */
function filterFault(): PacketFault | undefined {
  const { bytes, fieldStart, fieldEnd } = cursor;
  if (fieldStart === fieldEnd) return malformed('MQTT-4.7.3-1', 'a filter is empty');
  let start = fieldStart;
  if (cursor.isV5 && isShared(bytes, fieldStart, fieldEnd)) {
    start = sharedFilterStart(bytes, fieldStart, fieldEnd);
    if (start < 0) return protocolError('MQTT-4.8.2-2', 'a shared subscription names no group or no filter');
  }
  if (cursor.marks === 0) return undefined;
  const wildcard = wildcardFault(bytes, start, fieldEnd);
  if (wildcard === undefined) return undefined;
  const isHash = wildcard === 0x23;
  const clause = isHash ? cursor.clause('MQTT-4.7.1-1', 'MQTT-4.7.1-2') : cursor.clause('MQTT-4.7.1-2', 'MQTT-4.7.1-3');
  return malformed(clause, 'a wildcard is not a whole level of its filter, or not the last');
}

function optionsFault(options: number, isOfGroup: boolean): PacketFault | undefined {
  if (!cursor.isV5)
    return options > 2 ? malformed('MQTT-3-8.3-4', `the QoS byte of a filter is ${options}`) : undefined;
  if ((options & 0xc0) !== 0) return malformed('MQTT-3.8.3-5', 'reserved bits of the options are set');
  if ((options & 3) === 3) return protocolError('3.8.3.1', 'the QoS of a filter is 3');
  if ((options & 0x30) === 0x30) return protocolError('3.8.3.1', 'the retain handling of a filter is 3');
  if (isOfGroup && (options & 4) !== 0)
    return protocolError('MQTT-3.8.3-4', 'a shared subscription asks for no messages of its own');
  return undefined;
}

/** Of a PUBACK, PUBREC, PUBREL or PUBCOMP [3.4.2, 3.5.2, 3.6.2, 3.7.2]. */
function acknowledgementFault(type: number): PacketFault | undefined {
  const fault = cursor.packetId();
  if (fault !== undefined || cursor.isAtEnd) return fault;
  const wrong = cursor.byte('reason code');
  if (wrong !== undefined) return wrong;
  const isReceipt = type === packetTypes.puback || type === packetTypes.pubrec;
  if (!(isReceipt ? isCodeOfReceipt(cursor.value) : isCodeOfRelease(cursor.value)))
    return badCode(`MQTT-3.${type}.2-1`);
  return lastPropertiesFault(allowedProperties.acknowledgement);
}

/** Properties that end the packet, and may lack together with their length. */
function lastPropertiesFault(allowed: typeof allowedProperties.acknowledgement): PacketFault | undefined {
  if (cursor.isAtEnd) {
    cursor.seenLow = 0;
    cursor.seenHigh = 0;
    return undefined;
  }
  const fault = propertiesFault(cursor, allowed);
  if (fault !== undefined || cursor.isAtEnd) return fault;
  return malformed('MQTT-4.13.1-1', 'the packet goes on behind its properties');
}

function badCode(clause: string): PacketFault {
  return protocolError(clause, `the reason code ${cursor.value} is none of this packet of a client`);
}

/** Of PUBACK and PUBREC. */
function isCodeOfReceipt(code: number): boolean {
  switch (code) {
    case 0x00:
    case 0x10:
    case 0x80:
    case 0x83:
    case 0x87:
    case 0x90:
    case 0x91:
    case 0x97:
    case 0x99:
      return true;
    default:
      return false;
  }
}

/** Of PUBREL and PUBCOMP. */
function isCodeOfRelease(code: number): boolean {
  return code === 0x00 || code === 0x92;
}

/** Of a DISCONNECT of a client [table 3-10]. */
function isCodeOfDisconnect(code: number): boolean {
  return (
    code === 0x00 || code === 0x04 || (code >= 0x80 && code <= 0x83) || code === 0x90 || (code >= 0x93 && code <= 0x99)
  );
}

/** [MQTT-3.14.2-1] */
function disconnectFault(): PacketFault | undefined {
  if (cursor.isAtEnd) return undefined;
  const fault = cursor.byte('reason code');
  if (fault !== undefined) return fault;
  if (!isCodeOfDisconnect(cursor.value)) return badCode('MQTT-3.14.2-1');
  return lastPropertiesFault(allowedProperties.disconnect);
}

/** [MQTT-3.15.2-1]: of a client, to continue or to begin again; neither goes without a method [3.15.2.2.2]. */
function authFault(): PacketFault | undefined {
  if (cursor.isAtEnd) return protocolError('MQTT-3.15.2-1', 'a client says that authentication has succeeded');
  const fault = cursor.byte('reason code');
  if (fault !== undefined) return fault;
  if (cursor.value !== 0x18 && cursor.value !== 0x19) return badCode('MQTT-3.15.2-1');
  const found = lastPropertiesFault(allowedProperties.auth);
  if (found !== undefined || cursor.hasSeen(propertyIds.authenticationMethod)) return found;
  return protocolError('3.15.2.2.2', 'there is no authentication method');
}
