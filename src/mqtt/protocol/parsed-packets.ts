// Packets that are rare, as objects: mqtt-packet parses them once packet-faults.ts has passed them. It loses the order of user
// properties, which must be kept for those of a will [MQTT-3.1.3-10], so these stay bytes. Used by the session.
import {
  type IAuthPacket,
  type IConnectPacket,
  type IDisconnectPacket,
  type ISubscribePacket,
  type IUnsubscribePacket,
  type Packet,
  parser,
} from 'mqtt-packet';
import type { ProtocolVersion } from './packet-types.ts';
import { forwardableProperties, noProperties } from './properties.ts';
import { variableIntegerAt, variableIntegerEnd } from './variable-integers.ts';

export interface ConnectPacket extends IConnectPacket {
  readonly bridgeMode?: boolean;
  /** The properties of the will that its receivers get as they were sent. */
  readonly willProperties: Buffer;
}

export type RarePacket =
  | ConnectPacket
  | ISubscribePacket
  | IUnsubscribePacket
  | (IDisconnectPacket & { readonly reasonCode?: number })
  | IAuthPacket;

/**
 * A CONNECT, SUBSCRIBE, UNSUBSCRIBE, DISCONNECT or AUTH of a client.
 * @param frame the whole packet, which has no fault.
 */
export function parsePacket(frame: Buffer, version: ProtocolVersion): RarePacket {
  const parse = parser({ protocolVersion: version });
  let packet: Packet | undefined;
  parse.on('packet', (parsed) => {
    packet = parsed;
  });
  parse.on('error', (error: Error) => {
    throw new Error(`mqtt-packet refuses what was found to be lawful: ${error.message}`, { cause: error });
  });
  const header = frame[0] as number;
  const type = header >> 4;
  // It knows no DUP of version 3.1 in SUBSCRIBE and UNSUBSCRIBE, which says nothing that matters.
  parse.parse(Buffer.of(header & ~8));
  parse.parse(frame.subarray(1));
  if (packet === undefined) throw new Error(`mqtt-packet parses no packet of type ${type}`);
  if (packet.cmd !== 'connect') return packet as RarePacket;
  return { ...packet, willProperties: packet.will === undefined ? noProperties : willProperties(frame, packet) };
}

/** Behind the ten or twelve bytes of name, level, flags and keep-alive are the properties, the client id, those of the will. */
function willProperties(frame: Buffer, { protocolVersion }: IConnectPacket): Buffer {
  if (protocolVersion !== 5) return noProperties;
  const body = variableIntegerEnd(frame, 1, frame.length);
  const own = body + 2 + frame.readUInt16BE(body) + 4;
  const id = skipProperties(frame, own).end;
  const { start, end } = skipProperties(frame, id + 2 + frame.readUInt16BE(id));
  return forwardableProperties(frame, start, end);
}

function skipProperties(frame: Buffer, at: number): { readonly start: number; readonly end: number } {
  const start = variableIntegerEnd(frame, at, frame.length);
  return { start, end: start + variableIntegerAt(frame, at, start) };
}
