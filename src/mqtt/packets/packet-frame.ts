// Finds PUBLISH packets of MQTT 3.1.1 in a buffer without parsing them completely [MQTT 2.2, 3.3].

/** `whole`: the packet is complete; `partial`: it continues beyond the buffer; `broken`: its length is invalid. */
export type PacketFrameState = 'whole' | 'partial' | 'broken';

const publish = 3;

/** Reads one packet after the other; the fields describe the last one. */
export class PacketFrame {
  start = 0;
  /** End of the packet. Of a partial one, its end once it is complete, or -1 while its length is incomplete. */
  end = 0;
  /** The lower four bits of the first byte: of a PUBLISH, DUP, QoS and RETAIN. */
  flags = 0;
  /** True for a PUBLISH whose topic and packet id are complete; only then the fields below are valid. */
  isPublish = false;
  topicStart = 0;
  topicEnd = 0;
  /** 0 with QoS 0. */
  packetId = 0;
  payloadStart = 0;

  get qos(): number {
    return (this.flags >> 1) & 3;
  }

  /** Reads the packet that begins at this index. */
  look(bytes: Uint8Array, at: number): PacketFrameState {
    this.start = at;
    this.end = -1;
    this.isPublish = false;
    let length = 0;
    let next = at + 1;
    for (let shift = 0; ; shift += 7, next++) {
      if (shift > 21) return 'broken';
      if (next >= bytes.length) return 'partial';
      const byte = bytes[next] as number;
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    next += 1;
    this.end = next + length;
    const header = bytes[at] as number;
    this.flags = header & 0x0f;
    if (this.end > bytes.length) return 'partial';
    if (header >> 4 === publish) this.#readPublishHeader(bytes, next);
    return 'whole';
  }

  #readPublishHeader(bytes: Uint8Array, at: number): void {
    this.topicStart = at + 2;
    this.topicEnd = this.topicStart + (bytes[at] as number) * 256 + (bytes[at + 1] as number);
    const hasPacketId = this.qos > 0;
    this.payloadStart = this.topicEnd + (hasPacketId ? 2 : 0);
    this.isPublish = this.payloadStart <= this.end;
    if (!this.isPublish) return;
    this.packetId = hasPacketId ? (bytes[this.topicEnd] as number) * 256 + (bytes[this.topicEnd + 1] as number) : 0;
  }
}
