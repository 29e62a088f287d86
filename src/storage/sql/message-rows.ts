// What the stores that write messages have in common.
import { type RawBuilder, sql } from 'kysely';
import { LruCache } from '../../base/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import type { UserKey } from '../../domain/users/user.ts';

/** Bounds what is kept of an author: of those that wait the oldest fail, of the others the oldest go. */
export function trimMessages(author: UserKey, atMs: number): RawBuilder<unknown>[] {
  const newest = (condition: RawBuilder<unknown>, max: number) =>
    sql`(SELECT key FROM message WHERE author = ${author} ${condition} ORDER BY key DESC LIMIT 1 OFFSET ${sql.lit(max)})`;
  return [
    sql`UPDATE message SET state = 'failed', finished = ${atMs}, reason = 'too many messages of its author wait'
      WHERE author = ${author} AND state = 'queued'
        AND key <= ${newest(sql`AND state = 'queued'`, limits.messagesWaitingMax)}`,
    sql`DELETE FROM message WHERE author = ${author} AND key <= ${newest(sql``, limits.messagesPerUserMax)}
      AND state NOT IN ('queued', 'sending')`,
  ];
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
