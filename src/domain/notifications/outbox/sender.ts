// The port through which messages leave the service: one sender a channel, built in delivery/, called by the outbox.
// A sender tries once, within its own time-out, and says what came of it; it throws nothing and remembers nothing.
// What it says (reason, code) is shown to people, so neither holds credentials.
import type { WebhookKeyOwner } from '../../users/webhook-keys.ts';
import type { Channel } from '../rules/notification.ts';

/** Where a user is reached, as their profile says. */
export interface Recipient extends WebhookKeyOwner {
  readonly username: string;
  readonly phone?: readonly string[];
  readonly email?: string;
  readonly twitter?: readonly string[];
  readonly telegram?: readonly string[];
  readonly webhook?: readonly string[];
}

export interface OutgoingMessage {
  /** Id of the outbox row: the same for every try, so that a provider can tell repeats. */
  readonly id: string;
  readonly channel: Channel;
  readonly to: Recipient;
  readonly text: string;
}

export type SendOutcome =
  | { readonly kind: 'sent'; readonly code?: string }
  /** Not now: try again, not before `retryAfterS` where named. */
  | { readonly kind: 'retry'; readonly reason: string; readonly code?: string; readonly retryAfterS?: number }
  /** Never: the provider or the address refuses. */
  | { readonly kind: 'failed'; readonly reason: string; readonly code?: string }
  /** Cannot go out from here: no credentials, no phone number. */
  | { readonly kind: 'undelivered'; readonly reason: string };

export interface Sender {
  readonly channel: Channel;
  /** Messages a second the provider takes; may be less than one. */
  readonly perSMax: number;
  /** Why nothing can go out by it, whoever the recipient is: no provider is set up. */
  readonly closedBecause?: string;
  /** Tries once. Never rejects; an abort is a `retry`. */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome>;
}
