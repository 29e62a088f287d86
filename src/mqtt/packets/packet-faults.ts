// What MQTT 3.1.1 asks of the bytes of a packet and mqtt-packet does not look at: lengths, packet ids, UTF-8, wildcards,
// flags that must not be set together. A packet with a fault closes the connection [MQTT-4.8.0-1]. Pure; used by
// packet-bound.ts and lawful-packets.ts for each packet that goes to the broker. Clauses stand beside what obeys them.
import { isUtf8 } from 'node:buffer';

/** The fixed header of a packet, as mqtt-packet has parsed it. */
export interface PacketHeader {
  readonly cmd?: string | null;
  readonly qos?: number;
  readonly dup?: boolean;
}

const hash = 0x23;
const plus = 0x2b;
const slash = 0x2f;

/** Bytes behind the fixed header of those packets that have one length alone; undefined of others. */
function fixedLengthOf(cmd: string | null | undefined): number | undefined {
  switch (cmd) {
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return 2;
    case 'pingreq':
    case 'disconnect':
      return 0;
    default:
      return undefined;
  }
}

/** Whether clients send packets of this type: not those of servers, nor the reserved types 0 and 15 [2.2.1]. */
function isOfClients(cmd: string | null | undefined): boolean {
  return (
    cmd === 'connect' ||
    cmd === 'publish' ||
    cmd === 'subscribe' ||
    cmd === 'unsubscribe' ||
    fixedLengthOf(cmd) !== undefined
  );
}

/** What is wrong with a packet of which the fixed header alone has come, before the rest of it is gathered. */
export function headerFault({ cmd }: PacketHeader, length: number): string | undefined {
  if (!isOfClients(cmd)) return `no client sends a packet of type ${cmd}`;
  const fixed = fixedLengthOf(cmd);
  return fixed === undefined || length === fixed ? undefined : `a ${cmd} has ${fixed} bytes, not ${length}`;
}

/** What is wrong with a packet; undefined: nothing. @param bytes behind the fixed header; of a PUBLISH, the payload may lack. */
export function packetFault(header: PacketHeader, bytes: Buffer): string | undefined {
  switch (header.cmd) {
    case 'connect':
      return connectFault(bytes);
    case 'publish':
      return publishFault(header, bytes);
    case 'subscribe':
      return filtersFault(bytes, 1);
    case 'unsubscribe':
      return filtersFault(bytes, 0);
    default:
      return bytes.length >= 2 ? packetIdFault(bytes, 0) : undefined;
  }
}

/** Bytes of a PUBLISH before its payload, as far as these tell: the topic's length is in the first two. */
export function publishHeaderBytes(header: PacketHeader, topicBytes: number): number {
  return 2 + topicBytes + (isAcknowledged(header) ? 2 : 0);
}

function isAcknowledged({ qos }: PacketHeader): boolean {
  return qos === 1 || qos === 2;
}

function publishFault(header: PacketHeader, bytes: Buffer): string | undefined {
  // [MQTT-3.3.1-2]
  if (header.dup === true && !isAcknowledged(header)) return 'DUP is set with QoS 0';
  const topic = new Field(bytes, 0);
  const fault = topic.fault('topic') ?? nameFault(topic.bytes);
  if (fault !== undefined) return fault;
  return isAcknowledged(header) ? packetIdFault(bytes, topic.end) : undefined;
}

/** Of a SUBSCRIBE or UNSUBSCRIBE. @param optionBytes behind each filter. */
function filtersFault(bytes: Buffer, optionBytes: 0 | 1): string | undefined {
  const fault = packetIdFault(bytes, 0);
  if (fault !== undefined) return fault;
  // [MQTT-3.8.3-3], [MQTT-3.10.3-2]
  if (bytes.length === 2) return 'the packet has no filter';
  for (let at = 2; at < bytes.length; ) {
    const filter = new Field(bytes, at);
    const found = filter.fault('filter') ?? filterFault(filter.bytes);
    if (found !== undefined) return found;
    at = filter.end + optionBytes;
    if (at > bytes.length) return 'the packet ends within a filter';
  }
  return undefined;
}

/** [MQTT-2.3.1-1] */
function packetIdFault(bytes: Buffer, at: number): string | undefined {
  if (at + 2 > bytes.length) return 'the packet ends before its packet id';
  return bytes.readUInt16BE(at) === 0 ? 'the packet id is 0' : undefined;
}

/** Of a topic to publish to: [MQTT-4.7.3-1], [MQTT-3.3.2-2]. */
function nameFault(topic: Buffer): string | undefined {
  if (topic.length === 0) return 'the topic is empty';
  return topic.includes(hash) || topic.includes(plus) ? 'the topic has a wildcard' : undefined;
}

/** [MQTT-4.7.3-1], [MQTT-4.7.1-2], [MQTT-4.7.1-3] */
function filterFault(filter: Buffer): string | undefined {
  if (filter.length === 0) return 'a filter is empty';
  for (let at = 0; at < filter.length; at++) {
    const byte = filter[at];
    if (byte !== hash && byte !== plus) continue;
    if (at > 0 && filter[at - 1] !== slash) return 'a wildcard does not begin its level';
    const isLast = at === filter.length - 1;
    if (byte === hash ? !isLast : !isLast && filter[at + 1] !== slash) return 'a wildcard does not end its level';
  }
  return undefined;
}

/** The protocol name and level of a CONNECT; undefined where the packet is too short for them. */
export function protocolOf(bytes: Buffer): { readonly name: string; readonly level: number } | undefined {
  const name = new Field(bytes, 0);
  const level = bytes[name.end];
  return level === undefined ? undefined : { name: name.bytes.toString('latin1'), level };
}

/** Of a CONNECT of MQTT 3.1 and 3.1.1. What is not here mqtt-packet checks: the name, the reserved flag, flags of no will. */
function connectFault(bytes: Buffer): string | undefined {
  const name = new Field(bytes, 0);
  const flags = bytes[name.end + 1];
  // The level, the flags and the keep-alive are four bytes.
  if (flags === undefined || name.end + 4 > bytes.length) return 'the packet ends before its payload';
  const [hasName, hasPassword, hasWill] = [(flags & 0x80) !== 0, (flags & 0x40) !== 0, (flags & 0x04) !== 0];
  // [MQTT-3.1.2-22]
  if (hasPassword && !hasName) return 'there is a password without a user name';
  // [MQTT-3.1.2-14]
  if (hasWill && (flags & 0x18) === 0x18) return 'the QoS of the will is 3';
  let at = name.end + 4;
  /** @returns what is wrong with the next field. */
  const next = (what: string, kind: 'text' | 'topic' | 'bytes'): string | undefined => {
    const field = new Field(bytes, at);
    at = field.end;
    const fault = kind === 'bytes' ? field.lengthFault(what) : field.fault(what);
    return fault ?? (kind === 'topic' ? nameFault(field.bytes) : undefined);
  };
  // In this order [MQTT-3.1.3-1].
  return (
    next('client id', 'text') ??
    (hasWill ? (next('topic of the will', 'topic') ?? next('will', 'bytes')) : undefined) ??
    (hasName ? next('user name', 'text') : undefined) ??
    (hasPassword ? next('password', 'bytes') : undefined) ??
    (at < bytes.length ? 'the packet goes on behind its last field' : undefined)
  );
}

/** Bytes with their length in two bytes before them. */
class Field {
  readonly end: number;
  readonly bytes: Buffer;
  readonly #isWhole: boolean;

  constructor(packet: Buffer, at: number) {
    const start = at + 2;
    this.end = start > packet.length ? start : start + packet.readUInt16BE(at);
    this.#isWhole = this.end <= packet.length;
    this.bytes = packet.subarray(start, this.end);
  }

  lengthFault(what: string): string | undefined {
    return this.#isWhole ? undefined : `the packet ends within the ${what}`;
  }

  /** Of a text: [MQTT-1.5.3-1], [MQTT-1.5.3-2]. */
  fault(what: string): string | undefined {
    if (!this.#isWhole) return this.lengthFault(what);
    if (!isUtf8(this.bytes)) return `the ${what} is no UTF-8`;
    return this.bytes.includes(0) ? `the ${what} holds U+0000` : undefined;
  }
}
