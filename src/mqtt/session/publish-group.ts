// The usual publishes of one received chunk, which are stored, and acknowledged, together. Used by usual-publishes.ts.
import type { OriginalMessage } from '../../domain/datapoints/feed.ts';
import type { Push } from '../../domain/datapoints/ingest/push.ts';
import { writeAcknowledgement } from '../protocol/answers.ts';
import type { AcknowledgementType } from '../protocol/packet-types.ts';
import type { ClientSession } from '../sessions.ts';

/** The usual messages of one received chunk. */
export class PublishGroup {
  readonly session: ClientSession;
  readonly bytes: Buffer;
  /** When it was received, in milliseconds since 1970 UTC. */
  readonly receivedMs: number;
  readonly pushes: Push[] = [];
  /** Packet ids of the messages with QoS 1, in order. */
  readonly packetIds: number[] = [];
  /** Those of the messages with QoS 2, which are few or all. */
  received: Set<number> | undefined;
  /** What its messages have in common, by QoS. */
  readonly #from: [BufferedFrom?, BufferedFrom?, BufferedFrom?] = [];

  constructor(session: ClientSession, bytes: Buffer, receivedMs: number) {
    this.session = session;
    this.bytes = bytes;
    this.receivedMs = receivedMs;
  }

  /** What its messages of a QoS have in common. */
  from(qos: 0 | 1 | 2): BufferedFrom {
    this.#from[qos] ??= { buffer: this.bytes, qos, publisherId: this.session.clientId };
    return this.#from[qos];
  }

  /** Notes a message with QoS 2. */
  receive(packetId: number): void {
    this.received ??= new Set();
    this.received.add(packetId);
  }

  /** Messages that ask for an answer. */
  get asking(): number {
    return this.packetIds.length + (this.received?.size ?? 0);
  }
}

/** What messages in one buffer have in common. */
export interface BufferedFrom {
  readonly buffer: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly publisherId: string;
}

/** A message within the received buffer. Few fields, because tens of thousands wait for their commit. */
export class BufferedMessage implements OriginalMessage {
  readonly #from: BufferedFrom;
  readonly #start: number;
  readonly #end: number;

  constructor(from: BufferedFrom, start: number, end: number) {
    this.#from = from;
    this.#start = start;
    this.#end = end;
  }

  get qos(): 0 | 1 | 2 {
    return this.#from.qos;
  }

  get retain(): boolean {
    return false;
  }

  get publisherId(): string {
    return this.#from.publisherId;
  }

  get payload(): Uint8Array {
    return this.#from.buffer.subarray(this.#start, this.#end);
  }

  get bytes(): number {
    return this.#end - this.#start;
  }
}

/** Consecutive PUBACK, PUBREC or PUBCOMP packets. */
export function acknowledgements(type: AcknowledgementType, packetIds: Iterable<number>, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count * 4);
  let at = 0;
  for (const id of packetIds) at = writeAcknowledgement(bytes, at, type, id);
  return bytes;
}
