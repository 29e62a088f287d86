// What the data takes on the disk, for who decides whether there is room for more. Asked about once a second; waits for
// nothing but the file system, and asks SQLite one number that it has at hand.
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { DataUsage } from '../../domain/datapoints/room.ts';
import { databaseFile } from './connection.ts';

/** Pages of the file that hold nothing count as free: SQLite uses them before it makes the file larger. */
export async function measureUsage(folder: string, reader: DatabaseSync): Promise<DataUsage> {
  const path = join(folder, databaseFile);
  const [database, wal, disk] = await Promise.all([
    stat(path),
    stat(`${path}-wal`).catch(() => undefined),
    statfs(folder),
  ]);
  const reusableBytes = Number(reader.prepare('PRAGMA freelist_count').get()?.['freelist_count'] ?? 0) * pageBytes;
  return {
    usedBytes: database.size - Math.min(reusableBytes, database.size) + (wal?.size ?? 0),
    freeBytes: disk.bavail * disk.bsize,
    diskBytes: disk.blocks * disk.bsize,
    reusableBytes,
  };
}

const pageBytes = 4096;
