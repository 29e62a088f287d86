// The second half of handshakes: a client acknowledges what it was sent (PUBACK, PUBREC, PUBCOMP), or releases a message of
// QoS 2 that it has sent (PUBREL). One that acknowledges nothing that is known is answered all the same [MQTT-4.3.3-2].
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { acknowledgement } from '../protocol/answers.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import type { SharedSubscriptions } from '../routing/shared-subscriptions.ts';
import type { Client } from './client.ts';

/** Codes from here on say that something failed. */
const firstFailure = 0x80;

export interface AcknowledgementsParts {
  readonly shared: Pick<SharedSubscriptions, 'acknowledged'>;
  readonly stored: Pick<
    MqttSessions,
    'outgoingUpdate' | 'outgoingClearMessageId' | 'incomingGetPacket' | 'incomingDelPacket'
  >;
}

export class Acknowledgements {
  readonly #parts: AcknowledgementsParts;

  constructor(parts: AcknowledgementsParts) {
    this.#parts = parts;
  }

  /** PUBACK or PUBCOMP: the message is done. */
  finished(client: Client, messageId: number): void {
    client.v5?.window.release(messageId);
    if (client.v5 !== undefined) this.#parts.shared.acknowledged(client, messageId);
    // A clean session has stored nothing.
    if (!client.clean) client.handling(this.#parts.stored.outgoingClearMessageId(client, { messageId }));
  }

  /** PUBREC: the client has the message, and must not get it again. */
  received(client: Client, messageId: number, reasonCode: number): void {
    // It has refused the message, and will not complete it [MQTT-4.3.3-4].
    if (reasonCode >= firstFailure) this.finished(client, messageId);
    else client.handling(this.#release(client, messageId));
  }

  /** PUBREL: the client will not repeat the message. */
  released(client: Client, messageId: number): void {
    client.handling(this.#complete(client, messageId));
  }

  async #release(client: Client, messageId: number): Promise<void> {
    if (!client.clean) await this.#parts.stored.outgoingUpdate(client, { cmd: 'pubrel', messageId });
    const isKnown = client.v5 === undefined || client.v5.window.has(messageId);
    const code = isKnown ? reasonCodes.success : reasonCodes.packetIdentifierNotFound;
    await client.send(acknowledgement(packetTypes.pubrel, messageId, client.version, code));
  }

  async #complete(client: Client, messageId: number): Promise<void> {
    const { stored } = this.#parts;
    const isKnown = await stored.incomingGetPacket(client, { messageId }).then(
      () => true,
      () => false,
    );
    // Where it cannot be removed it is known on, and a repeat is recognised on; the answer is owed nevertheless.
    if (isKnown) await stored.incomingDelPacket(client, { messageId }).catch(() => {});
    if (isKnown) client.answered(1);
    const code = isKnown ? reasonCodes.success : reasonCodes.packetIdentifierNotFound;
    await client.send(acknowledgement(packetTypes.pubcomp, messageId, client.version, code));
  }
}
