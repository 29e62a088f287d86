// A packet of which a part has arrived. Its bytes are kept as they came and put together once, when it is whole, so that a
// large one costs no more than its bytes. Large ones count in the budget of received bytes (I4). Used by packet-reader.ts.
import { limits } from '../../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../../domain/callers/byte-budget.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import { ClientFault } from './client-fault.ts';

/** Bytes that short pieces are gathered in. */
const roomBytesMax = limits.fastPathPacketBytesMax;

/** The connection that the packet comes on. */
interface Receiving {
  readonly closed: boolean;
  readonly conn: { destroy(): void };
  hold(): void;
  readOn(): void;
  fail(error: Error): void;
}

export class PartialPacket {
  readonly #pieces: Buffer[] = [];
  /** The last of the pieces, where it has room behind its first `#filled` bytes for more short ones. */
  #room: Buffer | undefined;
  #filled = 0;
  /** Bytes that have arrived, and that the packet has in all; 0 while its length is not known. */
  length = 0;
  readonly wanted: number;
  #reservation: ByteReservation | undefined;

  /** @param wanted the packet's length; negative while it is not known. */
  constructor(bytes: Buffer, wanted: number) {
    this.wanted = Math.max(0, wanted);
    this.#add(bytes);
  }

  /** Adds bytes. @returns whether the packet is whole, or more can be said of it. */
  add(bytes: Buffer): boolean {
    this.#add(bytes);
    return this.length >= this.wanted;
  }

  /** All bytes that have arrived. Ends the packet. */
  take(): Buffer {
    this.end();
    this.#closeRoom();
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces, this.length);
  }

  /** Gives its bytes back to the budget. */
  end(): void {
    this.#reservation?.end();
    this.#reservation = undefined;
  }

  /**
   * Counts its bytes. Where the caller's share is used up the client is not read until there is room, and cut where there
   * is none in time.
   */
  count(client: Receiving, budget: ByteBudget, caller: Caller): void {
    if (this.length < limits.mqttCountedBytesMin) return;
    this.#reservation ??= budget.begin(caller, () => client.conn.destroy());
    const reservation = this.#reservation;
    const more = this.length - reservation.bytes;
    if (!budget.take(reservation, more)) void this.#waitForCapacity(client, { budget, reservation, more });
  }

  async #waitForCapacity(
    client: Receiving,
    waiting: { readonly budget: ByteBudget; readonly reservation: ByteReservation; readonly more: number },
  ): Promise<void> {
    const { budget, reservation, more } = waiting;
    client.hold();
    const hasCapacity = await budget.wait(reservation, more);
    if (!client.closed && this.#reservation === reservation && !hasCapacity)
      client.fail(new ClientFault(reasonCodes.serverBusy, 'more is being sent at once than can be held'));
    client.readOn();
  }

  #add(bytes: Buffer): void {
    this.length += bytes.length;
    if (bytes.length <= limits.fastPathPacketBytesMax) this.#addShort(bytes);
    else {
      this.#closeRoom();
      this.#pieces.push(bytes);
    }
  }

  /** Short pieces are copied, so that a few bytes keep neither the buffer they were received in nor one of their own. */
  #addShort(bytes: Buffer): void {
    if (this.#room !== undefined && this.#filled + bytes.length > this.#room.length) this.#closeRoom();
    if (this.#room === undefined) {
      // The first piece of a packet that is complete with the next one gets no more room than it needs.
      const isFirst = this.#pieces.length === 0 && this.length === bytes.length;
      const roomBytes = isFirst ? Math.min(Math.max(this.wanted, bytes.length), roomBytesMax) : roomBytesMax;
      this.#room = Buffer.allocUnsafeSlow(Math.max(roomBytes, bytes.length));
      this.#filled = 0;
    }
    this.#room.set(bytes, this.#filled);
    this.#filled += bytes.length;
  }

  #closeRoom(): void {
    if (this.#room !== undefined) this.#pieces.push(this.#room.subarray(0, this.#filled));
    this.#room = undefined;
  }
}
