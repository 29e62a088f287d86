// Moves the datapoints of earlier releases, a row each in the table `datapoint`, into chunks; called when the store is
// opened, before anything else uses it. In steps of one transaction, so that a start that is cut off goes on later.
import type { DatabaseSync } from 'node:sqlite';
import { columnsOf } from '../../../domain/datapoints/columns.ts';
import { type Datapoint, orderOf } from '../../../domain/datapoints/datapoint.ts';
import { gather } from '../../shared/codec/gathering.ts';
import { cutForChunks } from '../../shared/sealing/chunk-plan.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import { ChunkWriter } from '../sealing/chunk-writer.ts';
import { openConnection } from './connection.ts';
import { fromColumn, type ValueColumn } from './value-column.ts';

/** Rows of one transaction. */
const stepRows = 65_536;

interface EarlierRow {
  readonly at: number;
  readonly seq: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: ValueColumn;
}

/** @returns how many datapoints were moved. */
export function moveEarlierDatapoints(path: string): number {
  const database = openConnection(path, { readOnly: false });
  try {
    if (!hasEarlierTable(database)) return 0;
    const chunks = new ChunkWriter(database);
    let moved = 0;
    for (let sensor = nextSensor(database); sensor !== undefined; sensor = nextSensor(database)) {
      moved += moveStep(database, chunks, sensor);
    }
    database.exec('DROP TABLE datapoint');
    return moved;
  } finally {
    database.close();
  }
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

/** The oldest datapoints of a sensor, up to where the time changes. */
function readStep(database: DatabaseSync, sensor: number): EarlierRow[] {
  const columns = 'SELECT at, seq, stamped, received, value FROM datapoint WHERE sensor = ?';
  const rows = database.prepare(`${columns} ORDER BY at, seq LIMIT ${stepRows}`).all(sensor) as unknown as EarlierRow[];
  const lastAt = (rows.at(-1) as EarlierRow).at;
  if (rows.length < stepRows || rows[0]?.at === lastAt) return rows;
  return rows.filter(({ at }) => at !== lastAt);
}

function toDatapoint({ at, stamped, received, value }: EarlierRow): Datapoint {
  const point = { timestampMs: stamped === 1 ? at : undefined, receivedMs: received, value: fromColumn(value) };
  // Where there is no time of measuring, the time of receiving has been the one that orders.
  return orderOf(point) === at ? point : { ...point, receivedMs: at };
}
