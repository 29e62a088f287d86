// The store of API keys, as the domain needs it; engines implement it. It has only the hash of a key.
import type { UserKey } from '../users/user.ts';
import type { ApiKey } from './key.ts';

export interface KeyStore {
  findByHash(hash: string): Promise<ApiKey | undefined>;
  findById(id: string): Promise<ApiKey | undefined>;
  /** The keys of a user in order of creation. */
  list(owner: UserKey): Promise<ApiKey[]>;
  create(key: ApiKey, options: { readonly hash: string }): Promise<void>;
  remove(id: string): Promise<void>;
  /** Removes all keys of a user. */
  removeAll(owner: UserKey): Promise<void>;
  /** Stores when a key was used last; does nothing where the key was removed. */
  noteUse(id: string, atMs: number): Promise<void>;
}
