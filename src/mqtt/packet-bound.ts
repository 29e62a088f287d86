// A bound on the size of one MQTT packet, before it is gathered in memory. mqtt-packet has none of its own: it would
// collect the 256 MiB that the protocol allows, from anybody, before the sign-in.
import type { Client } from 'aedes';

interface Parser {
  readonly packet: { readonly length: number };
  _parseLength(): boolean;
  emit(event: 'error', error: Error): boolean;
}

/** Cuts the client when a packet announces more than `bytesMax` bytes. */
export function boundPacketBytes(client: Client, bytesMax: number): void {
  const parser = (client as unknown as { _parser: Parser })._parser;
  const parseLength = parser._parseLength;
  parser._parseLength = function (this: Parser): boolean {
    const parsed = parseLength.call(this);
    if (!parsed || this.packet.length <= bytesMax) return parsed;
    this.emit('error', new Error(`a packet of ${this.packet.length} bytes is more than ${bytesMax}`));
    return false;
  };
}
