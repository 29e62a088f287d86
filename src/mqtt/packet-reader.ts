// Splits what a client sends into packets, and gives each to the fast path or to the broker: CONNECT before anything else,
// usual publishes in groups, all other packets one by one, each when it is the caller's turn. Used by fast-path.ts.
import type { Client } from 'aedes';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import { loopTurns } from '../domain/callers/loop-turns.ts';
import { PacketFrame } from './packets/packet-frame.ts';
import {
  holdReading,
  isReadingHeld,
  onceAccepted,
  onceDone,
  packetsUnderWay,
  readOn,
  watchReading,
} from './packets/reading.ts';

/** Fields of aedes's connection that its types do not declare. */
interface AedesConnection {
  readonly closed: boolean;
  /** True from CONNACK on. */
  readonly connackSent: boolean;
  readonly conn: { unshift(bytes: Uint8Array): void };
  readonly _parser: Parser;
}

interface Parser {
  readonly _list: { readonly length: number };
  readonly _stateCounter: number;
  readonly packet: { readonly length: number };
  parse(bytes: Buffer): number;
  emit(event: 'error', error: Error): boolean;
}

/** State of the parser: the length of a packet is known, and its bytes are being gathered. */
const ofPayload = 2;

/** The first byte of a CONNECT packet. */
const connectHeader = 0x10;

/** What takes usual publishes; `G`: those of one received chunk. */
export interface PacketReaderParts<G> {
  /** Returns whose packets these are: the session's, before the sign-in the address. */
  readonly callerOf: (client: Client) => Caller;
  /** Begins a group; undefined where the sign-in has ended. */
  readonly groupOf: (client: Client, bytes: Buffer) => G | undefined;
  /** Adds a packet to the group; false when it is no usual publish. */
  readonly add: (group: G, frame: PacketFrame) => boolean;
  /** Whether a group of the client waits: then nothing behind it is taken. */
  readonly isWaiting: (client: Client) => boolean;
  /** Takes a group, which may be empty. */
  readonly submit: (client: Client, group: G) => void;
}

/** A client's connection, and the broker's own way of reading from it. */
interface Source {
  readonly client: Client;
  readonly connection: AedesConnection;
  readonly toBroker: (bytes: Buffer) => void;
  /** Whether the broker has the CONNECT. */
  isConnecting: boolean;
  /** The beginning of an incomplete packet. */
  rest: Buffer | undefined;
}

export class PacketReader<G> {
  readonly #parts: PacketReaderParts<G>;
  readonly #sources = new WeakMap<Client, Source>();

  constructor(parts: PacketReaderParts<G>) {
    this.#parts = parts;
  }

  /** Whether part of a packet has arrived from the client. */
  hasBegun(client: Client): boolean {
    const source = this.#sources.get(client);
    if (source === undefined || isReadingHeld(client)) return false;
    return source.rest !== undefined || !isBetweenPackets(source.connection);
  }

  /** Reads from a client from now on. */
  attach(client: Client): void {
    const connection = client as unknown as AedesConnection;
    const parser = connection._parser;
    const toBroker = parser.parse.bind(parser);
    watchReading(client);
    const source: Source = { client, connection, toBroker, isConnecting: false, rest: undefined };
    this.#sources.set(client, source);
    // Must not run within itself, although the broker reads on as soon as it has finished a packet, which may be within
    // this chunk. Each read takes all bytes received; more arrive only in a later turn of the event loop.
    parser.parse = (chunk) => {
      const bytes = source.rest === undefined ? chunk : Buffer.concat([source.rest, chunk]);
      source.rest = undefined;
      this.#read(source, bytes);
      return 0;
    };
  }

  /** Handles received bytes. What a closed client sent is dropped. */
  #read(source: Source, bytes: Buffer): void {
    const { connection } = source;
    if (connection.closed) return;
    const behind = isBetweenPackets(connection) ? bytes : this.#goOn(source, bytes);
    if (behind === undefined || connection.closed) return;
    if (connection.connackSent) this.#takeAll(source, behind);
    else if (source.isConnecting) this.#holdEarly(source, behind);
    else this.#takeConnect(source, behind);
  }

  /**
   * Passes on the rest of a packet that the broker is gathering.
   * @returns the bytes behind that.
   */
  #goOn(source: Source, bytes: Buffer): Buffer | undefined {
    const { _parser, connackSent } = source.connection;
    const owed = _parser.packet.length - _parser._list.length;
    if (_parser._stateCounter !== ofPayload || owed > bytes.length) {
      source.toBroker(bytes);
      return undefined;
    }
    if (!connackSent) source.isConnecting = true;
    if (!this.#handOver(source, bytes, owed)) return undefined;
    return owed === bytes.length ? undefined : bytes.subarray(owed);
  }

  #takeConnect(source: Source, bytes: Buffer): void {
    const frame = new PacketFrame();
    const state = frame.look(bytes, 0);
    // A few bytes, before their length is known.
    if (state === 'partial' && frame.end < 0 && bytes[0] === connectHeader) source.rest = Buffer.from(bytes);
    else if (state !== 'whole') source.toBroker(bytes);
    else if (this.#handOver(source, bytes, frame.end)) {
      source.isConnecting = true;
      if (frame.end < bytes.length && !source.connection.closed) this.#holdEarly(source, bytes.subarray(frame.end));
    }
  }

  /** Packets behind CONNECT wait in the socket until it is answered; few may (I4). */
  #holdEarly({ client, connection }: Source, bytes: Buffer): void {
    if (isTooEarly(bytes)) {
      connection._parser.emit('error', new Error('more was sent than may come before CONNACK'));
      return;
    }
    holdReading(client);
    connection.conn.unshift(bytes);
    onceAccepted(client, () => loopTurns.wait(this.#parts.callerOf(client), () => readOn(client)));
  }

  /** Handles packets behind CONNACK. */
  #takeAll(source: Source, bytes: Buffer): void {
    const { client, connection } = source;
    let group = this.#parts.groupOf(client, bytes);
    const frame = new PacketFrame();
    // A sign-in that has ended takes its connection with it.
    for (let at = 0; at < bytes.length && group !== undefined; at = frame.end) {
      const state = frame.look(bytes, at);
      if (state !== 'whole') {
        this.#parts.submit(client, group);
        const isSmall = state === 'partial' && frame.end - at <= limits.fastPathPacketBytesMax;
        // A copy, so that a few bytes do not keep the whole buffer.
        if (isSmall) source.rest = Buffer.from(bytes.subarray(at));
        else source.toBroker(bytes.subarray(at));
        return;
      }
      if (this.#parts.add(group, frame)) continue;
      this.#parts.submit(client, group);
      if (!this.#handOver(source, bytes.subarray(at), frame.end - at) || connection.closed) return;
      group = this.#parts.groupOf(client, bytes);
    }
    if (group !== undefined) this.#parts.submit(client, group);
  }

  /**
   * Has the broker take the first packet of these bytes, and counts the time for the caller. Where there is no time left
   * in this turn, the broker has many packets of this connection, or usual publishes before it wait for room, all of them
   * are put back to be read again when it is the caller's turn: after the packets that the broker has, so that no usual
   * publish overtakes them (I3). Usual publishes wait for no turn: they cost little more than their bytes, and share the
   * ingest queue.
   * @returns whether it was taken.
   */
  #handOver({ client, connection, toBroker }: Source, bytes: Buffer, end: number): boolean {
    const hasRoom = packetsUnderWay(client) < limits.packetsUnderWayMax && !this.#parts.isWaiting(client);
    if (loopTurns.isOpen && hasRoom) {
      loopTurns.do(this.#parts.callerOf(client), () => toBroker(bytes.subarray(0, end)));
      return true;
    }
    holdReading(client);
    connection.conn.unshift(bytes);
    onceDone(client, () => loopTurns.wait(this.#parts.callerOf(client), () => readOn(client)));
    return false;
  }
}

function isBetweenPackets({ _parser }: AedesConnection): boolean {
  return _parser._stateCounter === 0 && _parser._list.length === 0;
}

/** Whether more packets, or more bytes, have come behind CONNECT than may wait for its answer. */
function isTooEarly(bytes: Buffer): boolean {
  if (bytes.length > limits.earlyBytesMax) return true;
  const frame = new PacketFrame();
  let packets = 0;
  for (let at = 0; at < bytes.length && frame.look(bytes, at) === 'whole'; at = frame.end) packets += 1;
  return packets > limits.earlyPacketsMax;
}
