// What API keys need remembered. The key itself is not: its hash is.
import type { UserKey } from '../users/user.ts';
import type { ApiKey } from './key.ts';

export interface KeyStore {
  findByHash(hash: string): Promise<ApiKey | undefined>;
  findById(id: string): Promise<ApiKey | undefined>;
  /** The keys of a user, in the order they were made. */
  list(owner: UserKey): Promise<ApiKey[]>;
  create(key: ApiKey, options: { readonly hash: string }): Promise<void>;
  remove(id: string): Promise<void>;
  /** Removes all keys of a user. */
  removeAll(owner: UserKey): Promise<void>;
  /** Notes when a key was used; nothing when it is gone. */
  noteUse(id: string, atMs: number): Promise<void>;
}
