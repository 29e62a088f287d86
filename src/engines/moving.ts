// Moves data between engines for `dundun move`: the one place that knows both ends.
import { resolve } from 'node:path';
import { randomIds } from '../base/ids.ts';
import { Refusal } from '../base/refusal.ts';
import { systemClock } from '../base/time/clock.ts';
import type { OnProgress } from '../domain/ports/maintenance.ts';
import { noteMoved, readMovedMark, syncMovedNote } from './embedded/database/data-folder.ts';
import { FolderTarget } from './embedded/move/folder-target.ts';
import { isInUse, openBeside, openSealed, type SealedEnd } from './embedded/move/open-source.ts';
import { openEmbeddedEngine } from './embedded/open.ts';
import { type HeldTables, holdTables } from './postgres/database/held-tables.ts';
import { examine, migrate } from './postgres/database/migrate.ts';
import { PostgresDatabase } from './postgres/database/postgres-database.ts';
import { tablesByCitus } from './postgres/distribution-checks.ts';
import { DatabaseTarget } from './postgres/move/database-target.ts';
import { assertNotMoving, movedRefusal, readMoved } from './postgres/move/move-notes.ts';
import * as ofDatabase from './postgres/move/open-source.ts';
import { openPostgresEngine } from './postgres/open.ts';
import { isPostgres } from './postgres/postgres-maintenance.ts';
import { copyChunks, finishMove, type MoveResult } from './shared/move/move.ts';

export interface MoveOptions {
  /** The data folder; not used where there is `databaseUrl`. */
  readonly dataDir: string;
  /** The database that has the data, where they are in one; it holds a password. */
  readonly databaseUrl?: string | undefined;
  /** The address of a database, with a password; or a folder, for the way back. */
  readonly to: string;
  readonly onStep: OnProgress;
}

export interface MoveOutcome {
  /** The chunks that were copied now. */
  readonly copied: number;
  /** Where all is moved. */
  readonly moved: MoveResult | undefined;
}

/**
 * Copies what is large; and where no server uses the data, moves all and notes so where they were, on which no server starts any more.
 * Can be run again at any time until then.
 * @throws Refusal `malformed` where data cannot be moved there, `not-found` where the folder has no data, `conflict`, `storage`.
 */
export async function moveData(options: MoveOptions): Promise<MoveOutcome> {
  // Parts of an engine wait for a database that is away by timers that keep no process.
  const awake = setInterval(() => {}, 60_000);
  try {
    return await moveBetween(options);
  } finally {
    clearInterval(awake);
  }
}

function moveBetween({ dataDir, databaseUrl, to, onStep }: MoveOptions): Promise<MoveOutcome> {
  if (databaseUrl === undefined && isPostgres(to)) return moveToDatabase({ folder: dataDir, url: to, onStep });
  if (databaseUrl !== undefined && !to.includes('://')) return moveToFolder({ folder: to, url: databaseUrl, onStep });
  throw new Refusal(
    'malformed',
    databaseUrl === undefined
      ? 'Name the database as postgres://user:password@host:5432/database.'
      : 'The data are in a database already (DUNDUN_DATABASE_URL). Name a folder, to which they are moved back.',
  );
}

interface Ends {
  readonly folder: string;
  readonly url: string;
  readonly onStep: OnProgress;
}

async function moveToDatabase({ folder, url, onStep }: Ends): Promise<MoveOutcome> {
  const database = new PostgresDatabase(url);
  try {
    await examine(url, '--to');
    await assertNotDistributed(database);
    const target = new DatabaseTarget(database);
    // Cut off behind the note in the folder: all is there.
    const mark = readMovedMark(folder);
    const left = mark === undefined ? undefined : await target.comparedAs(mark);
    if (left !== undefined) {
      syncMovedNote(folder);
      await target.finish();
      return { copied: 0, moved: left };
    }
    const copied = await copyOfFolder({ folder, url, onStep }, target);
    const moved = isInUse(folder) ? undefined : await moveRestOfFolder(folder, target, onStep);
    return { copied, moved };
  } finally {
    await database.close();
  }
}

async function copyOfFolder({ folder, url, onStep }: Ends, target: DatabaseTarget): Promise<number> {
  const { source, close } = openBeside(folder);
  try {
    await migrate(url, '--to');
    await target.begin(folder);
    return await copyChunks(source, target, onStep);
  } finally {
    close();
  }
}

async function moveRestOfFolder(folder: string, target: DatabaseTarget, onStep: OnProgress): Promise<MoveResult> {
  onStep('compressing the last datapoints');
  const { source, close } = openSealed(folder, await sealFolder(folder));
  try {
    const moved = await finishMove(source, target, onStep);
    const mark = randomIds.uuid();
    await target.noteCompared(moved, mark);
    // First this: with neither note two servers could start, each on data of its own.
    noteMoved(folder, mark);
    await target.finish();
    return moved;
  } finally {
    close();
  }
}

async function sealFolder(folder: string): Promise<SealedEnd> {
  const engine = await openEmbeddedEngine(folder);
  try {
    await engine.seal();
    const { commitLog } = engine;
    return { lastSeq: commitLog.lastPosition, newestReceivedMs: await commitLog.newestReceivedMs() };
  } finally {
    await engine.close();
  }
}

async function moveToFolder({ folder, url, onStep }: Ends): Promise<MoveOutcome> {
  const database = new PostgresDatabase(url);
  let tables: HeldTables | undefined;
  try {
    await migrate(url);
    await assertNotMoving(database);
    tables = await holdTables(database);
    await assertNotDistributed(database);
    const before = await readMoved(database);
    // Cut off behind the note in the database: all is there.
    const isLeft = before?.folder === resolve(folder) && FolderTarget.isHalf(folder);
    if (before !== undefined && !isLeft) throw movedRefusal(before);
    const target = await FolderTarget.open(folder, nameOf(url));
    try {
      if (before !== undefined) {
        await target.finish();
        return { copied: 0, moved: before };
      }
      const copied = await copyOfDatabase(database, target, onStep);
      return { copied, moved: await moveRestOfDatabase(database, { folder, url, onStep }, target) };
    } finally {
      target.close();
    }
  } finally {
    await tables?.close();
    await database.close();
  }
}

async function copyOfDatabase(database: PostgresDatabase, target: FolderTarget, onStep: OnProgress): Promise<number> {
  const { source, close } = await ofDatabase.openBeside(database);
  try {
    return await copyChunks(source, target, onStep);
  } finally {
    await close();
  }
}

/** @returns undefined where a server uses the database. */
async function moveRestOfDatabase(
  database: PostgresDatabase,
  { folder, url, onStep }: Ends,
  target: FolderTarget,
): Promise<MoveResult | undefined> {
  if (await ofDatabase.isInUse(database)) return undefined;
  onStep('compressing the last datapoints');
  const engine = await openPostgresEngine(url, { clock: systemClock });
  try {
    await engine.seal();
  } finally {
    await engine.close();
  }
  const sealed = await ofDatabase.openSealed(database);
  if (sealed === undefined) return undefined;
  try {
    const moved = await finishMove(sealed.source, target, onStep);
    // First this: with neither note two servers could start, each on data of its own.
    await sealed.noteMoved({ folder: resolve(folder), ...moved });
    await target.finish();
    return moved;
  } finally {
    await sealed.close();
  }
}

/** @throws Refusal `conflict` where Citus has distributed tables of the database: moves read and write them as those of one server. */
async function assertNotDistributed(database: PostgresDatabase): Promise<void> {
  if ((await tablesByCitus(database)).size > 0)
    throw new Refusal(
      'conflict',
      'Citus has distributed tables of the database: its data are not moved. Data are moved to a database before it is distributed.',
    );
}

/** A database without who signs in to it. */
function nameOf(url: string): string {
  const { protocol, host, pathname, searchParams } = new URL(url);
  const socket = searchParams.get('host');
  return `${protocol}//${host}${pathname}${socket === null ? '' : `?host=${socket}`}`;
}
