// A user: who may sign in, and who owns devices (spec 2.6).
import type { Caller } from '../callers/caller.ts';
import type { ScopeSet } from '../scopes.ts';

/** The number under which the store keeps a user; never shown. */
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

/** Everyone who signed in, those they share a device with, or only themselves (contract 7). */
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
  /** Moves with every password change; a token carries the one it was made under. */
  readonly passwordVersion: number;
  /** Which key messages to their webhooks are signed with (webhook-keys.ts). */
  readonly webhookVersion: number;
  /** When that key was last rotated, in milliseconds since 1970 UTC. */
  readonly webhookRotatedMs?: number;
}

/** What an API key leaves of the rights of its owner (contract 2); domain/permissions/key-restriction.ts applies it. */
export interface KeyScopes {
  readonly keyId: string;
  /** Whether it acts as admin, when its owner is one. */
  readonly admin: boolean;
  /** Whether it reads the figures of the service; only an admin's does. */
  readonly metrics: boolean;
  readonly scopes: ScopeSet;
  /** The only devices it reaches, by id; undefined: all. */
  readonly devices: ReadonlySet<string> | undefined;
  /** True when it leaves all of its owner's rights: neither scopes nor devices named, and admin where the owner is. */
  readonly whole: boolean;
}

/** Who asks. `guest` stands for every caller without a token (contract 2). */
export interface Actor {
  readonly key: UserKey;
  readonly userId: string;
  readonly username: string;
  readonly admin: boolean;
  readonly guest: boolean;
  /** Among whom scarce things are shared out: the user, or for guests their address. */
  readonly caller: Caller;
  /** The session of a web page that the caller's token was got by. */
  readonly sessionId?: string;
  /** There when the caller came with an API key: it may do no more than this, and never manages accounts. */
  readonly keyScopes?: KeyScopes;
}

export const guestUsername = 'guest';

/** The actor a user is as this caller, or the user's API key with these limits. */
export function actorOf(user: User, caller: Caller, keyScopes?: KeyScopes): Actor {
  const guest = user.username === guestUsername;
  const admin = user.admin && !guest && keyScopes?.admin !== false;
  const actor = { key: user.key, userId: user.id, username: user.username, admin, guest, caller };
  return keyScopes === undefined ? actor : { ...actor, keyScopes };
}
