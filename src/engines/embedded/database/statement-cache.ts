// Prepared statements by their SQL text, so that each text is compiled once.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import { limits } from '../../../config/limits.ts';

/** Estimated bytes of a compiled statement; each character of its text adds as many again. */
const compiledBytes = 2_048;
const compiledBytesPerChar = 12;

export class StatementCache {
  readonly #database: DatabaseSync;
  readonly #statements = new LruCache<string, StatementSync>({
    weightMax: limits.statementsCachedBytesMax,
    entriesMax: limits.statementsCachedMax,
    weigh: (_, sql) => compiledBytes + sql.length * compiledBytesPerChar,
  });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
