// The connection of an MQTT client: its socket, what CONNECT said, and whether more may be read from it. Knows nothing of
// packets: packet-reader.ts takes the bytes, and whoever handles a packet says when it is done. Nothing is made for an idle
// connection that it does not need; what only some have (`partial`, waiters for the socket, version 5) is made late.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { limits } from '../../config/limits.ts';
import type { ProtocolVersion } from '../protocol/packet-types.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import { ClientFault } from './client-fault.ts';
import type { PartialPacket } from './partial-packet.ts';
import type { Version5 } from './version5.ts';
import type { Will } from './will.ts';

/** Called when the socket has taken what was written, or with an error when it never will. */
export type Drained = (error?: Error) => void;

/** What is the same for all connections. */
export interface ClientOwner {
  /** Takes all bytes that were received; it may put some back (`hold`, `putBack`). */
  take(client: Client, bytes: Buffer): void;
  /** The socket is full. */
  onFull(client: Client): void;
  /**
   * The connection is given up because of a fault of the client, of the network or of the service. Called before `onClosed`.
   * @returns what the client is told, where its version has words for it.
   */
  onFault(client: Client, error: Error): Uint8Array | undefined;
  /** The connection has been given up; called once. */
  onClosed(client: Client): void;
}

/** CONNECT has not come, it is being answered, or CONNACK has been sent. */
type Phase = 'new' | 'connecting' | 'accepted';

export class Client {
  readonly conn: Duplex;
  /** The request that became a WebSocket. */
  readonly req: IncomingMessage | undefined;
  readonly #owner: ClientOwner;
  /** Empty until CONNECT says it. */
  id = '';
  version: ProtocolVersion = 4;
  /** Whether nothing of its session is kept when it goes. */
  clean = true;
  /** Whether nothing that was kept before is taken up. */
  isFresh = true;
  /** Set for version 5 alone. */
  v5: Version5 | undefined;
  phase: Phase = 'new';
  /** Once true, nothing is read from it or written to it. */
  closed = false;
  /** The sign-in was accepted: the connection may be known by its id. */
  isSignedIn = false;
  /** Published when the connection ends without DISCONNECT [MQTT-3.1.2-8]. */
  will: Will | undefined;
  /** Which CONNECT it was, of all. */
  connectNumber = 0;
  /** Milliseconds of silence after which it is cut; 0: never. And when it was heard last, by the monotonic clock. */
  silenceMsMax = 0;
  heardMs = 0;
  /** Its place in the wheel of silence.ts. */
  silenceSlot = -1;
  /** The packet that has begun. */
  partial: PartialPacket | undefined;
  /** Usual publishes that are taken together: fewer after there was no room for more. */
  groupMax = Number.POSITIVE_INFINITY;
  /** Whether it waited for room, and nothing of it was taken since. */
  wasResumed = false;
  /** Whether its first publish found room and waits for its turn of the event loop: it does not wait for room again. */
  hadCapacity = false;
  #holds = 0;
  #packets = 0;
  #groups = 0;
  #isReading = false;
  #nextId = 1 + Math.floor(Math.random() * 65_535);
  #whenDone: (() => void)[] | undefined;
  #whenAccepted: (() => void) | undefined;
  #drains: Drained[] | undefined;
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(conn: Duplex, owner: ClientOwner, req?: IncomingMessage) {
    this.conn = conn;
    this.#owner = owner;
    this.req = req;
    // Parts listen for its end as long as they need it: as many as it has packets under way.
    conn.setMaxListeners(0);
    conn.on('readable', () => this.#onReadable());
    conn.on('error', (error) => this.fail(error));
    const close = () => this.close();
    conn.on('end', close);
    conn.on('close', close);
  }

  /** True from CONNACK on. */
  get connackSent(): boolean {
    return this.phase === 'accepted';
  }

  /** Packets of it that are being handled, without usual publishes. */
  get packetsUnderWay(): number {
    return this.#packets;
  }

  /** Whether any part has paused reading. */
  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Whether its silence may be the server's doing: not all that it has sent was read and handled. */
  get isWaitedFor(): boolean {
    return this.#holds > 0 || this.#packets > 0 || this.#groups > 0;
  }

  /** Packet ids go round, without 0 [MQTT-2.3.1-1]. */
  takeId(): number {
    let id = this.#nextId;
    // Of version 5 it is known which are in use; there are fewer than ids.
    while (this.v5?.window.has(id) === true) id = id >= 65_535 ? 1 : id + 1;
    this.#nextId = id >= 65_535 ? 1 : id + 1;
    return id;
  }

  /**
   * A message is sent again under this id, and those that were not sent before get ids behind it: what a client has not
   * acknowledged has ids that follow one another, so that none is given again while it is in use [MQTT-2.3.1-2].
   */
  noteId(id: number): void {
    this.#nextId = id >= 65_535 ? 1 : id + 1;
  }

  // --- Reading ------------------------------------------------------------------------------------------------

  /** Pauses reading until `readOn` has been called as often. */
  hold(): void {
    this.#holds += 1;
  }

  /** Puts bytes back, to be read again. The caller has paused reading. */
  putBack(bytes: Buffer): void {
    this.conn.unshift(bytes);
  }

  /** Ends one pause. */
  readOn(): void {
    this.#holds -= 1;
    if (this.#holds > 0 || this.closed) return;
    this.heardMs = performance.now();
    this.#read();
  }

  /** CONNACK has been sent. */
  accept(): void {
    this.phase = 'accepted';
    const then = this.#whenAccepted;
    this.#whenAccepted = undefined;
    then?.();
  }

  /** Calls `done` when CONNECT is answered; never where it is refused. One caller, which must have paused reading. */
  onceAccepted(done: () => void): void {
    this.#whenAccepted = done;
  }

  /** Calls `done` when all packets under way are done. The caller must have paused reading. */
  onceDone(done: () => void): void {
    if (this.#packets === 0) done();
    else if (this.#whenDone === undefined) this.#whenDone = [done];
    else this.#whenDone.push(done);
  }

  /** A packet is being handled; nothing more is read until it is done. A failure cuts the client. */
  handling(work: Promise<unknown>): void {
    this.#packets += 1;
    work.then(
      () => this.#packetDone(),
      (error: unknown) => {
        this.fail(error as Error);
        this.#packetDone();
      },
    );
  }

  /** A group of usual publishes is being stored; nothing more is read until `groupDone`. */
  groupBegun(): void {
    this.#groups += 1;
  }

  groupDone(): void {
    this.#groups -= 1;
    this.#onReadable();
  }

  #packetDone(): void {
    this.#packets -= 1;
    if (this.#packets > 0) return;
    this.#onReadable();
    const waiting = this.#whenDone;
    this.#whenDone = undefined;
    if (waiting !== undefined) for (const done of waiting) done();
  }

  #onReadable(): void {
    if (!this.isWaitedFor && !this.closed) this.#read();
  }

  /** Not entered again while it runs: a packet may be done, or reading go on, within it. */
  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      let bytes = this.conn.read() as Buffer | null;
      while (bytes !== null) {
        this.#owner.take(this, bytes);
        if (this.isWaitedFor || this.closed) break;
        bytes = this.conn.read() as Buffer | null;
      }
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * Counts publishes that ask for an answer; a client of version 5 that sends more of them than it was told it may is cut
   * [MQTT-3.3.4-9]. @returns whether they may be taken.
   */
  mayAsk(count: number): boolean {
    if (this.v5 === undefined) return true;
    this.v5.unanswered += count;
    if (this.v5.unanswered <= limits.inflightMax) return true;
    this.fail(new ClientFault(reasonCodes.receiveMaximumExceeded, 'more was sent than may be unacknowledged'));
    return false;
  }

  /** Publishes that asked for an answer have got it, to its end. */
  answered(count: number): void {
    if (this.v5 !== undefined) this.v5.unanswered -= count;
  }

  // --- Writing ------------------------------------------------------------------------------------------------

  /** Writes a packet; resolves when more may be written. Undefined: at once. */
  send(bytes: Uint8Array): Promise<void> | undefined {
    if (this.closed || this.conn.destroyed || this.conn.writableEnded || this.conn.write(bytes)) return undefined;
    return this.drained();
  }

  /** Resolves when the socket has taken what was written, or the connection has closed. */
  drained(): Promise<void> {
    return new Promise((resolve) => this.waitForDrain(() => resolve()));
  }

  /** Calls `done` when the socket has taken what was written; cuts a client that takes too long. */
  waitForDrain(done: Drained): void {
    if (this.closed) {
      setImmediate(done, closedError);
      return;
    }
    if (this.#drains === undefined) {
      this.#drains = [];
      this.conn.once('drain', this.#onDrain);
      this.#drainTimer = setTimeout(() => this.conn.destroy(), limits.subscriberStallMs).unref();
    }
    this.#drains.push(done);
    this.#owner.onFull(this);
  }

  readonly #onDrain = () => this.#endDrains();

  #endDrains(error?: Error): void {
    clearTimeout(this.#drainTimer);
    this.#drainTimer = undefined;
    const drains = this.#drains ?? [];
    this.#drains = undefined;
    for (const done of drains) setImmediate(done, error);
  }

  // --- The end ------------------------------------------------------------------------------------------------

  /** Gives the connection up because of a fault. */
  fail(error: Error): void {
    if (this.closed) return;
    const words = this.#owner.onFault(this, error);
    if (words === undefined) this.close();
    else this.closeWith(words);
  }

  /** Ends the connection at once; what was written is sent as far as the socket takes it now. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.partial?.end();
    this.partial = undefined;
    if (this.#drains !== undefined) {
      this.conn.removeListener('drain', this.#onDrain);
      this.#endDrains(closedError);
    }
    this.#owner.onClosed(this);
    if (!this.conn.writableEnded) this.conn.destroy();
  }

  /** Sends a last packet, and ends the connection when the socket has taken it. */
  closeWith(bytes: Uint8Array): void {
    if (this.closed) return;
    if (this.conn.destroyed || this.conn.writableNeedDrain) this.close();
    else {
      const { conn } = this;
      conn.end(bytes, () => conn.destroy());
      setTimeout(() => conn.destroy(), limits.lastWordsMsMax).unref();
      this.close();
    }
  }
}

const closedError = new Error('The connection has closed.');
