// What a database notes of moves. The table `moving`: a move into it has begun and not come to its end. The table `moved`: all it has was
// moved to a folder. With either no server starts on it.
import { Refusal } from '../../../base/refusal.ts';
import type { MoveResult } from '../../shared/move/move.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';

export interface Moved extends MoveResult {
  /** The folder that has the data. */
  readonly folder: string;
}

/** @throws Refusal `conflict` where a move into the database has not come to its end, or its data were moved to a folder. */
export async function assertNoMove(database: PostgresDatabase): Promise<void> {
  await assertNotMoving(database);
  const moved = await readMoved(database);
  if (moved !== undefined) throw movedRefusal(moved);
}

/** @throws Refusal `conflict` where a move into the database has not come to its end. */
export async function assertNotMoving(database: PostgresDatabase): Promise<void> {
  if (await isMovingInto(database))
    throw new Refusal(
      'conflict',
      'A move of data into the database (`dundun move`) has not come to its end. Run it again with the service stopped.',
    );
}

/** Whether a move into the database has begun, and not come to its end. */
export function isMovingInto(database: PostgresDatabase): Promise<boolean> {
  return hasTable(database, 'moving');
}

export function movedRefusal({ folder }: Moved): Refusal {
  return new Refusal(
    'conflict',
    `The data of the database were moved to the folder ${folder}: set DUNDUN_DATA_DIR to it, and DUNDUN_DATABASE_URL no more. To go on with the database as it was then, drop its table "moved".`,
  );
}

/** Undefined where the data were not moved. */
export async function readMoved(database: PostgresDatabase): Promise<Moved | undefined> {
  if (!(await hasTable(database, 'moved'))) return undefined;
  return (await database.query<Moved>('SELECT folder, sensors, datapoints FROM moved'))[0];
}

/** In the transaction of the caller. */
export async function noteMoved(connection: Connection, { folder, sensors, datapoints }: Moved): Promise<void> {
  await connection.query(`CREATE TABLE moved (one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    folder text NOT NULL, sensors bigint NOT NULL, datapoints bigint NOT NULL)`);
  await connection.query('INSERT INTO moved (folder, sensors, datapoints) VALUES ($1, $2, $3)', [
    folder,
    sensors,
    datapoints,
  ]);
}

async function hasTable(database: PostgresDatabase, name: string): Promise<boolean> {
  const sql = 'SELECT CAST(to_regclass($1) IS NOT NULL AS integer) AS found';
  return (await database.query<{ found: number }>(sql, [name]))[0]?.found === 1;
}
