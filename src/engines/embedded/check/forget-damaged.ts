// Deletes damaged chunks and log rows for good, because an operator asked for it; until then reads of their span are
// refused. Called by `dundun check --forget-damaged`, whether a server is running or not: a pass of sealing that
// planned with one of these chunks is planned again.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { openConnection } from '../database/connection.ts';
import { formOf } from '../database/migrate.ts';
import { openFolderForReading } from '../database/open-data.ts';
import { forgetWalDamages } from '../database/wal/wal-damages.ts';
import { countInBounds, DamagedRow, type LogRow, logColumns, toPiece } from '../log/log.ts';
import { forgetAllRepeatedBodies } from '../log/receipts.ts';

interface Forgotten {
  /** Number of chunks and log rows that were deleted. */
  readonly parts: number;
  readonly datapoints: number;
  /** Number of losses by a damaged write-ahead log that are not told any more. */
  readonly losses: number;
}

interface Damaged {
  readonly chunks: readonly number[];
  /** The first seq of each damaged row, by table. */
  readonly rows: readonly { readonly table: 'log' | 'replay_backlog'; readonly firstSeq: number }[];
}

/** @throws Refusal `conflict` where the path is a backup, or the database is not of this release. */
export async function forgetDamaged(folder: string): Promise<Forgotten> {
  if (statSync(folder, { throwIfNoEntry: false })?.isFile() === true) {
    throw new Refusal('conflict', 'A backup stays as it is. Restore it first, then run this on the data folder.');
  }
  const { database: reader, path } = openFolderForReading(folder);
  let damaged: Damaged;
  try {
    if (formOf(reader).form !== 'present') {
      throw new Refusal('conflict', 'The data is that of an earlier release. Start the service once, then run this.');
    }
    damaged = { chunks: damagedChunks(reader), rows: [...damagedRows(reader)] };
  } finally {
    reader.close();
  }
  const writer = openConnection(path, { readOnly: false });
  try {
    return { ...forget(writer, damaged), losses: forgetWalDamages(folder) };
  } finally {
    writer.close();
  }
}

function damagedChunks(database: DatabaseSync): number[] {
  const damaged: number[] = [];
  for (const { id, bytes } of database.prepare('SELECT id, bytes FROM chunk').iterate()) {
    try {
      decodeChunk(bytes as Uint8Array);
    } catch (error) {
      if (!(error instanceof CorruptChunk)) throw error;
      damaged.push(id as number);
    }
  }
  return damaged;
}

function* damagedRows(database: DatabaseSync): Generator<Damaged['rows'][number]> {
  for (const table of ['log', 'replay_backlog'] as const) {
    for (const row of database.prepare(`SELECT ${logColumns} FROM ${table}`).iterate()) {
      const piece = toPiece(row as unknown as LogRow);
      if (piece instanceof DamagedRow) yield { table, firstSeq: piece.firstSeq };
    }
  }
}

function forget(database: DatabaseSync, damaged: Damaged): Omit<Forgotten, 'losses'> {
  const remove = database.prepare('DELETE FROM chunk WHERE id = ? RETURNING count');
  database.exec('BEGIN IMMEDIATE');
  const chunks = damaged.chunks.flatMap((id) => remove.all(id));
  chunks.push(...database.prepare('DELETE FROM damaged_chunk RETURNING count').all());
  // A row that was set aside may also lie in replay_backlog; the map counts its datapoints once.
  const rows = new Map<unknown, unknown>();
  for (const { table, firstSeq } of damaged.rows) {
    // The row stays, without content, because seqs must have no gaps. In the log its number of datapoints is computed
    // from the next row, because the stored number may be damaged too.
    const next = `SELECT min(next.first_seq) - log.first_seq FROM log AS next WHERE next.first_seq > log.first_seq`;
    const count = table === 'log' ? `coalesce((${next}), ${countInBounds})` : countInBounds;
    const empty = `UPDATE ${table} SET rows = x'', texts = NULL, checksum = NULL, datapoints = ${count}
      WHERE first_seq = ? RETURNING datapoints`;
    for (const { datapoints } of database.prepare(empty).all(firstSeq)) rows.set(firstSeq, datapoints);
  }
  const aside = database.prepare(`DELETE FROM damaged_log RETURNING first_seq, ${countInBounds} AS datapoints`).all();
  for (const { first_seq: firstSeq, datapoints } of aside) rows.set(firstSeq, datapoints);
  database.prepare(forgetAllRepeatedBodies.sql).run(...forgetAllRepeatedBodies.parameters);
  database.exec('COMMIT');
  const counts = [...chunks.map(({ count }) => count), ...rows.values()].map(Number);
  return { parts: counts.length, datapoints: counts.reduce((sum, count) => sum + count, 0) };
}
