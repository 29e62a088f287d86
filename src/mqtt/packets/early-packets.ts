// Bounds what a client sends before its CONNECT is answered: the first packet must be a CONNECT, of no more than its fields
// can hold, and what comes behind it waits in memory, so it is a handful of packets and few bytes. Looked at when the
// header of a packet has come, before its bytes are gathered (I4).
import type { Client } from 'aedes';
import { limits } from '../../config/limits.ts';

interface Parser {
  readonly packet: { readonly length: number; readonly cmd?: string | null };
  _parseLength(): boolean;
  emit(event: 'error', error: Error): boolean;
}

/** Cuts the client when it sends too much before it is let in. */
export function boundEarlyPackets(client: Client): void {
  const connection = client as unknown as { readonly _parser: Parser; readonly connackSent: boolean };
  const parser = connection._parser;
  const parseLength = parser._parseLength;
  let bytes: number | undefined;
  parser._parseLength = function (this: Parser): boolean {
    const parsed = parseLength.call(this);
    if (connection.connackSent) parser._parseLength = parseLength;
    if (!parsed || connection.connackSent) return parsed;
    const { length, cmd } = this.packet;
    const isFirst = bytes === undefined;
    bytes = isFirst ? 0 : (bytes ?? 0) + length;
    const isGood = isFirst
      ? cmd === 'connect' && length <= limits.connectPacketBytesMax
      : bytes <= limits.earlyBytesMax;
    if (!isGood) this.emit('error', new Error('more was sent than may come before CONNACK'));
    return isGood;
  };
}
