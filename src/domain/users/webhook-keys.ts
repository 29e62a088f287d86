// The keys that webhook messages are signed with, one a user, all made from one secret of the service: whoever can check
// the messages to them can forge none to others. A key hangs on the account and a version, so that it can be changed; the
// one before is good for a day longer, and messages are signed with both. A user reads their own in their profile.
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import type { User } from './user.ts';

/** What a key is made of. */
export type WebhookKeyOwner = Pick<User, 'id' | 'username' | 'webhookVersion' | 'webhookRotatedMs'>;

export class WebhookKeys {
  readonly #secret: KeyObject;
  /** Made once for many messages; they can be made again. */
  readonly #keys = new LruCache<string, KeyObject>({ weightMax: limits.webhookKeysCachedMax });

  constructor(secret: Uint8Array) {
    this.#secret = createSecretKey(secret);
  }

  /** The keys to sign with: the present one, and the one before while it is good. */
  goodAt(owner: WebhookKeyOwner, nowMs: number): readonly KeyObject[] {
    const { webhookVersion: version } = owner;
    const present = this.#of(owner, version);
    const untilMs = previousGoodUntilMs(owner);
    return untilMs !== undefined && nowMs < untilMs ? [present, this.#of(owner, version - 1)] : [present];
  }

  /** The present key as text, in the form that libraries of Standard Webhooks read. */
  textOf(owner: WebhookKeyOwner): string {
    return `whsec_${this.#of(owner, owner.webhookVersion).export().toString('base64')}`;
  }

  #of({ id, username }: WebhookKeyOwner, version: number): KeyObject {
    // Version 0 is of accounts that were there before keys had versions.
    const name = version === 0 ? `webhook:${username}` : `webhook:${id}:${version}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = createSecretKey(createHmac('sha256', this.#secret).update(name).digest());
      this.#keys.set(name, key);
    }
    return key;
  }
}

/** Until when messages are signed with the key before too; undefined where it was never changed. */
export function previousGoodUntilMs({ webhookRotatedMs }: WebhookKeyOwner): number | undefined {
  return webhookRotatedMs === undefined ? undefined : webhookRotatedMs + limits.webhookKeyOverlapMs;
}
