// The message that is published when a connection breaks, with the user in whose name that is done (sign-in.ts).
import type { UserKey } from '../../domain/users/user.ts';
import type { Qos } from '../protocol/packet-types.ts';
import type { MessageProperties } from './publish-packet.ts';

/** Stored with these fields; the names of those that say whose it is are those of the store. */
export interface Will extends MessageProperties {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: Qos;
  readonly retain: boolean;
  /** Seconds for which it waits whether its client comes back; undefined: none. */
  readonly delayS?: number | undefined;
  /** Seconds for which it may be delivered, from its publication on. */
  readonly expiryS?: number | undefined;
  clientId?: string;
  /** The run of the service that stored it. */
  brokerId?: string;
  user?: UserKey;
  /** The API key that its client came by, and whether it came by a certificate. */
  keyId?: string;
  byCertificate?: boolean;
}
