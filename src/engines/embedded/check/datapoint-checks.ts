// Checks of the chunks and of the last datapoint of each sensor: can they be decoded, do their summaries agree, does
// their sensor exist?

import type { DatabaseSync } from 'node:sqlite';
import { type Columns, valueAt } from '../../../domain/datapoints/columns.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { summarize } from '../../shared/codec/chunk-summary.ts';
import { noSensor } from '../../shared/log/no-sensor.ts';
import { fromColumn, type ValueColumn } from '../database/value-column.ts';
import type { Check } from './check.ts';
import { piecesOf } from './log-checks.ts';

const oneByOne =
  'Restore a backup; or go on without them by `dundun check --forget-damaged`. Until then reads of that span are refused; the others are whole.';

interface ChunkRow {
  readonly id: number;
  readonly sensor: number;
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly numbers: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly bytes: Uint8Array;
}

export const datapointChecks: readonly Check[] = [
  {
    name: 'upgrade',
    asks: 'what an earlier release stored has all been moved into chunks',
    *run(database) {
      if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'datapoint'").get() === undefined) return;
      const count = database.prepare('SELECT count(*) AS count FROM datapoint').get()?.['count'];
      yield {
        what: `${count} datapoints lie in the table of an earlier release; the upgrade is not done.`,
        where: { table: 'datapoint' },
        advice: 'Start the service: it moves them before it takes work. Until then they are not looked at here.',
      };
    },
  },
  {
    name: 'chunks',
    asks: 'every chunk has the checksum, the datapoints, the span and the extremes that it says',
    *run(database) {
      const chunks = database.prepare('SELECT * FROM chunk ORDER BY id');
      for (const row of chunks.iterate() as Iterable<unknown>) {
        const chunk = row as ChunkRow;
        const what = lastingFaultOf(chunk);
        if (what !== undefined) yield { what: `A chunk ${what}.`, where: placeOf('chunk', chunk), advice: oneByOne };
      }
      const aside = database.prepare('SELECT sensor, first, last, count FROM damaged_chunk ORDER BY sensor, first');
      for (const row of aside.iterate() as Iterable<unknown>) {
        const chunk = row as ChunkRow;
        const what = `${chunk.count} datapoints were found damaged before and are kept aside.`;
        yield { what, where: placeOf('damaged_chunk', chunk), advice: oneByOne };
      }
    },
  },
  {
    name: 'order of chunks',
    asks: 'no chunk of a sensor reaches into the next, so that each datapoint is told once',
    *run(database) {
      let before: ChunkRow | undefined;
      const chunks = database.prepare('SELECT sensor, first, last FROM chunk ORDER BY sensor, first, last, id');
      for (const row of chunks.iterate() as Iterable<unknown>) {
        const chunk = row as ChunkRow;
        if (before?.sensor === chunk.sensor && before.last > chunk.first) {
          const advice = 'Reads of that span may come in a wrong order. Please report this.';
          yield { what: 'Two chunks overlap.', where: placeOf('chunk', chunk), advice };
        }
        before = chunk;
      }
    },
  },
  {
    name: 'sealing',
    asks: 'the pass of sealing that was under way lies within the log',
    *run(database) {
      const passes = database
        .prepare(
          `SELECT up_to, (SELECT count(*) FROM sealing) AS count FROM sealing
           WHERE up_to <= coalesce((SELECT value FROM counter WHERE name = 'sealed_seq'), 0)
             OR up_to > coalesce((SELECT max(first_seq + datapoints - 1) FROM log), 0) OR count > 1`,
        )
        .all();
      for (const { up_to } of passes) {
        const advice = 'Datapoints may be told twice or not at all. Restore a backup.';
        yield { what: `A pass up to datapoint ${up_to} is none.`, where: { table: 'sealing' }, advice };
      }
    },
  },
  {
    name: 'last datapoints',
    asks: 'what is told as the last value of a sensor is a value that it has had',
    *run(database) {
      const advice = 'Push a value to that sensor, or restore a backup.';
      const none = database.prepare(
        `SELECT DISTINCT sensor FROM chunk WHERE sensor NOT IN (SELECT sensor FROM latest)
           AND sensor NOT IN (SELECT sensor FROM purge)
           AND sensor >= coalesce((SELECT max(next_sensor) FROM sealing), 0)`,
      );
      for (const { sensor } of none.iterate()) {
        yield {
          what: 'There are datapoints, but no last one.',
          where: { table: 'latest', sensor: Number(sensor) },
          advice,
        };
      }
      for (const sensor of sensorsWithOtherLatest(database)) {
        yield { what: 'Another value is told as the last.', where: { table: 'latest', sensor }, advice };
      }
    },
  },
  {
    name: 'removed sensors',
    asks: 'of a removed sensor nothing is left that is not marked for removal',
    *run(database) {
      const isKnown = database.prepare(
        'SELECT EXISTS (SELECT 1 FROM sensor WHERE key = ?1) OR EXISTS (SELECT 1 FROM purge WHERE sensor = ?1) AS is_known',
      );
      for (const [table, sensors] of sensorsByTable(database)) {
        for (const sensor of sensors) {
          if (isKnown.get(sensor)?.['is_known'] === 1) continue;
          const advice = `Stop the service, then: INSERT INTO purge (sensor) VALUES (${sensor}). The next start removes them.`;
          yield { what: 'There are datapoints of a sensor that is not there.', where: { table, sensor }, advice };
        }
      }
    },
  },
];

function placeOf(table: string, { sensor, first, last }: Pick<ChunkRow, 'sensor' | 'first' | 'last'>) {
  return { table, sensor, fromMs: first, toMs: last };
}

/** How often a chunk is looked at before it counts as damaged. */
const looksMax = 3;

/**
 * What is wrong with a chunk however often it is looked at. What is right once is right: it has a checksum, and was read back
 * before it was stored. Code that V8 has just optimized reads a number wrong now and then (shared/sealing/written-chunk.ts): all
 * times of a chunk were 63 ms off once, and no backup was made.
 */
function lastingFaultOf(chunk: ChunkRow): string | undefined {
  let what: string | undefined;
  for (let look = 0; look < looksMax; look += 1) {
    what = faultOf(chunk);
    if (what === undefined) return undefined;
  }
  return what;
}

/** What is wrong with a chunk; undefined where nothing is. */
function faultOf(chunk: ChunkRow): string | undefined {
  if (!(chunk.bytes instanceof Uint8Array)) return 'has no bytes';
  const columns = decoded(chunk.bytes);
  if (columns instanceof CorruptChunk) return `cannot be read: ${columns.message.replace(/\.$/, '')}`;
  for (let index = 1; index < columns.count; index++) {
    if ((columns.at[index] as number) < (columns.at[index - 1] as number)) return 'is not in the order of time';
  }
  const { first, last, count, numbers, min, max } = summarize(columns);
  if (first !== chunk.first || last !== chunk.last || count !== chunk.count) {
    const found = `${count} datapoints from ${inWords(first)} to ${inWords(last)}`;
    return `has another span than it says: ${found}, not ${chunk.count} from ${inWords(chunk.first)} to ${inWords(chunk.last)}`;
  }
  if (numbers === chunk.numbers && (numbers === 0 || (min === chunk.min && max === chunk.max))) return undefined;
  const stated = `${chunk.numbers} from ${chunk.min} to ${chunk.max}`;
  return `has other extremes than it says: ${numbers} numbers from ${min} to ${max}, not ${stated}`;
}

/** The time as text; a damaged row may hold a number that is no date. */
function inWords(ms: number | null): string {
  const time = new Date(ms ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? String(ms) : time.toISOString();
}

function decoded(bytes: Uint8Array): Columns | CorruptChunk {
  try {
    return decodeChunk(bytes);
  } catch (error) {
    if (error instanceof CorruptChunk) return error;
    throw error;
  }
}

/** Sensors whose row in `latest` names a datapoint that a chunk has too, with another value. */
function* sensorsWithOtherLatest(database: DatabaseSync): Generator<number> {
  const rows = database.prepare(
    `SELECT latest.sensor, latest.at, latest.received, latest.value, chunk.bytes FROM latest
     JOIN chunk ON chunk.sensor = latest.sensor AND latest.at BETWEEN chunk.first AND chunk.last`,
  );
  for (const row of rows.iterate()) {
    const columns = decoded(row['bytes'] as Uint8Array);
    if (columns instanceof CorruptChunk) continue;
    const value = fromColumn(row['value'] as ValueColumn);
    let isThere = false;
    let isSame = false;
    for (let index = 0; index < columns.count; index++) {
      if (columns.at[index] !== row['at'] || columns.received[index] !== row['received']) continue;
      isThere = true;
      isSame ||= Object.is(valueAt(columns, index), value);
    }
    if (isThere && !isSame) yield Number(row['sensor']);
  }
}

function sensorsByTable(database: DatabaseSync): [string, Iterable<number>][] {
  return [
    ['chunk', sensorsOf(database, 'chunk')],
    ['latest', sensorsOf(database, 'latest')],
    ['log', sensorsOfLog(database)],
  ];
}

/**
 * The sensors of a table. Jumps in the index from one sensor to the next, so that the time does not depend on the
 * number of datapoints.
 */
function* sensorsOf(database: DatabaseSync, table: string): Generator<number> {
  const next = database.prepare(`SELECT min(sensor) AS sensor FROM ${table} WHERE sensor > ?`);
  for (let sensor: unknown = Number.MIN_SAFE_INTEGER; ; ) {
    sensor = next.get(sensor as number)?.['sensor'] ?? null;
    if (sensor === null) return;
    yield sensor as number;
  }
}

function sensorsOfLog(database: DatabaseSync): Set<number> {
  const sensors = new Set<number>();
  for (const { rows } of piecesOf(database, 'log'))
    for (let at = 0; at < rows.length; at += rowNumbers) sensors.add(rows[at] as number);
  sensors.delete(noSensor);
  return sensors;
}
