// What becomes of a connection that ends: what its client is told, its filters, its will, what it had kept. Called by the owner
// of all connections (mqtt-server.ts), once for each.
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { disconnect } from '../protocol/answers.ts';
import type { OwedBytes } from '../routing/owed-bytes.ts';
import type { Sessions } from '../sessions.ts';
import type { Client } from './client.ts';
import { ClientFault, faultCodeOf } from './client-fault.ts';
import type { Connections } from './connections.ts';
import type { SilenceWatch } from './silence.ts';
import type { Subscribing } from './subscribing.ts';
import type { Will } from './will.ts';
import type { Wills } from './wills.ts';

export interface ConnectionEndsParts {
  readonly sessions: Sessions;
  readonly connections: Connections;
  readonly silence: SilenceWatch;
  readonly subscribing: Subscribing;
  readonly owed: OwedBytes;
  readonly wills: Wills;
  readonly stored: Pick<MqttSessions, 'expiryMsMaxOf' | 'cleanIncoming'>;
  readonly log: Log;
}

const noReference = { serverReference: undefined };

export class ConnectionEnds {
  readonly #parts: ConnectionEndsParts;

  constructor(parts: ConnectionEndsParts) {
    this.#parts = parts;
  }

  /** What a client is told whose connection is given up; undefined where its version has no words for it. */
  lastWordsOf(client: Client, error: Error): Uint8Array | undefined {
    const { log } = this.#parts;
    if (client.id === '') log.debug({ reason: error.message }, 'an MQTT connection failed');
    else log.debug({ client: client.id, reason: error.message }, 'an MQTT client was disconnected');
    if (client.v5 === undefined || !client.connackSent) return undefined;
    // What went wrong in the service is for its log alone.
    const isForClients = error instanceof ClientFault || error instanceof Refusal;
    const words = client.v5.words(isForClients ? error.message : undefined);
    const { serverReference } = error instanceof ClientFault ? error : noReference;
    const code = faultCodeOf(error);
    return disconnect(code, words, serverReference === undefined ? {} : { serverReference });
  }

  closed(client: Client): void {
    const { sessions, connections, silence, subscribing, owed, wills, stored } = this.#parts;
    silence.forget(client);
    const session = sessions.known(client);
    if (session !== undefined) {
      subscribing.release(session);
      owed.closed(client, session);
    }
    const { will } = client;
    client.will = undefined;
    // A sign-in that has ended takes the will with it.
    if (will !== undefined && sessions.hasEnded(client)) wills.drop(will);
    else if (will !== undefined) this.#publishWill(client, will);
    connections.remove(client);
    // A session that is not kept ends with its connection [MQTT-3.1.2-6].
    if (client.clean && session !== undefined) stored.cleanIncoming(client).catch(() => {});
  }

  /** At once, or after its delay: never later than the session ends [MQTT-3.1.2-8, 3.1.3.2.2]. */
  #publishWill(client: Client, will: Will): void {
    const { sessions, connections, wills, stored } = this.#parts;
    const keptMsMax = will.user === undefined ? undefined : stored.expiryMsMaxOf(will.user);
    const keptSMax = keptMsMax === undefined ? Number.POSITIVE_INFINITY : keptMsMax / 1_000;
    const delayS = Math.min(will.delayS ?? 0, client.v5?.sessionExpiryS ?? 0, keptSMax);
    // Where the service stops the next run waits for the client: the will is stored.
    if (delayS > 0 && connections.isClosed && will.brokerId !== undefined) return;
    if (delayS > 0) wills.delay(client.id, will, delayS * 1_000);
    else wills.publish(will, sessions.known(client));
  }
}
