// What users need remembered.
import type { User, UserKey, UserProfile } from './user.ts';

export interface NewUser extends UserProfile {
  readonly id: string;
  readonly username: string;
  readonly admin: boolean;
  readonly createdTime: number;
  readonly passwordHash?: string;
}

export interface UserStore {
  findByKey(key: UserKey): Promise<User | undefined>;
  findById(id: string): Promise<User | undefined>;
  findByName(username: string): Promise<User | undefined>;
  /** All users by name, from `offset` on, at most `limit`. */
  list(page: { readonly limit: number; readonly offset: number }): Promise<User[]>;
  /** @throws Refusal `exists` when the name or id is taken. */
  create(user: NewUser): Promise<void>;
  /** Sets the hash and moves the password version, which ends every token made before. */
  setPassword(key: UserKey, passwordHash: string): Promise<void>;
}
