// A user: who may sign in, and who owns devices (spec 2.6).
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
  /** Who may send them messages; absent: everyone who signed in. */
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
  /** Milliseconds since 1970 UTC. */
  readonly createdTime: number;
  /** PHC string of an argon2id hash; absent: nobody can sign in with this name (guest). */
  readonly passwordHash?: string;
  /** Increases with every password change; a token contains the one it was issued under. */
  readonly passwordVersion: number;
  /** The version of the key that signs messages to their webhooks (webhook-keys.ts). */
  readonly webhookVersion: number;
  /** When that key was last rotated, in milliseconds since 1970 UTC. */
  readonly webhookRotatedMs?: number;
}

/**
 * The restriction of an API key to a part of its owner's rights (contract 2); domain/permissions/key-restriction.ts
 * applies it.
 */
export interface KeyScopes {
  readonly keyId: string;
  /** Whether it acts as an admin when its owner is one. */
  readonly admin: boolean;
  /** Whether it may read the metrics; only for keys of admins. */
  readonly metrics: boolean;
  readonly scopes: ScopeSet;
  /** The only devices it may access, by id; undefined: all. */
  readonly devices: ReadonlySet<string> | undefined;
  /** True when it has all of its owner's rights: neither scopes nor devices named, and admin where the owner is. */
  readonly whole: boolean;
}

/** The party that makes a request. `guest` stands for every caller without a token (contract 2). */
export interface Actor extends Asker {
  readonly key: UserKey;
  readonly userId: string;
  readonly username: string;
  readonly admin: boolean;
  readonly guest: boolean;
  /** The refresh session from which the caller's token was obtained. */
  readonly sessionId?: string;
  /** Set when the caller came with an API key: restricts its rights; it never manages accounts. */
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
