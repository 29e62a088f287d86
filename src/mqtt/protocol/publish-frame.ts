// Reads packets where they lie in the buffer they were received in, without copying: how long each is, all of a PUBLISH,
// and the packet id of an acknowledgement. It finds fields and judges none: packet-faults.ts does. Used by the session for
// everything it receives.
import { limits } from '../../config/limits.ts';
import { type ProtocolVersion, packetTypes, propertyIds } from './packet-types.ts';
import { forwardableProperties, noProperties, propertyEnd } from './properties.ts';
import { isPadded, variableIntegerAt, variableIntegerEnd } from './variable-integers.ts';

/** `whole`: the packet is complete; `partial`: it continues beyond the buffer; `broken`: its length is invalid. */
export type FrameState = 'whole' | 'partial' | 'broken';

/** Reads one packet after the other; the fields describe the last one. */
export class PublishFrame {
  bytes: Buffer = noProperties;
  start = 0;
  /** End of the packet. Of a partial one, its end once it is complete, or -1 while its length is incomplete. */
  end = 0;
  /** The first byte. */
  header = 0;
  /** Where the bytes behind the fixed header begin. */
  body = 0;
  /**
   * True for a PUBLISH whose lengths add up, and in version 5 are as short as they must be [MQTT-1.5.5-1]; only then the
   * fields of a PUBLISH below are valid.
   */
  isPublish = false;
  topicStart = 0;
  topicEnd = 0;
  /** Of a PUBLISH and of its acknowledgements; 0 with QoS 0. */
  packetId = 0;
  /** Of an acknowledgement; 0 where there is none. */
  reasonCode = 0;
  payloadStart = 0;
  /** The properties without their length; both the same where there are none. */
  propertiesStart = 0;
  propertiesEnd = 0;
  /** 0: none. */
  topicAlias = 0;
  /** Message Expiry Interval in seconds; -1: none. */
  expiryS = -1;
  /** Payload Format Indicator; -1: none. */
  payloadFormat = -1;
  /** Without its length; both the same where there is none. */
  responseTopicStart = 0;
  responseTopicEnd = 0;

  get type(): number {
    return this.header >> 4;
  }

  get qos(): number {
    return (this.header >> 1) & 3;
  }

  get isDup(): boolean {
    return (this.header & 8) !== 0;
  }

  get isRetain(): boolean {
    return (this.header & 1) !== 0;
  }

  /** Bytes behind the fixed header, once they are known. */
  get length(): number {
    return this.end - this.body;
  }

  /** Reads the packet that begins at this index. */
  look(bytes: Buffer, at: number, version: ProtocolVersion): FrameState {
    this.start = at;
    this.end = -1;
    this.isPublish = false;
    const header = bytes[at] as number;
    this.header = header;
    // Lengths of one and two bytes are the usual ones.
    const first = bytes[at + 1] as number;
    let body = at + 2;
    if (first < 0x80) this.end = body + first;
    else {
      body = variableIntegerEnd(bytes, at + 1, bytes.length);
      if (body < 0) return body === -1 ? 'partial' : 'broken';
      this.end = body + variableIntegerAt(bytes, at + 1, body);
    }
    this.body = body;
    if (this.end > bytes.length) return 'partial';
    this.bytes = bytes;
    const type = header >> 4;
    if (type === packetTypes.publish)
      this.isPublish = !(version === 5 && isPadded(bytes, at + 1, body)) && this.#readPublish(bytes, body, version);
    else if (type <= packetTypes.pubcomp && type >= packetTypes.puback) this.#readAcknowledgement(bytes, body);
    return 'whole';
  }

  /** The properties that receivers get as they were sent, as a copy. */
  forwardable(): Buffer {
    if (this.propertiesStart === this.propertiesEnd) return noProperties;
    return forwardableProperties(this.bytes, this.propertiesStart, this.propertiesEnd);
  }

  #readPublish(bytes: Buffer, at: number, version: ProtocolVersion): boolean {
    const { end } = this;
    const topicStart = at + 2;
    if (topicStart > end) return false;
    const topicEnd = topicStart + ((bytes[at] as number) << 8) + (bytes[at + 1] as number);
    this.topicStart = topicStart;
    this.topicEnd = topicEnd;
    const hasPacketId = (this.header & 6) !== 0;
    const next = hasPacketId ? topicEnd + 2 : topicEnd;
    if (next > end) return false;
    this.packetId = hasPacketId ? ((bytes[topicEnd] as number) << 8) + (bytes[topicEnd + 1] as number) : 0;
    this.topicAlias = 0;
    this.expiryS = -1;
    this.payloadFormat = -1;
    this.responseTopicStart = next;
    this.responseTopicEnd = next;
    if (version === 5) return this.#readProperties(bytes, next);
    this.propertiesStart = next;
    this.propertiesEnd = next;
    this.payloadStart = next;
    return true;
  }

  #readProperties(bytes: Buffer, at: number): boolean {
    const start = variableIntegerEnd(bytes, at, this.end);
    if (start < 0 || isPadded(bytes, at, start)) return false;
    const end = start + variableIntegerAt(bytes, at, start);
    if (end > this.end || end - start > limits.propertiesBytesMax) return false;
    this.propertiesStart = start;
    this.propertiesEnd = end;
    this.payloadStart = end;
    for (let next = start; next < end; ) {
      const property = next;
      next = propertyEnd(bytes, property, end);
      if (next < 0) return false;
      this.#noteProperty(bytes, property, next);
    }
    return true;
  }

  #noteProperty(bytes: Buffer, at: number, end: number): void {
    switch (bytes[at]) {
      case propertyIds.topicAlias:
        this.topicAlias = bytes.readUInt16BE(at + 1);
        break;
      case propertyIds.messageExpiryInterval:
        this.expiryS = bytes.readUInt32BE(at + 1);
        break;
      case propertyIds.payloadFormatIndicator:
        this.payloadFormat = bytes[at + 1] as number;
        break;
      case propertyIds.responseTopic:
        this.responseTopicStart = at + 3;
        this.responseTopicEnd = end;
        break;
    }
  }

  #readAcknowledgement(bytes: Buffer, at: number): void {
    const { end } = this;
    this.packetId = at + 2 <= end ? bytes.readUInt16BE(at) : 0;
    this.reasonCode = at + 2 < end ? (bytes[at + 2] as number) : 0;
  }
}
