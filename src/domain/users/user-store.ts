// What users need remembered.
import type { User, UserKey, UserProfile } from './user.ts';

export interface NewUser extends UserProfile {
  readonly id: string;
  readonly username: string;
  readonly admin: boolean;
  readonly createdTime: number;
  readonly passwordHash?: string;
  /** Where versions of the password begin; 1 where it is not said. */
  readonly passwordVersion?: number;
}

export interface UserQuery {
  /** A part of the username, whatever the case. */
  readonly username?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface UserStore {
  findByKey(key: UserKey): Promise<User | undefined>;
  findById(id: string): Promise<User | undefined>;
  findByName(username: string): Promise<User | undefined>;
  /** Is there a user whose name looks like this one (likenessOf)? */
  hasLookalike(username: string): Promise<boolean>;
  /** Users by name, from `offset` on, at most `limit`. */
  list(query: UserQuery): Promise<User[]>;
  count(query: Pick<UserQuery, 'username'>): Promise<number>;
  /** Admins who can sign in. */
  countAdmins(): Promise<number>;
  /**
   * Adds the user; with `unlikeOthers` only where no name there is looks like theirs.
   * @throws Refusal `exists` when the name or id is taken.
   */
  create(user: NewUser, options?: { readonly unlikeOthers?: boolean }): Promise<void>;
  update(key: UserKey, user: { readonly profile: UserProfile; readonly admin: boolean }): Promise<void>;
  /**
   * Sets the hash and moves the password version, which ends every token and refresh session made before, and with
   * `endKeys` every API key.
   */
  setPassword(key: UserKey, passwordHash: string, options: { readonly endKeys: boolean }): Promise<void>;
  /** Moves the version of the key of the user's webhooks. */
  rotateWebhookKey(key: UserKey, atMs: number): Promise<void>;
  /** The ids of the user's gateways, `limit` at most. */
  listGateways(key: UserKey, limit: number): Promise<string[]>;
  /**
   * Removes the user with all that is theirs alone: keys, refresh sessions, shares with them. Gateways and projects go
   * to the new owner, or along where there is none.
   * @throws Refusal `not-found` when devices are still theirs.
   */
  remove(key: UserKey, options: { readonly newOwner: UserKey | undefined; readonly atMs: number }): Promise<void>;
}
