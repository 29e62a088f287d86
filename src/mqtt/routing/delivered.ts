// A message on its way to one session. Used by what hands it over (forwarding.ts, shared-deliveries.ts) and what sends it
// (session-delivery.ts).
import type { Qos } from '../protocol/packet-types.ts';
import type { MessageProperties } from '../session/publish-packet.ts';
import type { SharedDelivery } from './shared/shared-delivery.ts';

/** A message for one session. */
export interface Delivered extends MessageProperties {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: Qos;
  /** Whether it was there before its receiver subscribed. */
  readonly retain: boolean;
  /** Whether it was published with RETAIN. */
  readonly publishedRetain?: boolean | undefined;
  /** False for a message that has waited, which is bounded elsewhere. */
  readonly isNew: boolean;
  /** The client that published it. */
  readonly publisherId?: string | undefined;
  /** Identifiers of the subscription that asked for it, in place of those of all that match. */
  readonly identifiers?: readonly number[] | undefined;
  /**
   * The QoS in which it goes, whatever the filters ask for by now: that of the SUBSCRIBE for which it is given [MQTT-3.8.4-8], or
   * in which it is kept.
   */
  readonly settledQos?: Qos | undefined;
  /** Whether it was sent before: it is sent again though no filter asks for it any more [MQTT-3.10.4-3, MQTT-4.4.0-1]. */
  readonly wasSent?: boolean | undefined;
  /** Set for a message to a member of a group; with QoS 0 nothing is remembered of it. */
  readonly shared?: SharedDelivery | 'not-kept' | undefined;
  readonly brokerId?: string | null | undefined;
  readonly brokerCounter?: number | undefined;
}

/** A message as a stored session has it. */
export type StoredMessage = Pick<
  Delivered,
  'topic' | 'payload' | 'qos' | 'publishedRetain' | 'properties' | 'expiresMs' | 'publisherId'
> & { readonly device?: number; readonly part?: number };

/** Seconds until a message expires; 0: it has. Undefined: it does not. */
export function secondsLeft(expiresMs: number | undefined, nowMs: () => number): number | undefined {
  return expiresMs === undefined ? undefined : Math.max(0, Math.ceil((expiresMs - nowMs()) / 1_000));
}
