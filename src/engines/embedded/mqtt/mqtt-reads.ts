// Reads of MQTT sessions from the main thread's connection. Long ones go in steps, and end where the service ends
// between two of them.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StatementCache } from '../database/statement-cache.ts';

export class MqttReads {
  readonly #statements: StatementCache;
  /** True when the connection may be gone: no further step of a read. */
  closed = false;

  constructor(reader: DatabaseSync) {
    this.#statements = new StatementCache(reader);
  }

  prepare(sql: string): StatementSync {
    return this.#statements.prepare(sql);
  }
}
