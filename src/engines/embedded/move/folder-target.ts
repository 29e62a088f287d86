// A data folder to which data are moved. The database has another name until all is there, and says of where it comes: so no server
// starts on the half of it, and a move that was cut off goes on.
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { rangeNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { countOf, cutBatch } from '../../shared/log/log-piece.ts';
import { idOfHash } from '../../shared/log/receipt-ids.ts';
import type {
  ChunkMark,
  MovedChunk,
  MovedRow,
  MoveSource,
  MoveTarget,
  SensorDigest,
} from '../../shared/move/moved-data.ts';
import { movedTables } from '../../shared/move/moved-data.ts';
import { syncFolder } from '../backup/make-backup.ts';
import { databaseFile, openConnection } from '../database/connection.ts';
import { assertNotMoved, assertRestored, makeWithParents, movingFile } from '../database/data-folder.ts';
import { reserveFile } from '../database/disk-reserve.ts';
import { lockFile, lockFolder, unusable } from '../database/folder-lock.ts';
import { migrate } from '../database/migrate.ts';
import { toColumn } from '../database/value-column.ts';
import { columnsOf } from '../log/log.ts';
import { movedReceipts } from '../log/receipts.ts';
import { FolderSource } from './folder-source.ts';

/** Tables beside the moved ones that are filled anew. */
const otherTables = ['latest', 'receipt', 'replay_backlog', 'rules_skipped', 'counter'];

interface Parts {
  readonly folder: string;
  readonly database: DatabaseSync;
  readonly unlock: () => void;
}

export class FolderTarget implements MoveTarget {
  readonly #folder: string;
  readonly #database: DatabaseSync;
  readonly #unlock: () => void;
  readonly #written: FolderSource;

  private constructor({ folder, database, unlock }: Parts) {
    this.#folder = folder;
    this.#database = database;
    this.#unlock = unlock;
    this.#written = new FolderSource({ database });
  }

  /** Whether a move into the folder has begun and not ended. */
  static isHalf(folder: string): boolean {
    return existsSync(join(folder, movingFile));
  }

  /**
   * Begins a move, or goes on with one of the same source.
   * @throws Refusal `conflict` where the folder has other data, or somebody uses it; `storage`.
   */
  static async open(folder: string, source: string): Promise<FolderTarget> {
    try {
      makeWithParents(resolve(folder));
    } catch (error) {
      throw unusable(folder, error);
    }
    const unlock = lockFolder(folder);
    let database: DatabaseSync | undefined;
    try {
      assertRestored(folder);
      assertNotMoved(folder);
      if (existsSync(join(folder, databaseFile)))
        throw new Refusal('conflict', `The folder ${folder} has data already. Take an empty one.`);
      const found = foreignFile(folder);
      if (found !== undefined)
        throw new Refusal(
          'conflict',
          `The folder ${folder} has ${JSON.stringify(found)}, which is no part of a move. Take an empty folder.`,
        );
      database = openConnection(join(folder, movingFile), { readOnly: false });
      await migrate(database);
      begin(database, folder, source);
      // Its name must be on the disk before the other database is noted as moved.
      await syncFolder(folder);
      return new FolderTarget({ folder, database, unlock });
    } catch (error) {
      database?.close();
      unlock();
      throw error instanceof Refusal ? error : unusable(folder, error);
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
    this.#unlock();
  }

  async lastChunk(): Promise<number> {
    return Number(this.#database.prepare('SELECT coalesce(max(id), 0) AS n FROM chunk').get()?.['n']);
  }

  async addChunks(chunks: readonly MovedChunk[]): Promise<void> {
    await this.#inTransaction(async () => {
      const add = this.#database.prepare(
        `INSERT INTO chunk (id, sensor, first, last, count, numbers, min, max, sum, bytes)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      );
      for (const { id, sensor, first, last, count, numbers, min, max, sum, bytes } of chunks)
        add.run(id, sensor, first, last, count, numbers, min, max, sum, bytes);
    });
  }

  async removeChunks(chunks: readonly ChunkMark[]): Promise<void> {
    await this.#inTransaction(async () => {
      const remove = this.#database.prepare('DELETE FROM chunk WHERE id = ?');
      for (const { id } of chunks) remove.run(id);
    });
  }

  marksAfter(id: number): Promise<readonly ChunkMark[]> {
    return this.#written.marksAfter(id);
  }

  digests(): AsyncIterable<readonly SensorDigest[]> {
    return this.#written.digests();
  }

  async putRest(source: MoveSource, onTable: (done: number) => void): Promise<void> {
    const database = this.#database;
    database.exec('PRAGMA foreign_keys = OFF');
    await this.#inTransaction(async () => {
      // What triggers count is moved as it was counted.
      const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
      for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
      for (const table of [...movedTables, ...otherTables]) database.exec(`DELETE FROM "${table}"`);
      for (const [n, table] of movedTables.entries()) {
        const inserts = new Inserts(database, table);
        for await (const rows of source.rowsOf(table)) for (const row of rows) inserts.add(row);
        onTable(n + 1);
      }
      await this.#putOthers(source);
      await this.#putLogEnd(source);
      for (const [table, last] of await source.sequences()) this.#putSequence(table, last);
      for (const { sql } of triggers) database.exec(String(sql));
      const [loose] = database.prepare('PRAGMA foreign_key_check').all();
      if (loose !== undefined)
        throw new Refusal(
          'storage',
          `A row of ${loose['table']} refers to one of ${loose['parent']} that is not there.`,
        );
    });
    database.exec('PRAGMA foreign_keys = ON');
  }

  async finish(): Promise<void> {
    try {
      this.#database.exec('DROP TABLE moving; PRAGMA wal_checkpoint(TRUNCATE)');
      // With its last connection SQLite removes the write-ahead log.
      this.#database.close();
      await syncFolder(this.#folder);
      renameSync(join(this.#folder, movingFile), join(this.#folder, databaseFile));
      await syncFolder(this.#folder);
    } catch (error) {
      throw unusable(this.#folder, error);
    }
  }

  async #putOthers(source: MoveSource): Promise<void> {
    const latest = new Inserts(this.#database, 'latest');
    for await (const rows of source.latest())
      for (const { value, ...row } of rows) latest.add({ ...row, value: toColumn(value) });
    const receipts = new Inserts(this.#database, 'receipt');
    let newestMs = 0;
    for await (const rows of source.receipts()) {
      for (const { caller, bodyHash, answer, at, ...key } of rows) {
        receipts.add({ id: idOfHash(key), caller, body_hash: bodyHash, answer, at });
        newestMs = Math.max(newestMs, at);
      }
    }
    const counters = new Inserts(this.#database, 'counter');
    if (newestMs > 0) counters.add({ name: movedReceipts, value: newestMs });
    counters.add({ name: 'alarm_changes', value: await source.alarmChanges() });
  }

  async #putLogEnd(source: MoveSource): Promise<void> {
    const { lastSeq, followedSeq, unread } = await source.logEnd();
    const counters = new Inserts(this.#database, 'counter');
    counters.add({ name: 'sealed_seq', value: lastSeq });
    if (followedSeq !== undefined) counters.add({ name: 'followed_seq', value: followedSeq });
    const kept = new Inserts(this.#database, 'replay_backlog');
    const skipped = new Inserts(this.#database, 'rules_skipped');
    for (const { rulesSkipped, ...piece } of unread) {
      for (const part of cutBatch({ ...piece, rulesSkipped, publishes: noWords, receipts: [] }, piece.firstSeq))
        kept.add({ first_seq: part.firstSeq, datapoints: countOf(part), ...columnsOf(part) });
      for (const [first_seq, last_seq] of rangesOf(rulesSkipped, piece.firstSeq)) skipped.add({ first_seq, last_seq });
    }
  }

  /** Keys are never given again, also those of rows that are gone. */
  #putSequence(table: string, last: number): void {
    const counted = this.#database.prepare(
      "SELECT 1 FROM sqlite_schema WHERE name = ? AND type = 'table' AND sql LIKE '%AUTOINCREMENT%'",
    );
    if (last === 0 || counted.get(table) === undefined) return;
    this.#database.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table);
    this.#database.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, last);
  }

  /** @throws Refusal `storage` where the folder cannot be written. */
  async #inTransaction(work: () => Promise<void>): Promise<void> {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      await work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw 'errcode' in (error as object) ? unusable(this.#folder, error) : error;
    }
  }
}

/** Inserts rows into a table, one statement for all. */
class Inserts {
  readonly #database: DatabaseSync;
  readonly #table: string;
  #columns: readonly string[] = [];
  #insert: StatementSync | undefined;

  constructor(database: DatabaseSync, table: string) {
    this.#database = database;
    this.#table = table;
  }

  /** All rows have the same columns. */
  add(row: MovedRow): void {
    if (this.#insert === undefined) {
      this.#columns = Object.keys(row);
      const names = this.#columns.map((name) => `"${name}"`).join(', ');
      const values = this.#columns.map(() => '?').join(', ');
      this.#insert = this.#database.prepare(`INSERT INTO "${this.#table}" (${names}) VALUES (${values})`);
    }
    this.#insert.run(...this.#columns.map((name) => row[name] ?? null));
  }
}

/** The first file of the folder that neither a move nor a server has put there. */
function foreignFile(folder: string): string | undefined {
  const half = ['', '-wal', '-shm', '-journal'].map((end) => `${movingFile}${end}`);
  // An empty disk has a folder for what a check of it finds.
  const ours = [...half, lockFile, `${lockFile}-journal`, reserveFile, 'lost+found'];
  return readdirSync(folder)
    .sort()
    .find((name) => !ours.includes(name));
}

/** @throws Refusal `conflict` where a move from elsewhere has begun. */
function begin(database: DatabaseSync, folder: string, source: string): void {
  database.exec('CREATE TABLE IF NOT EXISTS moving (one INTEGER PRIMARY KEY CHECK (one = 1), source TEXT NOT NULL)');
  database.prepare('INSERT OR IGNORE INTO moving VALUES (1, ?)').run(source);
  const begun = database.prepare('SELECT source FROM moving').get()?.['source'];
  if (begun === source) return;
  throw new Refusal(
    'conflict',
    `A move into the folder ${folder} from ${begun} has begun; end it, or take another folder.`,
  );
}

/** First and last seq of each range. */
function rangesOf(rulesSkipped: readonly number[], firstSeq: number): [first: number, last: number][] {
  const ranges: [number, number][] = [];
  for (let at = 0; at < rulesSkipped.length; at += rangeNumbers) {
    const first = firstSeq + (rulesSkipped[at] as number);
    ranges.push([first, first + (rulesSkipped[at + 1] as number) - 1]);
  }
  return ranges;
}

const noWords = new Uint32Array(0);
