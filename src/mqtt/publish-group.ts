// The usual publishes of one received chunk, which are stored, and acknowledged, together. Used by fast-path.ts.
import type { OriginalMessage } from '../domain/datapoints/feed.ts';
import type { Push } from '../domain/datapoints/ingest/push.ts';
import { PacketFrame } from './packets/packet-frame.ts';
import type { Published } from './publishing.ts';
import type { ClientSession } from './sessions.ts';

/** The usual messages of one received chunk. */
export class PublishGroup {
  readonly session: ClientSession;
  readonly bytes: Buffer;
  readonly pushes: Push[] = [];
  /** Packet ids of the messages with QoS 1, in order. */
  readonly packetIds: number[] = [];
  /** The offset of each packet. */
  readonly starts: number[] = [];

  constructor(session: ClientSession, bytes: Buffer) {
    this.session = session;
    this.bytes = bytes;
  }

  /** Some messages, in the form in which the broker hands them over. */
  published(from: number, to: number): Published[] {
    const frame = new PacketFrame();
    return this.starts.slice(from, to).map((start) => {
      frame.look(this.bytes, start);
      return {
        topic: this.bytes.toString('utf8', frame.topicStart, frame.topicEnd),
        payload: this.bytes.subarray(frame.payloadStart, frame.end),
        qos: frame.qos as 0 | 1,
        retain: false,
        dup: false,
        ...(frame.qos === 0 ? {} : { messageId: frame.packetId }),
      };
    });
  }
}

/** A message within the received buffer. */
export class BufferedMessage implements OriginalMessage {
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly qos: 0 | 1;
  readonly retain = false;

  constructor(buffer: Buffer, start: number, end: number, qos: 0 | 1) {
    this.#buffer = buffer;
    this.#start = start;
    this.#end = end;
    this.qos = qos;
  }

  get payload(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  get bytes(): number {
    return this.#end - this.#start;
  }
}

/** Consecutive PUBACK packets. */
export function acknowledgements(packetIds: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(packetIds.length * 4);
  let at = 0;
  for (const id of packetIds) {
    bytes[at] = 0x40;
    bytes[at + 1] = 2;
    bytes[at + 2] = id >> 8;
    bytes[at + 3] = id & 0xff;
    at += 4;
  }
  return bytes;
}
