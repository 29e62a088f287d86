// A message in the outbox (contract 7), from a rule or a person to a user, and its state. Settings of actuators wait
// in the outbox too, and mails that the service itself writes to its users, on channels of their own that lists do not show.
import type { UserKey } from '../../users/user.ts';
import type { NotificationId } from '../rules/notification.ts';

/** 24 hex digits, not guessable. */
export type MessageId = string & { readonly __brand?: 'MessageId' };

export const messageStates = ['queued', 'sent', 'failed', 'undelivered'] as const;
export type MessageState = (typeof messageStates)[number];

/** The channel of actuator settings. */
export const actuatorChannel = 'actuator';

/** The channel whose messages are recorded and go nowhere. */
export const recordChannel = 'none';

/** Statuses that rules show where there is no provider (contract 7): an actuator was set, a message was recorded. */
export const actuationStatus = 204;
export const recordedStatus = 200;

/** The code of a provider as the number that rules show; undefined where there was no answer, or no number in it. */
export function statusOfCode(code: string | undefined): number | undefined {
  return code !== undefined && /^\d{1,9}$/.test(code) ? Number(code) : undefined;
}

/** The channel of mails that the service itself writes to its users. */
export const accountChannel = 'account';

/** Channels that lists do not show. */
export const hiddenChannels: readonly string[] = [actuatorChannel, accountChannel];

export interface NewMessage {
  readonly id: MessageId;
  readonly username: string;
  /** One of `channels`, `actuator`, or `account`. */
  readonly channel: string;
  /** The text to send; for an actuator the setting as JSON, for a mail of the service an `AccountMail`. */
  readonly text: string;
  readonly state: MessageState;
  readonly reason?: string;
  /** What it is about, as JSON (message-occasion.ts). */
  readonly occasion?: string;
  /** Milliseconds since 1970 UTC. */
  readonly createdMs: number;
}

export interface Message extends NewMessage {
  /** In order of creation. */
  readonly key: number;
  readonly authorKey: UserKey;
  readonly author: string;
  /** The rule that caused it, while the rule exists. */
  readonly notification?: NotificationId;
  /** The code that the provider gave. */
  readonly code?: string;
  readonly attempts: number;
  /** When it reached its final state, in milliseconds since 1970 UTC. */
  readonly finishedMs?: number;
}
