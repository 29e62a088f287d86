// The keys that webhook messages are signed with, one a user, all made from one secret of the service: whoever can check
// the messages to them can forge none to others. A user reads their own in their profile.
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { LruCache } from '../../base/lru-cache.ts';
import { limits } from '../../config/limits.ts';

export class WebhookKeys {
  readonly #secret: KeyObject;
  /** Made once for many messages; they can be made again. */
  readonly #keys = new LruCache<string, KeyObject>({ weightMax: limits.usersCachedMax });

  constructor(secret: Uint8Array) {
    this.#secret = createSecretKey(secret);
  }

  of(username: string): KeyObject {
    let key = this.#keys.get(username);
    if (key === undefined) {
      key = createSecretKey(createHmac('sha256', this.#secret).update(`webhook:${username}`).digest());
      this.#keys.set(username, key);
    }
    return key;
  }

  /** The key as text, in the form that libraries of Standard Webhooks read. */
  textOf(username: string): string {
    return `whsec_${this.of(username).export().toString('base64')}`;
  }
}
