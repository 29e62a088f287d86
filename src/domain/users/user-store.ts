// The store of users, as the domain needs it; engines implement it.
import type { User, UserKey, UserProfile } from './user.ts';

export interface NewUser extends UserProfile {
  readonly id: string;
  readonly username: string;
  readonly admin: boolean;
  readonly createdTime: number;
  readonly passwordHash?: string;
  /** The first password version; default 1. */
  readonly passwordVersion?: number;
}

/** The fields of an account that change together; they replace the stored ones. */
export interface UserUpdate {
  readonly profile: UserProfile;
  readonly admin: boolean;
  /** Paid messages a day; undefined: only the setting caps them. */
  readonly smsCredit?: number | undefined;
}

export interface UserQuery {
  /** A part of the username, regardless of case. */
  readonly username?: string | undefined;
  readonly limit: number;
  readonly offset: number;
  /** Only those behind this one in the order of usernames. */
  readonly after?: Pick<User, 'username'> | undefined;
}

export interface UserStore {
  findByKey(key: UserKey): Promise<User | undefined>;
  findById(id: string): Promise<User | undefined>;
  findByName(username: string): Promise<User | undefined>;
  /** Whether any user's name looks like this one (`likenessOf`). */
  hasLookalike(username: string): Promise<boolean>;
  /** Users who have confirmed this e-mail address, regardless of the case of ASCII letters; at most `limit`. */
  listByConfirmedEmail(email: string, limit: number): Promise<User[]>;
  /** Users in order of name, from `offset` on, at most `limit`. */
  list(query: UserQuery): Promise<User[]>;
  count(query: Pick<UserQuery, 'username'>): Promise<number>;
  /** Number of admins who can sign in. */
  countAdmins(): Promise<number>;
  /**
   * Adds the user; with `unlikeOthers`, only if no existing name looks like it.
   * @throws Refusal `exists` when the name or the id is taken, or a name looks like it.
   */
  create(user: NewUser, options?: { readonly unlikeOthers?: boolean }): Promise<void>;
  /**
   * Sets profile and admin right. Where the e-mail address is another one, it is not confirmed, and links sent to the one
   * before end.
   * @throws Refusal `conflict` where no admin who can sign in would be left.
   */
  update(key: UserKey, user: UserUpdate): Promise<void>;
  /**
   * Sets the hash and increases the password version. That ends all earlier tokens, refresh sessions and mailed links to
   * set a new password, and with `endKeys` also all API keys.
   */
  setPassword(key: UserKey, passwordHash: string, options: { readonly endKeys: boolean }): Promise<void>;
  /** Increases the version of the user's webhook key. */
  rotateWebhookKey(key: UserKey, atMs: number): Promise<void>;
  /** The ids of the user's gateways, at most `limit`. */
  listGateways(key: UserKey, limit: number): Promise<string[]>;
  /**
   * Removes the user with keys, refresh sessions and shares. Gateways and projects go to the new owner, or are
   * removed where there is none.
   * @throws Refusal `not-found` when the user still owns devices; `conflict` where no admin who can sign in would be
   * left.
   */
  remove(key: UserKey, options: { readonly newOwner: UserKey | undefined; readonly atMs: number }): Promise<void>;
}
