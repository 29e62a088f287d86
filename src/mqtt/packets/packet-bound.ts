// Bounds on MQTT packets, before they are gathered in memory: on the size of one, and on what those that have not come whole
// hold together. mqtt-packet has none of its own: it would collect the 256 MiB that the protocol allows, from anybody, before
// the sign-in. Called by mqtt-server.ts for each connection.
import type { Client } from 'aedes';
import { limits } from '../../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../../domain/callers/byte-budget.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { holdReading, readOn } from '../reading.ts';

interface Parser {
  readonly packet: { readonly length: number; readonly cmd?: string | null };
  readonly _list: { readonly length: number };
  _parseLength(): boolean;
  parse(bytes: Buffer): number;
  emit(event: 'error', error: Error): boolean;
}

/** Cuts the client when a packet announces more than it may have; before it has signed in, early-packets.ts allows less. */
export function boundPacketBytes(client: Client): void {
  const parser = parserOf(client);
  const parseLength = parser._parseLength;
  parser._parseLength = function (this: Parser): boolean {
    const parsed = parseLength.call(this);
    const { cmd } = this.packet;
    const isOfFilters = cmd === 'subscribe' || cmd === 'unsubscribe';
    const bytesMax = isOfFilters ? limits.filtersPacketBytesMax : limits.mqttPacketBytesMax;
    if (!parsed || this.packet.length <= bytesMax) return parsed;
    this.emit('error', new Error(`a packet of ${this.packet.length} bytes is more than ${bytesMax}`));
    return false;
  };
}

/**
 * Counts what the broker gathers of large packets in the budget. Where its caller has its share nothing more is read of the
 * client until there is room, and where there is none in time it is cut.
 * @param callerOf before the sign-in the address: a CONNECT may be large too.
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
