// The epochs of leases, rows of the table `counter`. The writer thread counts them, so that the new holder of a lease
// sees everything that was written under it before, and compares them inside each transaction that writes under a
// lease.
import type { DatabaseSync } from 'node:sqlite';
import type { Fence, LeaseName } from '../../../domain/ports/coordination.ts';
import type { DatabaseWriter } from '../database/database-writer.ts';

const rowOf = (name: LeaseName) => `lease ${name}`;

const countOne = `INSERT INTO counter (name, value) VALUES (?, 1)
  ON CONFLICT (name) DO UPDATE SET value = value + 1`;

/** Stores and returns the next epoch of a lease. */
export async function countEpoch(
  name: LeaseName,
  { writer, reader }: { readonly writer: Pick<DatabaseWriter, 'write'>; readonly reader: DatabaseSync },
): Promise<number> {
  await writer.write([{ sql: countOne, parameters: [rowOf(name)] }], { isWeighed: false });
  return readEpoch(reader)(name);
}

/** A function that reads the newest epoch of a lease; 0 where nobody has taken it. */
function readEpoch(database: DatabaseSync): (name: LeaseName) => number {
  const epoch = database.prepare('SELECT value FROM counter WHERE name = ?');
  return (name) => Number(epoch.get(rowOf(name))?.['value'] ?? 0);
}

/** A function that tells whether a lease was taken with a greater epoch. */
export function fenceCheck(database: DatabaseSync): (fence: Fence) => boolean {
  const newest = readEpoch(database);
  return ({ name, epoch }) => newest(name) > epoch;
}
