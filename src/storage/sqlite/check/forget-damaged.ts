// Removes what cannot be read any more from a data folder, because a person said so: until then reads of its span are
// refused. Called by `dundun check --forget-damaged`, beside a running server too: sealing that had planned with one of
// these chunks plans anew.
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import { decodeChunk } from '../../timeseries/chunk-codec.ts';
import { CorruptChunk } from '../../timeseries/corrupt-chunk.ts';
import { openFolderForReading } from '../backup/open-data.ts';
import { openConnection } from '../connection.ts';
import { formOf } from '../migrate.ts';

interface Forgotten {
  readonly chunks: number;
  readonly datapoints: number;
}

/** @throws Refusal `conflict` where it is a backup, or not in the form of this version. */
export function forgetDamagedChunks(folder: string): Forgotten {
  if (statSync(folder, { throwIfNoEntry: false })?.isFile() === true) {
    throw new Refusal('conflict', 'A backup stays as it is. Restore it first, then run this on the data folder.');
  }
  const { database: reader, path } = openFolderForReading(folder);
  let damaged: readonly number[];
  try {
    if (formOf(reader).form !== 'present') {
      throw new Refusal('conflict', 'The data is that of an earlier release. Start the service once, then run this.');
    }
    damaged = findDamaged(reader);
  } finally {
    reader.close();
  }
  const writer = openConnection(path, { readOnly: false });
  try {
    return forget(writer, damaged);
  } finally {
    writer.close();
  }
}

function findDamaged(database: DatabaseSync): number[] {
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

function forget(database: DatabaseSync, damaged: readonly number[]): Forgotten {
  const remove = database.prepare('DELETE FROM chunk WHERE id = ? RETURNING count');
  database.exec('BEGIN IMMEDIATE');
  const inPlace = damaged.flatMap((id) => remove.all(id));
  const gone = [...inPlace, ...database.prepare('DELETE FROM damaged_chunk RETURNING count').all()];
  database.exec('COMMIT');
  return { chunks: gone.length, datapoints: gone.reduce((sum, { count }) => sum + Number(count), 0) };
}
