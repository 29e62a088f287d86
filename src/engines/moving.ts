// Moves data between engines for `dundun move`: the one place that knows both ends.
import { Refusal } from '../base/refusal.ts';
import type { OnProgress } from '../domain/ports/maintenance.ts';
import { noteMoved } from './embedded/database/data-folder.ts';
import { isInUse, openBeside, openSealed } from './embedded/move/open-source.ts';
import { openEmbeddedEngine } from './embedded/open.ts';
import { migrate } from './postgres/database/migrate.ts';
import { PostgresDatabase } from './postgres/database/postgres-database.ts';
import { DatabaseTarget } from './postgres/move/database-target.ts';
import { isPostgres } from './postgres/postgres-maintenance.ts';
import { copyChunks, finishMove, type MoveResult } from './shared/move/move.ts';

export interface MoveOptions {
  /** The data folder. */
  readonly folder: string;
  /** The address of the database; it holds a password. */
  readonly to: string;
  readonly onStep: OnProgress;
}

/**
 * Copies what is large; and where no server uses the folder, moves all and notes so in the folder, on which no server starts any more.
 * Can be run again at any time until then.
 * @returns the chunks that were copied now; `moved` where all is.
 * @throws Refusal `malformed` where the address is none, `not-found` where the folder has no data, `conflict`, `storage`.
 */
export async function moveData({ folder, to, onStep }: MoveOptions): Promise<{
  readonly copied: number;
  readonly moved: MoveResult | undefined;
}> {
  if (!isPostgres(to))
    throw new Refusal('malformed', 'Name the database as postgres://user:password@host:5432/database.');
  const database = new PostgresDatabase(to);
  try {
    const target = new DatabaseTarget(database);
    const copied = await copyBeside({ folder, to, onStep }, target);
    const moved = isInUse(folder) ? undefined : await moveRest({ folder, to, onStep }, target);
    return { copied, moved };
  } finally {
    await database.close();
  }
}

async function copyBeside({ folder, to, onStep }: MoveOptions, target: DatabaseTarget): Promise<number> {
  const { source, close } = openBeside(folder);
  try {
    await migrate(to);
    await target.begin(folder);
    return await copyChunks(source, target, onStep);
  } finally {
    close();
  }
}

/** The engine keeps servers off the folder. */
async function moveRest({ folder, onStep }: MoveOptions, target: DatabaseTarget): Promise<MoveResult> {
  const engine = await openEmbeddedEngine(folder);
  try {
    onStep('compressing the last datapoints');
    await engine.seal();
    const { source, close } = openSealed(folder, () => engine.commitLog.newestReceivedMs());
    try {
      const moved = await finishMove(source, target, onStep);
      noteMoved(folder);
      return moved;
    } finally {
      close();
    }
  } finally {
    await engine.close();
  }
}
