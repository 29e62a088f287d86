// Moves the datapoints of the earliest releases, which stored one row each in the table `datapoint`, into chunks. Runs
// when the store is opened, before anything else uses it. Each step is one transaction, so that an interrupted start
// continues where it stopped.
import type { DatabaseSync } from 'node:sqlite';
import { columnsOf } from '../../../domain/datapoints/columns.ts';
import { type Datapoint, orderOf } from '../../../domain/datapoints/datapoint.ts';
import { gather } from '../../shared/codec/gathering.ts';
import { cutForChunks } from '../../shared/sealing/chunk-plan.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import { fromColumn, type ValueColumn } from '../database/value-column.ts';
import { ChunkWriter } from './chunk-writer.ts';

/** Rows moved in one transaction. */
const stepRows = 65_536;

interface EarlierRow {
  readonly at: number;
  readonly seq: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: ValueColumn;
}

/** @returns the number of datapoints moved. */
export function moveEarlierDatapoints(database: DatabaseSync): number {
  if (!hasEarlierTable(database)) return 0;
  const chunks = new ChunkWriter(database);
  let moved = 0;
  for (let sensor = nextSensor(database); sensor !== undefined; sensor = nextSensor(database)) {
    moved += moveStep(database, chunks, sensor);
  }
  database.exec('DROP TABLE datapoint');
  return moved;
}

function hasEarlierTable(database: DatabaseSync): boolean {
  return (
    database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'datapoint'").get() !== undefined
  );
}

function nextSensor(database: DatabaseSync): number | undefined {
  return database.prepare('SELECT sensor FROM datapoint LIMIT 1').get()?.['sensor'] as number | undefined;
}

function moveStep(database: DatabaseSync, chunks: ChunkWriter, sensor: number): number {
  const rows = readStep(database, sensor);
  const last = rows.at(-1) as EarlierRow;
  const columns = columnsOf(rows.map(toDatapoint));
  database.exec('BEGIN IMMEDIATE');
  for (const slice of cutForChunks(columns)) {
    const some = gather([slice]);
    chunks.add({ sensor, ...writeChunk(some) });
  }
  database.prepare('DELETE FROM datapoint WHERE sensor = ? AND (at, seq) <= (?, ?)').run(sensor, last.at, last.seq);
  database.exec('COMMIT');
  return rows.length;
}

/**
 * The oldest rows of a sensor. A step ends where the time changes, so that datapoints of one time go into the same
 * chunk.
 */
function readStep(database: DatabaseSync, sensor: number): EarlierRow[] {
  const columns = 'SELECT at, seq, stamped, received, value FROM datapoint WHERE sensor = ?';
  const rows = database.prepare(`${columns} ORDER BY at, seq LIMIT ${stepRows}`).all(sensor) as unknown as EarlierRow[];
  const lastAt = (rows.at(-1) as EarlierRow).at;
  if (rows.length < stepRows || rows[0]?.at === lastAt) return rows;
  return rows.filter(({ at }) => at !== lastAt);
}

function toDatapoint({ at, stamped, received, value }: EarlierRow): Datapoint {
  const point = { timestampMs: stamped === 1 ? at : undefined, receivedMs: received, value: fromColumn(value) };
  // Without a timestamp the datapoint was ordered by `at`, which therefore is its time of receiving.
  return orderOf(point) === at ? point : { ...point, receivedMs: at };
}
