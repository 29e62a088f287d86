// Reads MQTT tables on the main thread's connection. Long reads go in steps, and stop when the service is closed
// between two steps.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StatementCache } from '../database/statement-cache.ts';

export class MqttReads {
  readonly #statements: StatementCache;
  /** True when the connection may be closed: no read takes a further step. */
  closed = false;

  constructor(reader: DatabaseSync) {
    this.#statements = new StatementCache(reader);
  }

  prepare(sql: string): StatementSync {
    return this.#statements.prepare(sql);
  }
}
