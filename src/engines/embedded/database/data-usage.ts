// How much disk space the data takes, for StorageQuota. Called about once a second: four calls of the file system, and
// two numbers that SQLite has in memory.
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { DataUsage } from '../../../domain/datapoints/ingest/storage-quota.ts';
import { databaseFile } from './connection.ts';
import { reserveFile } from './disk-reserve.ts';

/**
 * What the next checkpoint adds to the file, and what the write-ahead log may add to its own before that, is owed.
 * Free pages inside the file do not count as used: SQLite fills them before it makes the file larger. Pages that were
 * given back are still part of the file until the next checkpoint.
 */
export async function measureUsage(
  folder: string,
  reader: DatabaseSync,
): Promise<Omit<DataUsage, 'unsealedBytes' | 'isReserveInUse'>> {
  const path = join(folder, databaseFile);
  const [database, wal, reserve, disk] = await Promise.all([
    stat(path),
    stat(`${path}-wal`).catch(() => undefined),
    stat(join(folder, reserveFile)).catch(() => undefined),
    statfs(folder),
  ]);
  const pages = (pragma: string) => Number(reader.prepare(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0);
  const allBytes = pages('page_count') * pageBytes;
  const heldBytes = Math.min(database.size, allBytes - pages('freelist_count') * pageBytes);
  return {
    usedBytes: heldBytes + (wal?.size ?? 0),
    owedBytes: Math.max(0, allBytes - database.size) + Math.max(0, limits.walBytesTight - (wal?.size ?? 0)),
    reserveBytes: reserve?.size ?? 0,
    freeBytes: disk.bavail * disk.bsize,
    diskBytes: disk.blocks * disk.bsize,
    reusableBytes: database.size - heldBytes,
  };
}

const pageBytes = 4096;
