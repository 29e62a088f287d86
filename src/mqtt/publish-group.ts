// The usual publishes of one received chunk, which are stored, and acknowledged, together. Used by fast-path.ts.
import type { OriginalMessage } from '../domain/datapoints/feed.ts';
import type { Push } from '../domain/datapoints/ingest/push.ts';
import type { ClientSession } from './sessions.ts';

/** The usual messages of one received chunk. */
export class PublishGroup {
  readonly session: ClientSession;
  readonly bytes: Buffer;
  readonly pushes: Push[] = [];
  /** Packet ids of the messages with QoS 1, in order. */
  readonly packetIds: number[] = [];

  constructor(session: ClientSession, bytes: Buffer) {
    this.session = session;
    this.bytes = bytes;
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
