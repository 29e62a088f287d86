// A user, who may sign in and own devices (spec 2.6); and the actor, on whose behalf a request is made.
import type { Asker } from '../callers/asker.ts';
import type { Caller } from '../callers/caller.ts';
import type { ScopeSet } from '../scopes.ts';

/** The number by which the store identifies a user; never shown. */
export type UserKey = number & { readonly __brand?: 'UserKey' };

export interface UserProfile {
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  /** Phone numbers with country code. */
  readonly phone?: readonly string[];
  readonly address?: readonly string[];
  readonly facebook?: readonly string[];
  /** Account ids without the `@`. */
  readonly twitter?: readonly string[];
  /** Chats of the Telegram bot: numbers, or `@name` of a channel. */
  readonly telegram?: readonly string[];
  /** Addresses that messages are posted to. */
  readonly webhook?: readonly string[];
  /** Who may send messages to the user; absent: everyone who signed in. */
  readonly messages_from?: MessagesFrom;
}

/** Everyone who signed in, users with a shared device, or only themselves (contract 7). */
export const messagesFrom = ['everyone', 'sharers', 'self'] as const;
export type MessagesFrom = (typeof messagesFrom)[number];

export interface User extends UserProfile {
  readonly key: UserKey;
  /** UUID. */
  readonly id: string;
  readonly username: string;
  readonly admin: boolean;
  /** Paid messages that may be counted for the user on a day; absent: as many as the setting allows. */
  readonly smsCredit?: number;
  /** Milliseconds since 1970 UTC. */
  readonly createdTime: number;
  /** PHC string of an argon2id hash; absent: nobody can sign in with this name (guest). */
  readonly passwordHash?: string;
  /** Increases with every password change. A token contains the version under which it was issued. */
  readonly passwordVersion: number;
  /** The version of the key that signs messages to the user's webhooks (webhook-keys.ts). */
  readonly webhookVersion: number;
  /** The e-mail address, where the user has confirmed it by a link that was mailed there. */
  readonly confirmedEmail?: string;
  /** When that key was last rotated, in milliseconds since 1970 UTC. */
  readonly webhookRotatedMs?: number;
}

/** How an API key restricts its owner's rights (contract 2). domain/permissions/key-restriction.ts applies it. */
export interface KeyScopes {
  readonly keyId: string;
  /** Whether the key acts as an admin when its owner is one. */
  readonly admin: boolean;
  /** Whether the key may read the metrics; only keys of admins may. */
  readonly metrics: boolean;
  readonly scopes: ScopeSet;
  /** The only devices that the key may access, by id; undefined: all. */
  readonly devices: ReadonlySet<string> | undefined;
  /**
   * True when the key has all of its owner's rights: it names neither scopes nor devices, and has admin where the
   * owner has.
   */
  readonly whole: boolean;
}

/** On whose behalf a request is made. `guest` stands for every caller without a token (contract 2). */
export interface Actor extends Asker {
  readonly key: UserKey;
  readonly userId: string;
  readonly username: string;
  readonly admin: boolean;
  readonly guest: boolean;
  /** The refresh session from which the caller's token was obtained. */
  readonly sessionId?: string;
  /** Set when the caller came with an API key, which restricts the rights and never manages accounts. */
  readonly keyScopes?: KeyScopes;
}

export const guestUsername = 'guest';

/** The actor for a user and a caller, optionally restricted to an API key. */
export function actorOf(user: User, caller: Caller, keyScopes?: KeyScopes): Actor {
  const guest = user.username === guestUsername;
  const admin = user.admin && !guest && keyScopes?.admin !== false;
  const actor = { key: user.key, userId: user.id, username: user.username, admin, guest, caller };
  return keyScopes === undefined ? actor : { ...actor, keyScopes };
}
