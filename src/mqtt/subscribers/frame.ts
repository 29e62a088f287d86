// The bytes of a message to subscribers [MQTT-3.3], encoded once in each form, however many subscribers get it: one form
// for QoS 0, and one for each QoS with a packet id, which alone differs between subscribers. Used by forwarding.ts;
// joined-writes.ts puts the packet ids in.

/** A PUBLISH packet as bytes. Shared among subscribers, and so never changed. */
export interface Frame {
  readonly bytes: Buffer;
  /** Where the two bytes of the packet id are; -1 with QoS 0, which has none. */
  readonly idAt: number;
}

/** Counts, for the metrics, how often a message was encoded. */
export interface EncodingCount {
  encoded: number;
}

/** A message with the forms in which it was asked for. */
export class Frames {
  readonly #topic: string;
  readonly #payload: Uint8Array;
  readonly #retain: boolean;
  readonly #count: EncodingCount;
  /** By QoS. */
  readonly #frames: (Frame | undefined)[] = [undefined, undefined, undefined];

  /** @param options.retain sets RETAIN: the message was there before its receiver subscribed. */
  constructor(
    message: { readonly topic: string; readonly payload: string | Buffer },
    count: EncodingCount,
    { retain = false }: { readonly retain?: boolean } = {},
  ) {
    this.#retain = retain;
    this.#topic = message.topic;
    this.#payload = typeof message.payload === 'string' ? Buffer.from(message.payload) : message.payload;
    this.#count = count;
  }

  /** The message as it goes out in this QoS; mostly without RETAIN, because those who get it have subscribed before. */
  of(qos: 0 | 1 | 2): Frame {
    const known = this.#frames[qos];
    if (known !== undefined) return known;
    const frame = encode(this.#topic, this.#payload, (qos << 1) | (this.#retain ? 1 : 0));
    this.#frames[qos] = frame;
    this.#count.encoded += 1;
    return frame;
  }
}

/** @param flags of the first byte: QoS and RETAIN. */
function encode(topic: string, payload: Uint8Array, flags: number): Frame {
  const qos = flags >> 1;
  const topicBytes = Buffer.byteLength(topic);
  const idBytes = qos > 0 ? 2 : 0;
  const length = 2 + topicBytes + idBytes + payload.length;
  const lengthBytes = lengthBytesOf(length);
  const bytes = Buffer.allocUnsafe(1 + lengthBytes + length);
  bytes[0] = 0x30 | flags;
  let at = 1;
  for (let rest = length; at <= lengthBytes; at += 1, rest >>>= 7)
    bytes[at] = at < lengthBytes ? (rest & 0x7f) | 0x80 : rest;
  bytes.writeUInt16BE(topicBytes, at);
  bytes.write(topic, at + 2);
  at += 2 + topicBytes;
  bytes.set(payload, at + idBytes);
  return { bytes, idAt: qos > 0 ? at : -1 };
}

/** How many bytes the remaining length takes [MQTT-2.2.3]. */
function lengthBytesOf(length: number): number {
  if (length < 0x80) return 1;
  if (length < 0x4000) return 2;
  return length < 0x20_0000 ? 3 : 4;
}
