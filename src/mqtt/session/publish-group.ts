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
  /** What its messages have in common. */
  readonly withQos0: { readonly qos: 0; readonly publisherId: string };
  readonly withQos1: { readonly qos: 1; readonly publisherId: string };
  readonly withQos2: { readonly qos: 2; readonly publisherId: string };

  constructor(session: ClientSession, bytes: Buffer, receivedMs: number) {
    this.session = session;
    this.bytes = bytes;
    this.receivedMs = receivedMs;
    this.withQos0 = { qos: 0, publisherId: session.clientId };
    this.withQos1 = { qos: 1, publisherId: session.clientId };
    this.withQos2 = { qos: 2, publisherId: session.clientId };
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

/** A message within the received buffer. */
export class BufferedMessage implements OriginalMessage {
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly qos: 0 | 1 | 2;
  readonly retain = false;
  readonly publisherId: string;

  constructor(
    buffer: Buffer,
    start: number,
    end: number,
    from: { readonly qos: 0 | 1 | 2; readonly publisherId: string },
  ) {
    this.#buffer = buffer;
    this.#start = start;
    this.#end = end;
    this.qos = from.qos;
    this.publisherId = from.publisherId;
  }

  get payload(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
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
