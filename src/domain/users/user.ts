// A user: who may sign in, and who owns devices (spec 2.6).

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
}

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
}

/** Who asks. `guest` stands for every caller without a token (contract 2). */
export interface Actor {
  readonly key: UserKey;
  readonly userId: string;
  readonly username: string;
  readonly admin: boolean;
  readonly guest: boolean;
}

export const guestUsername = 'guest';

/** The actor a signed-in user is. */
export function actorOf(user: User): Actor {
  const guest = user.username === guestUsername;
  return { key: user.key, userId: user.id, username: user.username, admin: user.admin && !guest, guest };
}
