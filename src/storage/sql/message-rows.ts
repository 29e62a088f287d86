// What the stores that write messages have in common.
import { type RawBuilder, sql } from 'kysely';
import { LruCache } from '../../base/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import type { UserKey } from '../../domain/users/user.ts';

/** Takes away the author's oldest messages that wait for nothing, beyond what is kept. */
export function trimMessages(author: UserKey): RawBuilder<unknown> {
  const oldestKept = sql`(SELECT key FROM message WHERE author = ${author} ORDER BY key DESC LIMIT 1 OFFSET ${sql.lit(limits.messagesPerUserMax)})`;
  return sql`DELETE FROM message WHERE author = ${author} AND key <= ${oldestKept} AND state NOT IN ('queued', 'sending')`;
}

/** Says when an author's messages are to be trimmed: not at each, because it means counting them. */
export class Trimming {
  readonly #written = new LruCache<UserKey, number>({ weightMax: limits.usersCachedMax });

  isDue(author: UserKey, messages: number): boolean {
    const written = (this.#written.get(author) ?? limits.messagesTrimmedAt) + messages;
    const isDue = written >= limits.messagesTrimmedAt;
    this.#written.set(author, isDue ? 0 : written);
    return isDue;
  }
}
