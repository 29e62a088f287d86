// The port through which messages leave the service: one sender for each channel, implemented in delivery/, called by
// the outbox. A sender makes one attempt within its own time-out and returns the outcome. It never throws and keeps
// no state. Reason and code are shown to people, so they contain no credentials.
import type { WebhookKeyOwner } from '../../users/webhook-keys.ts';
import type { Channel } from '../rules/notification.ts';

/** The addresses of a user, from their profile. */
export interface Recipient extends WebhookKeyOwner {
  readonly username: string;
  readonly phone?: readonly string[];
  readonly email?: string;
  readonly twitter?: readonly string[];
  readonly telegram?: readonly string[];
  readonly webhook?: readonly string[];
}

export interface OutgoingMessage {
  /** Id of the outbox row, the same for every attempt, so that a provider can recognise repeats. */
  readonly id: string;
  readonly channel: Channel;
  readonly to: Recipient;
  readonly text: string;
  /** What a message of a rule is about, as a JSON object (message-occasion.ts); of webhooks alone. */
  readonly occasion?: string;
}

export type SendOutcome =
  | { readonly kind: 'sent'; readonly code?: string }
  /** Temporary: try again, not before `retryAfterS` where given. */
  | { readonly kind: 'retry'; readonly reason: string; readonly code?: string; readonly retryAfterS?: number }
  /** Permanent: the provider or the address refuses. */
  | { readonly kind: 'failed'; readonly reason: string; readonly code?: string }
  /** This service cannot send it: it has no credentials, or the recipient has no address on the channel. */
  | { readonly kind: 'undelivered'; readonly reason: string };

export interface Sender {
  readonly channel: Channel;
  /** Messages a second that the provider accepts; may be less than one. */
  readonly perSMax: number;
  /** Why the channel cannot send at all, where no provider is set up. */
  readonly closedBecause?: string;
  /** Makes one attempt. Never rejects; an abort is a `retry`. */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome>;
}
