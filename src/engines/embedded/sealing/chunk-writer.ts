// Inserts chunks inside the caller's transaction.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SealedChunk } from '../../shared/sealing/sealed-sensor.ts';

/** The columns that are written. */
export const chunkColumns = ['sensor', 'first', 'last', 'count', 'numbers', 'min', 'max', 'sum', 'bytes'] as const;

export class ChunkWriter {
  readonly #insert: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      `INSERT INTO chunk (${chunkColumns.join(', ')}) VALUES (${chunkColumns.map(() => '?').join(', ')})`,
    );
  }

  add(chunk: SealedChunk): void {
    this.#insert.run(...chunkParameters(chunk));
  }
}

/** A chunk's values in the order of `chunkColumns`. */
export function chunkParameters({ sensor, summary, bytes }: SealedChunk): (null | number | Uint8Array)[] {
  const { first, last, count, numbers, min, max, sum } = summary;
  const some = numbers > 0;
  // A sum that overflows a double is stored as null.
  const kept = some && Number.isFinite(sum) ? sum : null;
  return [sensor, first, last, count, numbers, some ? min : null, some ? max : null, kept, bytes];
}
