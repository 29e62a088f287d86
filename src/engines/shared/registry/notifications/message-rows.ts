// Bounds the stored messages of each author, for the stores that write them.
import { type Compilable, sql } from 'kysely';
import { LruCache } from '../../../../base/memory/lru-cache.ts';
import { limits } from '../../../../config/limits.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { FixedQuery, parameter } from '../fixed-query.ts';
import type { Registry } from '../registry.ts';

/** What an author has written since its messages were last trimmed. */
interface Written {
  readonly messages: number;
  readonly bytes: number;
}

/** For an author who has written nothing in this process: high enough that the first messages are trimmed at once. */
const unknown: Written = { messages: limits.messagesTrimmedAt, bytes: limits.messagesTrimmedBytes };

/**
 * Decides when an author's messages are trimmed, and how. Not after each message, because trimming counts them. Each process
 * decides by what it has written itself; trimming counts what all of them have.
 */
export class Trimming {
  readonly #written = new LruCache<UserKey, Written>({ weightMax: limits.usersCachedMax });
  readonly #byNumber: readonly FixedQuery[];
  readonly #byBytes: readonly FixedQuery[];

  constructor(registry: Registry) {
    this.#byNumber = [failWaiting, deleteOld].map((query) => new FixedQuery(registry, query));
    this.#byBytes = [failWaitingBytes, deleteOldBytes].map((query) => new FixedQuery(registry, query));
  }

  /**
   * Call after each write of an author's messages.
   * @returns the statements that fail the author's oldest waiting messages and delete the oldest others beyond the bounds;
   * none where it is too early to look.
   */
  trim(author: UserKey, messages: readonly { readonly text: string; readonly createdMs: number }[]): Compilable[] {
    const before = this.#written.get(author) ?? unknown;
    const bytes = messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), before.bytes);
    const written = { messages: before.messages + messages.length, bytes };
    const isLarge = bytes >= limits.messagesTrimmedBytes;
    const isMany = written.messages >= limits.messagesTrimmedAt;
    this.#written.set(author, { messages: isMany ? 0 : written.messages, bytes: isLarge ? 0 : bytes });
    const due = [...(isMany ? this.#byNumber : []), ...(isLarge ? this.#byBytes : [])];
    return due.map((query) => query.with(author, messages[0]?.createdMs ?? 0));
  }
}

const author = parameter(0);
const waitingMax = sql.lit(limits.messagesWaitingMax);

/** Searches the author's messages only where so many are waiting at all. */
const failWaiting = sql`UPDATE message SET state = 'failed', finished = ${parameter(1)}, reason = 'too many messages of its author wait'
  WHERE author = ${author} AND state = 'queued' AND key <= CASE
    WHEN (SELECT count(*) FROM (SELECT 1 FROM message WHERE state = 'queued' LIMIT ${waitingMax} + 1) AS waiting) > ${waitingMax}
    THEN (SELECT key FROM message WHERE author = ${author} AND state = 'queued' ORDER BY key DESC LIMIT 1 OFFSET ${waitingMax})
  END`;

/** The newest message with which the author's messages take more bytes than they may. */
const firstBeyondBytes = sql`(SELECT key FROM
  (SELECT key, sum(octet_length(text)) OVER (ORDER BY key DESC) AS bytes FROM message WHERE author = ${author}) AS newest
  WHERE bytes > ${sql.lit(limits.messagesBytesPerUserMax)} ORDER BY key DESC LIMIT 1)`;

const failWaitingBytes = sql`UPDATE message SET state = 'failed', finished = ${parameter(1)}, reason = 'the messages of its author take too much room'
  WHERE author = ${author} AND state = 'queued' AND key <= ${firstBeyondBytes}`;

const deleteOldBytes = sql`DELETE FROM message WHERE author = ${author} AND state NOT IN ('queued', 'sending')
  AND key <= ${firstBeyondBytes}`;

const deleteOld = sql`DELETE FROM message WHERE author = ${author} AND state NOT IN ('queued', 'sending')
  AND key <= (SELECT key FROM message WHERE author = ${author} ORDER BY key DESC LIMIT 1 OFFSET ${sql.lit(limits.messagesPerUserMax)})`;
