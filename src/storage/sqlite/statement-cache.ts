// Prepared statements by their text, so that a statement is parsed once.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LruCache } from '../../base/lru-cache.ts';

export class StatementCache {
  readonly #database: DatabaseSync;
  readonly #statements = new LruCache<string, StatementSync>({ weightMax: 300 });

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
