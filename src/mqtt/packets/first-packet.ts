// The first packet of a client must be a CONNECT of limited size. Checked when its header has arrived, before its bytes
// are gathered (I4). What comes after it waits in the socket, and is bounded by packet-reader.ts.
import type { Client } from 'aedes';
import { limits } from '../../config/limits.ts';

interface Parser {
  readonly packet: { readonly length: number; readonly cmd?: string | null };
  _parseLength(): boolean;
  emit(event: 'error', error: Error): boolean;
}

/** Cuts a client whose first packet is another, or too large. */
export function boundFirstPacket(client: Client): void {
  const parser = (client as unknown as { readonly _parser: Parser })._parser;
  const parseLength = parser._parseLength;
  parser._parseLength = function (this: Parser): boolean {
    const parsed = parseLength.call(this);
    if (!parsed) return false;
    parser._parseLength = parseLength;
    const { length, cmd } = this.packet;
    if (cmd === 'connect' && length <= limits.connectPacketBytesMax) return true;
    this.emit('error', new Error('the first packet is no CONNECT, or too large'));
    return false;
  };
}
