// What the MQTT server has received and sent since the start, for $SYS topics. Each figure is counted once a chunk, a
// write or a packet, in places that run anyway. Bytes are read from the sockets when they are asked for.

import type { Duplex } from 'node:stream';
import type { MqttCounts } from '../mqtt-options.ts';

const publish = 3;
const qosBits = 0b0110;
/** CONNECT, PUBREC, PUBREL, SUBSCRIBE, UNSUBSCRIBE and PINGREQ, a bit each. */
const answeredKinds = (1 << 1) | (1 << 5) | (1 << 6) | (1 << 8) | (1 << 10) | (1 << 12);

/** A stream of a client. WebSocket streams have both counts too (websockets.ts). */
export interface CountedStream {
  readonly bytesRead?: number;
  readonly bytesWritten?: number;
}

export class BrokerCounts implements MqttCounts {
  connections = 0;
  slowCut = 0;
  encoded = 0;
  /** Connections accepted, whether or not they signed in. */
  sockets = 0;
  /** Whole packets received, of any kind; and answers that MQTT requires to them. */
  packetsIn = 0;
  answers = 0;
  publishesIn = 0;
  publishesOut = 0;
  #bytesInClosed = 0;
  #bytesOutClosed = 0;
  #bytesIn = 0;
  #bytesOut = 0;

  get packetsOut(): number {
    return this.answers + this.publishesOut;
  }

  /** As of the last `setOpen`, and of what has closed. Never less than before. */
  get bytesIn(): number {
    return this.#bytesIn;
  }

  get bytesOut(): number {
    return this.#bytesOut;
  }

  /** Counts a whole packet that the broker was handed, by its first byte, and the answer to it. */
  notePacket(header: number): void {
    this.packetsIn += 1;
    const kind = header >> 4;
    const isAnswered = kind === publish ? (header & qosBits) !== 0 : (answeredKinds & (1 << kind)) !== 0;
    if (isAnswered) this.answers += 1;
  }

  /** Counts publishes of a client. */
  received(session: { messagesIn: number }, count: number): void {
    session.messagesIn += count;
    this.publishesIn += count;
  }

  /** Counts a connection that was accepted, until it closes. */
  opened(stream: Duplex): void {
    this.sockets += 1;
    this.connections += 1;
    stream.once('close', () => {
      this.connections -= 1;
      const { bytesRead = 0, bytesWritten = 0 } = stream as CountedStream;
      this.#bytesInClosed += bytesRead;
      this.#bytesOutClosed += bytesWritten;
    });
  }

  /** Sets what open connections have received and sent. */
  setOpen({ bytesIn, bytesOut }: { readonly bytesIn: number; readonly bytesOut: number }): void {
    this.#bytesIn = Math.max(this.#bytesIn, this.#bytesInClosed + bytesIn);
    this.#bytesOut = Math.max(this.#bytesOut, this.#bytesOutClosed + bytesOut);
  }
}
