// Goes through the fields of one packet, and says what is wrong with each. One instance serves all packets, so that a good
// one costs no object. Used by packet-faults.ts and property-faults.ts.
import type { ProtocolVersion } from './packet-types.ts';
import { type ReasonCode, reasonCodes } from './reason-codes.ts';
import { scanText, textMarks } from './topic-faults.ts';
import { isPadded, variableIntegerAt, variableIntegerEnd } from './variable-integers.ts';

/** Why a packet closes its connection. */
export interface PacketFault {
  /** What a client of version 5 is told. */
  readonly reasonCode: ReasonCode;
  /** The statement that is broken, of the version that is spoken; a section where it has no number. */
  readonly clause: string;
  /** In words, for logs and people. */
  readonly detail: string;
}

export function malformed(clause: string, detail: string): PacketFault {
  return { reasonCode: reasonCodes.malformedPacket, clause, detail };
}

export function protocolError(clause: string, detail: string): PacketFault {
  return { reasonCode: reasonCodes.protocolError, clause, detail };
}

const noBytes = new Uint8Array(0);

export class PacketCursor {
  bytes: Uint8Array = noBytes;
  at = 0;
  end = 0;
  version: ProtocolVersion = 5;
  /** The field that was read last; of a number, its value. */
  fieldStart = 0;
  fieldEnd = 0;
  value = 0;
  /** Marks of the text that was read last, which has no fault (topic-faults.ts). */
  marks = 0;
  /** The properties that were read last, by number: those below 32, and the others. */
  seenLow = 0;
  seenHigh = 0;

  get isV5(): boolean {
    return this.version === 5;
  }

  get isAtEnd(): boolean {
    return this.at === this.end;
  }

  start(bytes: Uint8Array, at: number, end: number): void {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** Lets go of the bytes: what is kept of a packet ends with it. */
  release(): void {
    this.bytes = noBytes;
  }

  hasSeen(id: number): boolean {
    return (((id < 32 ? this.seenLow : this.seenHigh) >>> (id & 31)) & 1) === 1;
  }

  /** The number of a clause: that of version 5, or of 3.1.1, by which 3.1 is read too. */
  clause(ofVersion5: string, ofVersion4: string): string {
    return this.version === 5 ? ofVersion5 : ofVersion4;
  }

  /** Lengths that do not add up have no clause but the one on malformed packets. */
  endsWithin(what: string): PacketFault {
    return malformed(this.clause('MQTT-4.13.1-1', 'MQTT-4.8.0-1'), `the packet ends within the ${what}`);
  }

  byte(what: string): PacketFault | undefined {
    return this.#number(what, 1);
  }

  twoBytes(what: string): PacketFault | undefined {
    return this.#number(what, 2);
  }

  fourBytes(what: string): PacketFault | undefined {
    return this.#number(what, 4);
  }

  #number(what: string, length: 1 | 2 | 4): PacketFault | undefined {
    if (this.at + length > this.end) return this.endsWithin(what);
    let value = 0;
    for (let n = 0; n < length; n++) value = value * 256 + (this.bytes[this.at + n] as number);
    this.at += length;
    this.value = value;
    return undefined;
  }

  variable(what: string): PacketFault | undefined {
    const { bytes, at, end } = this;
    const next = variableIntegerEnd(bytes, at, end);
    if (next === -1) return this.endsWithin(what);
    if (next === -2) return malformed('1.5.5', `the ${what} has more than four bytes`);
    if (isPadded(bytes, at, next)) return malformed('MQTT-1.5.5-1', `the ${what} has more bytes than it takes`);
    this.value = variableIntegerAt(bytes, at, next);
    this.at = next;
    return undefined;
  }

  binary(what: string): PacketFault | undefined {
    const { bytes, at } = this;
    if (at + 2 > this.end) return this.endsWithin(what);
    this.fieldStart = at + 2;
    this.fieldEnd = at + 2 + (bytes[at] as number) * 256 + (bytes[at + 1] as number);
    if (this.fieldEnd > this.end) return this.endsWithin(what);
    this.at = this.fieldEnd;
    return undefined;
  }

  text(what: string): PacketFault | undefined {
    const fault = this.binary(what);
    if (fault !== undefined) return fault;
    this.marks = scanText(this.bytes, this.fieldStart, this.fieldEnd);
    return (this.marks & ~textMarks.wildcard) === 0 ? undefined : this.#textFault(what);
  }

  #textFault(what: string): PacketFault {
    return (this.marks & textMarks.illFormed) !== 0
      ? malformed(this.clause('MQTT-1.5.4-1', 'MQTT-1.5.3-1'), `the ${what} is not UTF-8`)
      : malformed(this.clause('MQTT-1.5.4-2', 'MQTT-1.5.3-2'), `the ${what} has U+0000`);
  }

  /** A name that may be published to; an empty one is for the caller to judge. */
  topicName(what: string, wildcardClause: string): PacketFault | undefined {
    const fault = this.text(what);
    if (fault !== undefined) return fault;
    return this.marks === 0 ? undefined : malformed(wildcardClause, `the ${what} has a wildcard`);
  }

  /** [MQTT-2.2.1-3]; of 3.1.1 [MQTT-2.3.1-1]. */
  packetId(): PacketFault | undefined {
    const fault = this.twoBytes('packet id');
    if (fault !== undefined) return fault;
    return this.value === 0 ? protocolError(this.clause('MQTT-2.2.1-3', 'MQTT-2.3.1-1'), 'the packet id is 0') : fault;
  }
}
