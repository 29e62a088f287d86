// Bounds what a client may send before its CONNECT is answered. The first packet must be a CONNECT of limited size;
// packets after it wait in memory, so only a few with few bytes are accepted. Checked when the header of a packet has
// arrived, before its bytes are gathered (I4).
import type { Client } from 'aedes';
import { limits } from '../../config/limits.ts';

interface Parser {
  readonly packet: { readonly length: number; readonly cmd?: string | null };
  _parseLength(): boolean;
  emit(event: 'error', error: Error): boolean;
}

/** Cuts a client that sends too much before it is accepted. */
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
