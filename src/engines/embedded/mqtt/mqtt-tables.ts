// What MQTT stores in SQLite. Changes go into the commits of datapoints; reads are made at once, on the main thread's
// connection.
import type { DatabaseSync } from 'node:sqlite';
import type { LoadedSessions, LoadingParts, MqttChange, MqttReads, MqttTables } from '../../shared/mqtt/mqtt-tables.ts';
import type { DatabaseWriter, Statement } from '../database/database-writer.ts';
import { SqliteMqttReads } from './mqtt-reads.ts';
import { loadSessions } from './mqtt-session-loading.ts';
import { addStatements, countOf } from './mqtt-statements.ts';

export class SqliteMqttTables implements MqttTables {
  readonly #writer: Pick<DatabaseWriter, 'write'>;
  readonly #reader: DatabaseSync;
  readonly reads: MqttReads;
  readonly unitsAtOnce = 4;

  /** @param parts `reader` sees everything that the writer has resolved. */
  constructor(parts: { readonly writer: Pick<DatabaseWriter, 'write'>; readonly reader: DatabaseSync }) {
    this.#writer = parts.writer;
    this.#reader = parts.reader;
    this.reads = new SqliteMqttReads(parts.reader);
  }

  async start(): Promise<void> {}

  async load(parts: LoadingParts): Promise<LoadedSessions> {
    return loadSessions(this.#reader, parts);
  }

  async write(changes: readonly MqttChange[]): Promise<readonly number[]> {
    const statements: Statement[] = [];
    const ends = changes.map((change) => {
      addStatements(change, statements);
      return statements.length;
    });
    // The writer's bound in bytes does not apply: `deliveryBytesMax` bounds the bytes, and removing must not be refused.
    const rows = await this.#writer.write(statements, { isWeighed: false });
    return changes.map((change, i) => countOf(change, rows, ends[i - 1] ?? 0, ends[i] ?? 0));
  }

  async close(): Promise<void> {}
}
