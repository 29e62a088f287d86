// Splits what a client sends into packets, and gives each to the fast path or to the broker: CONNECT before anything else,
// usual publishes in groups, all other packets one by one, each when it is the caller's turn. Used by fast-path.ts.
import type { Client } from 'aedes';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import { loopTurns } from '../domain/callers/loop-turns.ts';
import { PacketFrame } from './packets/packet-frame.ts';
import { PublishTurns } from './packets/publish-turns.ts';
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

/** The part that takes usual publishes; `G` is a group of those from one received chunk. */
export interface PacketReaderParts<G> {
  /** The caller whose packets these are: that of the session, before the sign-in that of the address. */
  readonly callerOf: (client: Client) => Caller;
  /** Begins a group; undefined where the sign-in has ended. */
  readonly groupOf: (client: Client, bytes: Buffer) => G | undefined;
  /** Adds a packet to the group; false when it is no usual publish. */
  readonly add: (group: G, frame: PacketFrame) => boolean;
  /** Whether usual publishes of the client may find room in the ingest queue. Asked before any object is made of them. */
  readonly mayHaveCapacity: (client: Client) => boolean;
  /**
   * Calls `resume` when they may. `wasResumed`: the client was resumed and nothing of it found room.
   */
  readonly onceCapacity: (
    client: Client,
    waiting: { readonly wasResumed: boolean; readonly resume: () => void },
  ) => void;
  readonly counts: { packetsIn: number; notePacket(header: number): void };
  /** Takes a group. `busy`: there is no room for it, and nothing of it was taken. */
  readonly submit: (client: Client, group: G) => 'busy' | undefined;
}

/** A client's connection, and the broker's own way of reading from it. */
interface Source {
  readonly client: Client;
  readonly connection: AedesConnection;
  readonly toBroker: (bytes: Buffer) => void;
  /** Whether the broker has the CONNECT. */
  isConnecting: boolean;
  /** The first byte of the packet that the broker is handed or is gathering. */
  header: number;
  /** The beginning of an incomplete packet. */
  rest: Buffer | undefined;
  /** Usual publishes that are taken together: fewer after there was no room for more. */
  groupMax: number;
  /** Whether it waited for room, and nothing of it was taken since. */
  wasResumed: boolean;
  /** Whether its first publish found room and waits for its turn of the event loop: it does not wait for room again. */
  hadCapacity: boolean;
}

export class PacketReader<G extends { readonly pushes: readonly unknown[] }> {
  readonly #parts: PacketReaderParts<G>;
  readonly #sources = new WeakMap<Client, Source>();
  readonly #frame = new PacketFrame();
  readonly #publishTurns = new PublishTurns();

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
    const source: Source = {
      client,
      connection,
      toBroker,
      isConnecting: false,
      header: 0,
      rest: undefined,
      groupMax: Number.POSITIVE_INFINITY,
      wasResumed: false,
      hadCapacity: false,
    };
    this.#sources.set(client, source);
    // This must not be entered again while it runs. The broker does read on as soon as it has finished a packet, but
    // finds nothing then: each read takes all bytes received, and more arrive only in a later turn of the event loop.
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
    source.header = bytes[0] as number;
    // So few bytes have arrived that the packet's length is not known yet.
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
    onceAccepted(client, () => loopTurns.wait(this.#parts.callerOf(client).signIns, () => readOn(client)));
  }

  /** Handles packets behind CONNACK. */
  #takeAll(source: Source, bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const end = this.#takeNext(source, bytes, at);
      if (end === undefined) return;
      at = end;
    }
    source.groupMax = Number.POSITIVE_INFINITY;
  }

  /**
   * Takes the usual publishes that begin at `at`, or one other packet.
   * @returns where they end; undefined when nothing more can be taken of these bytes, which are then put back or kept.
   */
  #takeNext(source: Source, bytes: Buffer, at: number): number | undefined {
    const { client, connection } = source;
    // A sign-in that has ended takes its connection with it.
    const group = this.#parts.groupOf(client, bytes);
    if (group === undefined) return undefined;
    if (!this.#publishTurns.isOpen) {
      this.#waitForTurn(source, bytes.subarray(at));
      return undefined;
    }
    const end = this.#publishTurns.do(() => this.#takeUsual(source, { group, bytes, from: at }));
    if (end === 'busy') {
      this.#waitForCapacity(source, bytes.subarray(at));
      return undefined;
    }
    if (end > at) {
      this.#parts.counts.packetsIn += group.pushes.length;
      return end;
    }
    const frame = this.#frame;
    const state = frame.look(bytes, at);
    source.header = bytes[at] as number;
    if (state !== 'whole') {
      source.groupMax = Number.POSITIVE_INFINITY;
      this.#keepPartial(source, bytes.subarray(at), state === 'partial' ? frame.end - at : 0);
      return undefined;
    }
    const packetEnd = frame.end;
    const { isPublish } = frame;
    if (isPublish && !source.hadCapacity && !this.#parts.mayHaveCapacity(client)) {
      this.#waitForCapacity(source, bytes.subarray(at));
      return undefined;
    }
    const isTaken = this.#handOver(source, bytes.subarray(at), packetEnd - at);
    if (isPublish) {
      source.hadCapacity = !isTaken;
      if (isTaken) source.wasResumed = false;
    }
    return isTaken && !connection.closed ? packetEnd : undefined;
  }

  /** Takes the usual publishes that begin at `from`. @returns where they end, or that there is no room for them. */
  #takeUsual(
    source: Source,
    from: { readonly group: G; readonly bytes: Buffer; readonly from: number },
  ): number | 'busy' {
    const end = this.#fill(source, from);
    return end > from.from && this.#submit(source, from.group) === 'busy' ? 'busy' : end;
  }

  /**
   * Adds usual publishes to a group, from `at` on, while there may be room for them.
   * @returns where the last of them ends.
   */
  #fill(
    { client, groupMax }: Source,
    { group, bytes, from }: { readonly group: G; readonly bytes: Buffer; readonly from: number },
  ): number {
    if (!this.#parts.mayHaveCapacity(client)) return from;
    const frame = this.#frame;
    let at = from;
    for (let taken = 0; taken < groupMax && at < bytes.length; taken += 1) {
      if (frame.look(bytes, at) !== 'whole' || !this.#parts.add(group, frame)) break;
      at = frame.end;
    }
    return at;
  }

  #submit(source: Source, group: G): 'busy' | undefined {
    const outcome = this.#parts.submit(source.client, group);
    // There may be room for fewer.
    if (outcome === 'busy') source.groupMax = Math.ceil(group.pushes.length / 2);
    else source.wasResumed = false;
    return outcome;
  }

  /** @param length of the packet once it is complete, negative while that is unknown; 0 of a broken one. */
  #keepPartial(source: Source, bytes: Buffer, length: number): void {
    // A copy, so that a few bytes do not keep the whole buffer.
    if (length !== 0 && length <= limits.fastPathPacketBytesMax) source.rest = Buffer.from(bytes);
    else source.toBroker(bytes);
  }

  /**
   * There is no room for the first publish of these bytes: all of them go back into the socket, and no more is read from
   * it until there may be, so that what waits costs its bytes alone (I4). Packets that the broker has go first: they may
   * wait for room too, and must not be overtaken (I3).
   */
  #waitForCapacity(source: Source, bytes: Buffer): void {
    const { client, connection, wasResumed } = source;
    holdReading(client);
    connection.conn.unshift(bytes);
    source.wasResumed = true;
    const resume = () => readOn(client);
    onceDone(client, () => this.#parts.onceCapacity(client, { wasResumed, resume }));
  }

  /** Usual publishes have had their time in this turn: these bytes go back into the socket until a later one. */
  #waitForTurn({ client, connection }: Source, bytes: Buffer): void {
    holdReading(client);
    connection.conn.unshift(bytes);
    const caller = this.#parts.callerOf(client);
    onceDone(client, () => this.#publishTurns.wait(caller, () => readOn(client)));
  }

  /**
   * Has the broker take the first packet of these bytes, and counts the time for the caller. Where there is no time left
   * in this turn, or the broker has many packets of this connection, all of them are put back to be read again when it
   * is the caller's turn: after the packets that the broker has, so that no usual publish overtakes them (I3). Usual
   * publishes have turns of their own (publish-turns.ts), because they cost little more than their bytes.
   * @returns whether it was taken.
   */
  #handOver({ client, connection, toBroker, header }: Source, bytes: Buffer, end: number): boolean {
    const hasRoom = packetsUnderWay(client) < limits.packetsUnderWayMax;
    if (loopTurns.isOpen && hasRoom) {
      this.#parts.counts.notePacket(header);
      loopTurns.do(this.#parts.callerOf(client), () => toBroker(bytes.subarray(0, end)));
      return true;
    }
    holdReading(client);
    connection.conn.unshift(bytes);
    const caller = this.#parts.callerOf(client);
    const whose = connection.connackSent ? caller : caller.signIns;
    onceDone(client, () => loopTurns.wait(whose, () => readOn(client)));
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
