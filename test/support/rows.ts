import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { type Columns, valueAt } from '../../src/domain/datapoints/columns.ts';
import type { StoredValue } from '../../src/domain/datapoints/datapoint.ts';
import { rowNumbers } from '../../src/domain/datapoints/datapoint-batch.ts';
import { readLog } from '../../src/engines/embedded/log/log.ts';
import { ChunkReader } from '../../src/engines/embedded/reads/chunk-reader.ts';
import { decodeChunk } from '../../src/engines/shared/codec/chunk-codec.ts';
import { openDatabase } from './database.ts';

export type Rows = Readonly<Record<string, readonly unknown[]>>;

/** What housekeeping moves on its own, whatever is asked of the service; the use of a key is noted with every call. */
export const movingTables: ReadonlySet<string> = new Set([
  ...[
    'log',
    'chunk',
    'sealing',
    'latest',
    'counter',
    'purge',
    'replay_backlog',
    'rules_skipped',
    'kysely_migration',
    'kysely_migration_lock',
    'push_charge',
    'usage',
  ],
  'api_key_use',
]);

/**
 * Reads all rows of a folder, and anew only where something was committed since the last time: tests ask before and after
 * most calls, and most calls change nothing.
 */
export class RowsReader {
  readonly #folder: string;
  #database: DatabaseSync | undefined;
  #version: unknown;
  #rows: Rows = {};

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(): Rows {
    this.#database ??= openDatabase(this.#folder, { readOnly: true });
    // Of SQLite: another number after each commit of another connection.
    const version = this.#database.prepare('PRAGMA data_version').get()?.['data_version'];
    if (version !== this.#version) this.#rows = inTransaction(this.#database, readRows);
    this.#version = version;
    return this.#rows;
  }

  /** Before the files are moved, or another server begins with them; a later read opens them anew. */
  close(): void {
    this.#database?.close();
    this.#database = undefined;
    this.#version = undefined;
  }
}

/** All rows by table; datapoints as one table, in the log or in chunks, without those that wait to be purged. */
function readRows(database: DatabaseSync): Rows {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  const names = tables.map((table) => String(table['name'])).filter((name) => !/^sqlite_/.test(name));
  const rows = names
    .filter((name) => !movingTables.has(name))
    .map((name) => [name, database.prepare(`SELECT * FROM "${name}"`).all()] as const);
  const sensors = new Set(
    database
      .prepare('SELECT key FROM sensor')
      .all()
      .map(({ key }) => key),
  );
  const datapoints = readDatapoints(database).filter(({ sensor }) => sensors.has(sensor));
  return { ...Object.fromEntries(rows), datapoints };
}

/** Datapoints on disk, those of removed sensors included until they are purged. */
export function countDatapoints(folder: string): number {
  return withDatabase(folder, (database) => readDatapoints(database).length);
}

/** A datapoint as it lies on disk. */
export interface StoredDatapoint {
  readonly sensor: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: StoredValue;
}

/** What is in chunks and what is in the log, by sensor and time; equal times in order of arrival. */
export function readDatapoints(database: DatabaseSync): StoredDatapoint[] {
  const chunks = database.prepare('SELECT sensor, bytes FROM chunk ORDER BY sensor, first, last, id').all();
  const sealed = chunks.flatMap(({ sensor, bytes }) => rowsOf(Number(sensor), decodeChunk(bytes as Uint8Array)));
  return [...sealed, ...readLoggedDatapoints(database)].sort((a, b) => a.sensor - b.sensor || a.at - b.at);
}

function rowsOf(sensor: number, columns: Columns): StoredDatapoint[] {
  return Array.from({ length: columns.count }, (_, index) => ({
    sensor,
    at: columns.at[index] as number,
    stamped: columns.stamped[index] as number,
    received: columns.received[index] as number,
    value: valueAt(columns, index),
  }));
}

/** What is in the log and not yet in chunks. */
function readLoggedDatapoints(database: DatabaseSync): StoredDatapoint[] {
  const sealedSeqOf = sealedSeqs(database);
  const points: StoredDatapoint[] = [];
  for (const { rows, texts, firstSeq } of readLog(database, {
    upTo: Number.MAX_SAFE_INTEGER,
    onDamaged: ({ fault }) => assert.fail(fault),
  })) {
    let text = 0;
    for (let from = 0; from < rows.length; from += rowNumbers) {
      const [sensor = 0, timestamp = 0, received = 0, number = 0] = rows.subarray(from, from + rowNumbers);
      const value = Number.isNaN(number) ? (texts[text++] as string) : number;
      if (firstSeq + from / rowNumbers <= sealedSeqOf(sensor)) continue;
      const stamped = Number.isNaN(timestamp) ? 0 : 1;
      points.push({ sensor, at: stamped === 1 ? timestamp : received, stamped, received, value });
    }
  }
  return points;
}

/** Up to which seq the datapoints of a sensor are in chunks; asked once for each sensor. */
function sealedSeqs(database: DatabaseSync): (sensor: number) => number {
  const chunks = new ChunkReader(database, { decodedBytesMax: 0 });
  const known = new Map<number, number>();
  return (sensor) => {
    const seq = known.get(sensor) ?? chunks.sealedSeq(sensor);
    known.set(sensor, seq);
    return seq;
  };
}

export function withDatabase<T>(folder: string, read: (database: DatabaseSync) => T): T {
  const database = openDatabase(folder, { readOnly: true });
  try {
    return inTransaction(database, read);
  } finally {
    database.close();
  }
}

/** Reads one moment of the database. */
function inTransaction<T>(database: DatabaseSync, read: (database: DatabaseSync) => T): T {
  database.exec('BEGIN');
  try {
    return read(database);
  } finally {
    database.exec('COMMIT');
  }
}
