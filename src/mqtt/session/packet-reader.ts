// Splits what a client sends into packets: CONNECT before anything else, usual publishes in groups, all other packets one
// by one, each when it is the caller's turn. A packet is read where it lies in the received buffer; only one that has not
// come whole is gathered (partial-packet.ts). What cannot be taken now goes back into the socket, where it costs its bytes
// alone (I4). Used by the broker for all connections.
import { limits } from '../../config/limits.ts';
import type { ByteBudget } from '../../domain/callers/byte-budget.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import { pushTurns } from '../../domain/callers/push-turns.ts';
import { headerFault } from '../protocol/packet-faults.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import { PublishFrame } from '../protocol/publish-frame.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import type { Client } from './client.ts';
import { ClientFault, toClientFault } from './client-fault.ts';
import { PartialPacket } from './partial-packet.ts';

/** The first byte of a CONNECT packet. */
const connectHeader = 0x10;
/** That of a PUBREL without a fault [MQTT-3.6.1-1]. */
const pubrelHeader = 0x62;

/** What takes the packets; `G` is a group of usual publishes from one received chunk. */
export interface PacketReaderParts<G> {
  readonly byteBudget: ByteBudget;
  /** The caller whose packets these are: that of the session, before the sign-in that of the address. */
  readonly callerOf: (client: Client) => Caller;
  /** Begins a group; undefined where the sign-in has ended. */
  readonly groupOf: (client: Client, bytes: Buffer) => G | undefined;
  /** Adds a packet to the group; false when it is no usual publish. */
  readonly add: (group: G, frame: PublishFrame) => boolean;
  /** Whether publishes of the client are wanted in the ingest queue. Asked before any object is made of them. */
  readonly wantsMore: (client: Client) => boolean;
  /**
   * Calls `resume` when they are. `wasResumed`: the client was resumed and nothing of it found room.
   */
  readonly onceCapacity: (
    client: Client,
    waiting: { readonly wasResumed: boolean; readonly resume: () => void },
  ) => void;
  readonly counts: { packetsIn: number; answers: number; notePacket(header: number): void };
  /** Takes a group. `busy`: there is no room for it, and nothing of it was taken. */
  readonly submit: (client: Client, group: G) => 'busy' | undefined;
  /** Takes the usual PUBRELs that begin there. */
  readonly release: (client: Client, bytes: Buffer, at: number) => { readonly end: number; readonly count: number };
  /** Takes any other packet. @param bodyAt where its bytes behind the fixed header begin. */
  readonly handle: (client: Client, packet: Buffer, bodyAt: number) => void;
}

export class PacketReader<G extends { readonly pushes: readonly unknown[] }> {
  readonly #parts: PacketReaderParts<G>;
  readonly #frame = new PublishFrame();

  constructor(parts: PacketReaderParts<G>) {
    this.#parts = parts;
  }

  /** Takes received bytes. What a closed client sent is dropped. */
  take(client: Client, chunk: Buffer): void {
    let bytes = chunk;
    const { partial } = client;
    if (partial !== undefined) {
      if (!partial.add(chunk)) {
        partial.count(client, this.#parts.byteBudget, this.#parts.callerOf(client));
        return;
      }
      client.partial = undefined;
      bytes = partial.take();
    }
    if (client.phase === 'accepted') this.#takeAll(client, bytes);
    else if (client.phase === 'connecting') this.#holdEarly(client, bytes);
    else this.#takeConnect(client, bytes);
  }

  #takeConnect(client: Client, bytes: Buffer): void {
    const frame = this.#frame;
    const state = frame.look(bytes, 0, client.version);
    if (bytes[0] !== connectHeader || state === 'broken' || frame.length > limits.connectPacketBytesMax) {
      client.fail(new ClientFault(reasonCodes.protocolError, 'the first packet is no CONNECT, or too large'));
      return;
    }
    if (state === 'partial') {
      this.#keepPartial(client, bytes, frame.end);
      return;
    }
    const { end, body } = frame;
    if (!this.#handOver(client, bytes, { at: 0, body, end }) || client.closed) return;
    if (end < bytes.length) this.#holdEarly(client, bytes.subarray(end));
  }

  /** Packets behind CONNECT wait in the socket until it is answered; few may (I4). */
  #holdEarly(client: Client, bytes: Buffer): void {
    if (isTooEarly(bytes)) {
      client.fail(new ClientFault(reasonCodes.receiveMaximumExceeded, 'more was sent than may come before CONNACK'));
      return;
    }
    client.hold();
    client.putBack(bytes);
    client.onceAccepted(() => loopTurns.wait(this.#parts.callerOf(client).signIns, () => client.readOn()));
  }

  /** Handles packets behind CONNACK. */
  #takeAll(client: Client, bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !client.closed) {
      const end = this.#takeNext(client, bytes, at);
      if (end === undefined) return;
      at = end;
    }
    client.groupMax = Number.POSITIVE_INFINITY;
  }

  /**
   * Takes the usual publishes that begin at `at`, or one other packet.
   * @returns where they end; undefined when nothing more can be taken of these bytes, which are then put back or kept.
   */
  #takeNext(client: Client, bytes: Buffer, at: number): number | undefined {
    if (bytes[at] === pubrelHeader && pushTurns.isOpen) {
      const { end, count } = pushTurns.do(() => this.#parts.release(client, bytes, at));
      this.#parts.counts.packetsIn += count;
      this.#parts.counts.answers += count;
      client.heardMs = performance.now();
      if (end > at) return end;
    }
    // A sign-in that has ended takes its connection with it.
    const group = this.#parts.groupOf(client, bytes);
    if (group === undefined) return undefined;
    if (!pushTurns.isOpen) {
      this.#waitForTurn(client, bytes.subarray(at));
      return undefined;
    }
    const end = pushTurns.do(() => this.#takeUsual(client, { group, bytes, from: at }));
    if (end === 'busy') {
      this.#waitForCapacity(client, bytes.subarray(at));
      return undefined;
    }
    if (end > at) {
      this.#parts.counts.packetsIn += group.pushes.length;
      return end;
    }
    return this.#takeOther(client, bytes, at);
  }

  /** Takes one packet that is no usual publish. @returns as `takeNext`. */
  #takeOther(client: Client, bytes: Buffer, at: number): number | undefined {
    const frame = this.#frame;
    const state = frame.look(bytes, at, client.version);
    const header = bytes[at] as number;
    const { end, body, isPublish } = frame;
    const fault = state === 'broken' ? malformedLength : end < 0 ? undefined : boundFault(client, header, end - body);
    if (fault !== undefined) {
      client.fail(fault);
      return undefined;
    }
    if (state !== 'whole') {
      client.groupMax = Number.POSITIVE_INFINITY;
      this.#keepPartial(client, bytes.subarray(at), end < 0 ? -1 : end - at);
      return undefined;
    }
    if (isPublish && !client.hadCapacity && !this.#parts.wantsMore(client)) {
      this.#waitForCapacity(client, bytes.subarray(at));
      return undefined;
    }
    const isTaken = this.#handOver(client, bytes, { at, body, end });
    if (isPublish) {
      client.hadCapacity = !isTaken;
      if (isTaken) client.wasResumed = false;
    }
    return isTaken && !client.closed ? end : undefined;
  }

  /** Takes the usual publishes that begin at `from`. @returns where they end, or that there is no room for them. */
  #takeUsual(
    client: Client,
    from: { readonly group: G; readonly bytes: Buffer; readonly from: number },
  ): number | 'busy' {
    const end = this.#fill(client, from);
    return end > from.from && this.#submit(client, from.group) === 'busy' ? 'busy' : end;
  }

  /**
   * Adds usual publishes to a group, from `at` on, while there may be room for them.
   * @returns where the last of them ends.
   */
  #fill(
    client: Client,
    { group, bytes, from }: { readonly group: G; readonly bytes: Buffer; readonly from: number },
  ): number {
    if (!this.#parts.wantsMore(client)) return from;
    const { groupMax } = client;
    const frame = this.#frame;
    let at = from;
    for (let taken = 0; taken < groupMax && at < bytes.length; taken += 1) {
      if (frame.look(bytes, at, client.version) !== 'whole' || !this.#parts.add(group, frame)) break;
      at = frame.end;
    }
    return at;
  }

  #submit(client: Client, group: G): 'busy' | undefined {
    const outcome = this.#parts.submit(client, group);
    // There may be room for fewer.
    if (outcome === 'busy') client.groupMax = Math.ceil(group.pushes.length / 2);
    else client.wasResumed = false;
    return outcome;
  }

  /** @param length of the packet once it is complete, negative while that is unknown. */
  #keepPartial(client: Client, bytes: Buffer, length: number): void {
    client.partial = new PartialPacket(bytes, length);
    client.partial.count(client, this.#parts.byteBudget, this.#parts.callerOf(client));
  }

  /**
   * There is no room for the first publish of these bytes: all of them go back into the socket, and no more is read from
   * it until there may be, so that what waits costs its bytes alone (I4). Packets that are under way go first: they may
   * wait for room too, and must not be overtaken (I3).
   */
  #waitForCapacity(client: Client, bytes: Buffer): void {
    const { wasResumed } = client;
    client.hold();
    client.putBack(bytes);
    client.wasResumed = true;
    const resume = () => client.readOn();
    client.onceDone(() => this.#parts.onceCapacity(client, { wasResumed, resume }));
  }

  /** Usual publishes have had their time in this turn: these bytes go back into the socket until a later one. */
  #waitForTurn(client: Client, bytes: Buffer): void {
    client.hold();
    client.putBack(bytes);
    const caller = this.#parts.callerOf(client);
    client.onceDone(() => pushTurns.wait(caller, () => client.readOn()));
  }

  /**
   * Has a packet handled, and counts the time for the caller. Where there is no time left in this turn, or many packets of
   * this connection are under way, these bytes are put back to be read again when it is the caller's turn: after the packets
   * under way, so that no usual publish overtakes them (I3). Usual publishes have turns of their own (push-turns.ts),
   * because they cost little more than their bytes.
   * @returns whether it was taken.
   */
  #handOver(
    client: Client,
    bytes: Buffer,
    { at, body, end }: { readonly at: number; readonly body: number; readonly end: number },
  ): boolean {
    const hasRoom = client.packetsUnderWay < limits.packetsUnderWayMax;
    if (loopTurns.isOpen && hasRoom) {
      this.#parts.counts.notePacket(bytes[at] as number);
      client.heardMs = performance.now();
      const packet = bytes.subarray(at, end);
      loopTurns.do(this.#parts.callerOf(client), () => this.#parts.handle(client, packet, body - at));
      return true;
    }
    client.hold();
    client.putBack(bytes.subarray(at));
    const caller = this.#parts.callerOf(client);
    const whose = client.connackSent ? caller : caller.signIns;
    client.onceDone(() => loopTurns.wait(whose, () => client.readOn()));
    return false;
  }
}

const malformedLength = new ClientFault(reasonCodes.malformedPacket, 'the length of the packet is malformed');

/** What is wrong with a packet of which the fixed header alone has come: it is unlawful, or larger than it may be. */
function boundFault(client: Client, header: number, length: number): ClientFault | undefined {
  const type = header >> 4;
  const isOfFilters = type === packetTypes.subscribe || type === packetTypes.unsubscribe;
  const bytesMax = isOfFilters ? limits.filtersPacketBytesMax : limits.mqttPacketBytesMax;
  if (length > bytesMax)
    return new ClientFault(
      isOfFilters ? reasonCodes.quotaExceeded : reasonCodes.packetTooLarge,
      `a packet of ${length} bytes is more than ${bytesMax}`,
    );
  const fault = headerFault(header, length, client.version);
  return fault && toClientFault(fault);
}

/** Whether more packets, or more bytes, have come behind CONNECT than may wait for its answer. */
function isTooEarly(bytes: Buffer): boolean {
  if (bytes.length > limits.earlyBytesMax) return true;
  const frame = new PublishFrame();
  let packets = 0;
  for (let at = 0; at < bytes.length && frame.look(bytes, at, 4) === 'whole'; at = frame.end) packets += 1;
  return packets > limits.earlyPacketsMax;
}
