// Bounds what is kept of an author's messages, for the stores that write them.
import { type Compilable, sql } from 'kysely';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { FixedQuery, parameter } from './queries/fixed-query.ts';
import type { Registry } from './registry.ts';

/** Says when an author's messages are to be trimmed, and how: not at each, because it means counting them. */
export class Trimming {
  readonly #written = new LruCache<UserKey, number>({ weightMax: limits.usersCachedMax });
  readonly #failWaiting: FixedQuery;
  readonly #deleteOld: FixedQuery;

  constructor(registry: Registry) {
    this.#failWaiting = new FixedQuery(registry, failWaiting);
    this.#deleteOld = new FixedQuery(registry, deleteOld);
  }

  isDue(author: UserKey, messages: number): boolean {
    const written = (this.#written.get(author) ?? limits.messagesTrimmedAt) + messages;
    const isDue = written >= limits.messagesTrimmedAt;
    this.#written.set(author, isDue ? 0 : written);
    return isDue;
  }

  /** Of those that wait the oldest fail, of the others the oldest go. */
  trim(author: UserKey, atMs: number): Compilable[] {
    return [this.#failWaiting.with(author, atMs), this.#deleteOld.with(author)];
  }
}

const author = parameter(0);
const waitingMax = sql.lit(limits.messagesWaitingMax);

/** Only where so many wait at all are those of the author searched. */
const failWaiting = sql`UPDATE message SET state = 'failed', finished = ${parameter(1)}, reason = 'too many messages of its author wait'
  WHERE author = ${author} AND state = 'queued' AND key <= CASE
    WHEN (SELECT count(*) FROM (SELECT 1 FROM message WHERE state = 'queued' LIMIT ${waitingMax} + 1)) > ${waitingMax}
    THEN (SELECT key FROM message WHERE author = ${author} AND state = 'queued' ORDER BY key DESC LIMIT 1 OFFSET ${waitingMax})
  END`;

const deleteOld = sql`DELETE FROM message WHERE author = ${author} AND state NOT IN ('queued', 'sending')
  AND key <= (SELECT key FROM message WHERE author = ${author} ORDER BY key DESC LIMIT 1 OFFSET ${sql.lit(limits.messagesPerUserMax)})`;
