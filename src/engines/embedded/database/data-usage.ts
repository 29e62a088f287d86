// What the data takes on the disk, for who decides whether there is room for more. Asked about once a second; waits for
// nothing but the file system, and asks SQLite two numbers that it has at hand.
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { DataUsage } from '../../../domain/datapoints/ingest/storage-quota.ts';
import { databaseFile } from './connection.ts';

/**
 * What of the file holds nothing counts as free: SQLite uses such pages before it makes the file larger, and those that are
 * given back are cut off when the write-ahead log goes into the file next.
 */
export async function measureUsage(folder: string, reader: DatabaseSync): Promise<DataUsage> {
  const path = join(folder, databaseFile);
  const [database, wal, disk] = await Promise.all([
    stat(path),
    stat(`${path}-wal`).catch(() => undefined),
    statfs(folder),
  ]);
  const pages = (pragma: string) => Number(reader.prepare(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0);
  const heldBytes = Math.min(database.size, (pages('page_count') - pages('freelist_count')) * pageBytes);
  return {
    usedBytes: heldBytes + (wal?.size ?? 0),
    freeBytes: disk.bavail * disk.bsize,
    diskBytes: disk.blocks * disk.bsize,
    reusableBytes: database.size - heldBytes,
  };
}

const pageBytes = 4096;
