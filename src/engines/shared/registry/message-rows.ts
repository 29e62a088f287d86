// Bounds the stored messages of each author, for the stores that write them.
import { type Compilable, sql } from 'kysely';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { FixedQuery, parameter } from './queries/fixed-query.ts';
import type { Registry } from './registry.ts';

/**
 * Decides when an author's messages are trimmed, and how. Not after each message, because trimming counts them. Each process
 * decides by what it has written itself; trimming counts what all of them have.
 */
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

  /** Statements that fail the author's oldest waiting messages and delete the oldest others beyond the bounds. */
  trim(author: UserKey, atMs: number): Compilable[] {
    return [this.#failWaiting.with(author, atMs), this.#deleteOld.with(author)];
  }
}

const author = parameter(0);
const waitingMax = sql.lit(limits.messagesWaitingMax);

/** Searches the author's messages only where so many are waiting at all. */
const failWaiting = sql`UPDATE message SET state = 'failed', finished = ${parameter(1)}, reason = 'too many messages of its author wait'
  WHERE author = ${author} AND state = 'queued' AND key <= CASE
    WHEN (SELECT count(*) FROM (SELECT 1 FROM message WHERE state = 'queued' LIMIT ${waitingMax} + 1)) > ${waitingMax}
    THEN (SELECT key FROM message WHERE author = ${author} AND state = 'queued' ORDER BY key DESC LIMIT 1 OFFSET ${waitingMax})
  END`;

const deleteOld = sql`DELETE FROM message WHERE author = ${author} AND state NOT IN ('queued', 'sending')
  AND key <= (SELECT key FROM message WHERE author = ${author} ORDER BY key DESC LIMIT 1 OFFSET ${sql.lit(limits.messagesPerUserMax)})`;
