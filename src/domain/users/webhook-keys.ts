// The keys that sign webhook messages, one for each user. All are derived from one secret of the service, so that a
// user who can verify own messages cannot forge messages to others. A key depends on the account and a version, so
// that it can be rotated; the previous key stays valid for a day, in which messages are signed with both. Users read
// their own key in their profile.
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import type { User } from './user.ts';

/** The fields of a user that its key is derived from. */
export type WebhookKeyOwner = Pick<User, 'id' | 'username' | 'webhookVersion' | 'webhookRotatedMs'>;

export class WebhookKeys {
  readonly #secret: KeyObject;
  /** A cache: keys can be derived again. */
  readonly #keys = new LruCache<string, KeyObject>({ weightMax: limits.webhookKeysCachedMax });

  constructor(secret: Uint8Array) {
    this.#secret = createSecretKey(secret);
  }

  /** The keys to sign with: the present one, and the previous one while it is valid. */
  goodAt(owner: WebhookKeyOwner, nowMs: number): readonly KeyObject[] {
    const { webhookVersion: version } = owner;
    const present = this.#of(owner, version);
    const untilMs = previousGoodUntilMs(owner);
    return untilMs !== undefined && nowMs < untilMs ? [present, this.#of(owner, version - 1)] : [present];
  }

  /** The present key in the text form of Standard Webhooks libraries. */
  textOf(owner: WebhookKeyOwner): string {
    return `whsec_${this.#of(owner, owner.webhookVersion).export().toString('base64')}`;
  }

  #of({ id, username }: WebhookKeyOwner, version: number): KeyObject {
    // Version 0: the account was created before keys had versions.
    const name = version === 0 ? `webhook:${username}` : `webhook:${id}:${version}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = createSecretKey(createHmac('sha256', this.#secret).update(name).digest());
      this.#keys.set(name, key);
    }
    return key;
  }
}

/** Until when messages are also signed with the previous key; undefined where the key was never rotated. */
export function previousGoodUntilMs({ webhookRotatedMs }: WebhookKeyOwner): number | undefined {
  return webhookRotatedMs === undefined ? undefined : webhookRotatedMs + limits.webhookKeyOverlapMs;
}
