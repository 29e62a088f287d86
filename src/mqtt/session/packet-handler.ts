// Takes each packet that is no usual publish: judges its bytes, reads it, and hands it to the part that obeys it. A packet
// with a fault ends its connection [MQTT-4.8.0-1; 5.0: MQTT-4.13.1-1]. Called by packet-reader.ts, in the caller's turn.

import { pingResponse } from '../protocol/answers.ts';
import { protocolOf } from '../protocol/connect-faults.ts';
import { packetFault } from '../protocol/packet-faults.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import { PublishFrame } from '../protocol/publish-frame.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { Client } from './client.ts';
import { ClientFault, toClientFault } from './client-fault.ts';
import { readConnect } from './connect-packet.ts';
import type { Handshake } from './handshake.ts';
import type { IncomingPublishes } from './incoming-publishes.ts';
import { publishOf } from './publish-packet.ts';
import type { Subscribing } from './subscribing.ts';

export interface PacketHandlerParts {
  readonly handshake: Handshake;
  readonly publishes: IncomingPublishes;
  readonly acknowledgements: Acknowledgements;
  readonly subscribing: Subscribing;
  readonly nowMs: () => number;
  readonly onPing: (client: Client) => void;
}

/** Refusals of a protocol level, which version 5 writes in its own form [MQTT-3.1.2-2; 5.0: 3.1.2.2]. */
const refusalOfLevel = Buffer.from([0x20, 0x02, 0x00, 0x01]);
const refusalOfVersion5 = Buffer.from([0x20, 0x03, 0x00, 0x84, 0x00]);

export class PacketHandler {
  readonly #parts: PacketHandlerParts;
  readonly #frame = new PublishFrame();

  constructor(parts: PacketHandlerParts) {
    this.#parts = parts;
  }

  /** @param packet the whole packet. Whatever goes wrong with it ends its connection alone. */
  handle(client: Client, packet: Buffer): void {
    try {
      this.#handle(client, packet);
    } catch (error) {
      client.fail(error as Error);
    }
  }

  #handle(client: Client, packet: Buffer): void {
    const type = (packet[0] as number) >> 4;
    if (type === packetTypes.connect && !this.#isSpoken(client, packet)) return;
    const fault = packetFault(packet, client.version);
    if (fault !== undefined) {
      client.fail(toClientFault(fault));
      return;
    }
    this.#frame.look(packet, 0, client.version);
    switch (type) {
      case packetTypes.connect:
        this.#connect(client, packet);
        break;
      case packetTypes.publish:
        this.#parts.publishes.take(client, publishOf(this.#frame, this.#parts.nowMs), this.#frame.topicAlias);
        break;
      case packetTypes.puback:
      case packetTypes.pubcomp:
        this.#parts.acknowledgements.finished(client, this.#frame.packetId);
        break;
      case packetTypes.pubrec:
        this.#parts.acknowledgements.received(client, this.#frame.packetId, this.#frame.reasonCode);
        break;
      case packetTypes.pubrel:
        this.#parts.acknowledgements.released(client, this.#frame.packetId);
        break;
      case packetTypes.subscribe:
        this.#parts.subscribing.subscribe(client, packet);
        break;
      case packetTypes.unsubscribe:
        this.#parts.subscribing.unsubscribe(client, packet);
        break;
      case packetTypes.pingreq:
        this.#ping(client);
        break;
      case packetTypes.disconnect:
        this.#parts.handshake.disconnect(client, packet);
        break;
      default:
        client.fail(new ClientFault(reasonCodes.protocolError, 'the packet is not expected now'));
    }
  }

  /** False where the protocol level is none that is spoken here: the client is told so, then cut. */
  #isSpoken(client: Client, packet: Buffer): boolean {
    const protocol = protocolOf(packet);
    if (protocol === undefined || protocol.version !== undefined) return true;
    const { name, level } = protocol;
    // Of another protocol nothing is known, not even how to refuse it [MQTT-3.1.2-1].
    if (name !== 'MQTT' && name !== 'MQIsdp') return true;
    client.closeWith(name === 'MQTT' && level >= 5 ? refusalOfVersion5 : refusalOfLevel);
    return false;
  }

  #connect(client: Client, packet: Buffer): void {
    // [MQTT-3.1.0-2]
    if (client.phase !== 'new')
      client.fail(new ClientFault(reasonCodes.protocolError, 'CONNECT was sent a second time'));
    else this.#parts.handshake.connect(client, readConnect(packet));
  }

  #ping(client: Client): void {
    const written = client.send(pingResponse);
    if (written !== undefined) client.handling(written);
    this.#parts.onPing(client);
  }
}
