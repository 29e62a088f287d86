// What API keys need remembered. The key itself is not: its hash is.
import type { UserKey } from '../users/user.ts';
import type { ApiKey } from './key.ts';

export interface KeyStore {
  findByHash(hash: string): Promise<ApiKey | undefined>;
  findById(id: string): Promise<ApiKey | undefined>;
  /** The keys of a user, in the order they were made. */
  list(owner: UserKey): Promise<ApiKey[]>;
  /**
   * Adds the key unless its owner has `max` already.
   * @returns false when that is so.
   */
  create(key: ApiKey, options: { readonly hash: string; readonly max: number }): Promise<boolean>;
  remove(id: string): Promise<void>;
  /** Notes when a key was used; nothing when it is gone. */
  noteUse(id: string, atMs: number): Promise<void>;
}
