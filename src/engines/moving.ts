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
  const beside = openBeside(folder);
  const database = new PostgresDatabase(to);
  try {
    await migrate(to);
    const target = new DatabaseTarget(database);
    await target.begin(folder);
    const copied = await copyChunks(beside.source, target, onStep);
    beside.close();
    if (isInUse(folder)) return { copied, moved: undefined };
    const engine = await openEmbeddedEngine(folder);
    try {
      onStep('compressing the last datapoints');
      await engine.seal();
      const sealed = openSealed(folder, () => engine.commitLog.newestReceivedMs());
      const moved = await finishMove(sealed.source, target, onStep);
      sealed.close();
      noteMoved(folder);
      return { copied, moved };
    } finally {
      await engine.close();
    }
  } finally {
    await database.close();
  }
}
