// The second half of handshakes: a client acknowledges what it was sent (PUBACK, PUBREC, PUBCOMP), or releases a message of
// QoS 2 that it has sent (PUBREL). One that acknowledges nothing that is known is answered all the same [MQTT-4.3.3-2].
import type { IncomingIds, MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { acknowledgement } from '../protocol/answers.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import { reasonCodes } from '../protocol/reason-codes.ts';
import type { SharedDeliveries } from '../routing/shared/shared-deliveries.ts';
import type { Client } from './client.ts';
import { acknowledgements } from './publish-group.ts';

/** Codes from here on say that something failed. */
const firstFailure = 0x80;

export interface AcknowledgementsParts {
  readonly shared: Pick<SharedDeliveries, 'acknowledged'>;
  readonly stored: Pick<
    MqttSessions,
    'outgoingUpdate' | 'outgoingClearMessageId' | 'incomingIds' | 'incomingGetPacket' | 'incomingDelPacket'
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
    const ids = this.#parts.stored.incomingIds(client);
    if (ids !== undefined && this.#take(client, ids, messageId)) this.#send(client, pubcompOf(client, messageId, true));
    else if (ids?.has(messageId) === false) this.#send(client, pubcompOf(client, messageId, false));
    // It is stored.
    else client.handling(this.#complete(client, messageId));
  }

  /**
   * PUBRELs of the usual form that begin at `at`, whose messages are known and not stored. Answered in one write.
   * @returns where they end.
   */
  releasedTogether(client: Client, bytes: Buffer, at: number): { readonly end: number; readonly count: number } {
    const known = this.#parts.stored.incomingIds(client);
    const ids: number[] = [];
    let end = at;
    while (known !== undefined && isUsualRelease(bytes, end)) {
      const id = bytes.readUInt16BE(end + 2);
      if (!this.#take(client, known, id)) break;
      ids.push(id);
      end += releaseBytes;
    }
    if (ids.length > 0) this.#send(client, acknowledgements(packetTypes.pubcomp, ids, ids.length));
    return { end, count: ids.length };
  }

  #take(client: Client, ids: IncomingIds, messageId: number): boolean {
    if (!ids.delete(messageId)) return false;
    client.answered(1);
    return true;
  }

  /** The client is not read on while it does not take its answers. */
  #send(client: Client, bytes: Buffer): void {
    const written = client.send(bytes);
    if (written !== undefined) client.handling(written);
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
    await client.send(pubcompOf(client, messageId, isKnown));
  }
}

/** [3.7.2.1] */
function pubcompOf({ version }: Client, messageId: number, isKnown: boolean): Buffer {
  const code = isKnown ? reasonCodes.success : reasonCodes.packetIdentifierNotFound;
  return acknowledgement(packetTypes.pubcomp, messageId, version, code);
}

/** A PUBREL without reason code, which is whole, has its flags [MQTT-3.6.1-1] and a packet id, is no longer. */
const releaseBytes = 4;
const releaseHeader = 0x62;

function isUsualRelease(bytes: Buffer, at: number): boolean {
  return at + releaseBytes <= bytes.length && bytes[at] === releaseHeader && bytes[at + 1] === 2;
}
