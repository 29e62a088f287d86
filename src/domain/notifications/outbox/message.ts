// A message in the outbox (contract 7): what a rule or a person has for somebody, and what became of it. The setting of
// an actuator waits there likewise, under a channel of its own that no list shows.
import type { UserKey } from '../../users/user.ts';
import type { NotificationId } from '../rules/notification.ts';

/** 24 hex digits that nobody can guess. */
export type MessageId = string & { readonly __brand?: 'MessageId' };

export const messageStates = ['queued', 'sent', 'failed', 'undelivered'] as const;
export type MessageState = (typeof messageStates)[number];

/** The channel by which actuators are set. */
export const actuatorChannel = 'actuator';

export interface NewMessage {
  readonly id: MessageId;
  readonly username: string;
  /** One of `channels`, or `actuator`. */
  readonly channel: string;
  /** What is sent; of an actuator, the setting as JSON. */
  readonly text: string;
  readonly state: MessageState;
  readonly reason?: string;
  /** Milliseconds since 1970 UTC. */
  readonly createdMs: number;
}

export interface Message extends NewMessage {
  readonly authorKey: UserKey;
  readonly author: string;
  /** The rule it is of, while that is there. */
  readonly notification?: NotificationId;
  /** What the provider answered. */
  readonly code?: string;
  readonly attempts: number;
  /** When it reached its state, milliseconds since 1970 UTC. */
  readonly finishedMs?: number;
}
