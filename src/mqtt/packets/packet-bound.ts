// Bounds MQTT packets before they are gathered in memory: the size of each, and the sum of incomplete ones. mqtt-packet
// has no bound: it would gather 256 MiB, which the protocol allows, from any client before it signs in. Called for
// each connection by lawful-packets.ts and mqtt-server.ts.
import type { Client } from 'aedes';
import { limits } from '../../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../../domain/callers/byte-budget.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { headerFault } from './packet-faults.ts';
import { holdReading, readOn } from './reading.ts';

interface Parser {
  readonly packet: { readonly length: number; readonly cmd?: string | null };
  readonly _list: { readonly length: number };
  _parseLength(): boolean;
  parse(bytes: Buffer): number;
  emit(event: 'error', error: Error): boolean;
}

/**
 * Cuts the client when a packet announces too many bytes, or others than it may have; before the sign-in first-packet.ts
 * allows fewer.
 */
export function boundPacketBytes(client: Client): void {
  const parser = parserOf(client);
  const parseLength = parser._parseLength;
  parser._parseLength = function (this: Parser): boolean {
    const parsed = parseLength.call(this);
    if (!parsed) return false;
    const { cmd, length } = this.packet;
    const isOfFilters = cmd === 'subscribe' || cmd === 'unsubscribe';
    const bytesMax = isOfFilters ? limits.filtersPacketBytesMax : limits.mqttPacketBytesMax;
    const isLarge = length > bytesMax;
    const fault = isLarge ? `a packet of ${length} bytes is more than ${bytesMax}` : headerFault(this.packet, length);
    if (fault === undefined) return true;
    this.emit('error', new Error(fault));
    return false;
  };
}

/**
 * Counts incomplete large packets in the budget. Where the caller's share is used up the client is not read until there
 * is room, and cut where there is none in time.
 * @param callerOf before the sign-in the caller of the address: a CONNECT may be large too.
 */
export function budgetPackets(client: Client, budget: ByteBudget, callerOf: () => Caller): void {
  const parser = parserOf(client);
  const parse = parser.parse.bind(parser);
  let reservation: ByteReservation | undefined;
  const end = () => {
    reservation?.end();
    reservation = undefined;
  };
  client.conn.once('close', end);
  const waitForCapacity = async (waiting: ByteReservation, more: number) => {
    holdReading(client);
    const hasCapacity = await budget.wait(waiting, more);
    if (!client.closed && reservation === waiting && !hasCapacity)
      parser.emit('error', new Error('more is being sent at once than can be held'));
    readOn(client);
  };
  parser.parse = (chunk) => {
    const left = parse(chunk);
    const gathered = parser._list.length;
    if (gathered < limits.mqttCountedBytesMin) end();
    else {
      reservation ??= budget.begin(callerOf(), () => client.conn.destroy());
      const more = gathered - reservation.bytes;
      if (more < 0) reservation.count(more);
      else if (!budget.take(reservation, more)) void waitForCapacity(reservation, more);
    }
    return left;
  };
}

function parserOf(client: Client): Parser {
  return (client as unknown as { _parser: Parser })._parser;
}
