// Has each packet that goes to the broker looked at before mqtt-packet parses it, and its connection closed where it is
// none of MQTT 3.1.1 (packet-faults.ts). What it would have changed stays as it was. Called by mqtt-server.ts for each
// connection; the usual publishes that the fast path takes itself have no fault.
import type { Client } from 'aedes';
import { boundFirstPacket } from './first-packet.ts';
import { boundPacketBytes } from './packet-bound.ts';
import { type PacketHeader, packetFault, protocolOf, publishHeaderBytes } from './packet-faults.ts';
import { holdReading } from './reading.ts';

interface Parser {
  readonly client: Client;
  readonly packet: PacketHeader & { readonly length: number };
  readonly _list: {
    readonly length: number;
    slice(start: number, end: number): Buffer;
    readUInt16BE(at: number): number;
  };
  _parsePayload(): boolean;
  emit(event: 'error', error: Error): boolean;
}

/** Refusals of a protocol level, which version 5 writes in its own form [MQTT-3.1.2-2; 5.0: 3.1.2.2]. */
const refusalOfLevel = Buffer.from([0x20, 0x02, 0x00, 0x01]);
const refusalOfVersion5 = Buffer.from([0x20, 0x03, 0x00, 0x84, 0x00]);

/** The bit that a bridge sets in the protocol level, as bridges of mosquitto do. */
const bridgeBit = 0x80;

/** Checks the packets of this client from now on, and bounds their bytes. */
export function requireLawfulPackets(client: Client): void {
  boundPacketBytes(client);
  boundFirstPacket(client);
  const parser = (client as unknown as { readonly _parser: Parser })._parser;
  // One function for all connections, so that an idle one does not keep its own.
  parser._parsePayload = parseLawfulPayload;
}

function parseLawfulPayload(this: Parser): boolean {
  const { packet, _list } = this;
  if (_list.length >= packet.length) {
    const bytes = _list.slice(0, bytesToCheck(this));
    if (packet.cmd === 'connect' && !hasKnownLevel(this, bytes)) return false;
    const fault = packetFault(packet, bytes);
    if (fault !== undefined) {
      this.emit('error', new Error(fault));
      return false;
    }
  }
  return (Object.getPrototypeOf(this) as Parser)._parsePayload.call(this);
}

/** Bytes that say whether a packet is lawful: not the payload of a PUBLISH, which may be large. */
function bytesToCheck({ packet, _list }: Parser): number {
  if (packet.cmd !== 'publish' || packet.length < 2) return packet.length;
  return Math.min(packet.length, publishHeaderBytes(packet, _list.readUInt16BE(0)));
}

/** False where the protocol level is none that is spoken here: the client is told so, then cut. */
function hasKnownLevel(parser: Parser, bytes: Buffer): boolean {
  const protocol = protocolOf(bytes);
  if (protocol === undefined) return true;
  const { name, level } = protocol;
  if (name !== 'MQTT' && name !== 'MQIsdp') return true;
  const spoken = name === 'MQTT' ? 4 : 3;
  if ((level & ~bridgeBit) === spoken) return true;
  const { client } = parser;
  holdReading(client);
  const refusal = name === 'MQTT' && level === 5 ? refusalOfVersion5 : refusalOfLevel;
  client.conn.write(refusal, () => {
    if (!client.closed) parser.emit('error', new Error(`the protocol level ${level} of ${name} is not spoken`));
  });
  return false;
}
