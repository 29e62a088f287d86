// The port Series on SQLite: what StepwiseSeries needs of the database, the last datapoints, and what removes or corrects.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { Asker } from '../../../domain/callers/asker.ts';
import type { ArrivedDatapoint } from '../../../domain/datapoints/datapoint.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type {
  RangeQuery,
  RangeStep,
  Series,
  SeriesCorrection,
  SeriesRange,
  SeriesRemoval,
  TextQuery,
  TextStep,
} from '../../../domain/ports/series.ts';
import type { Head } from '../../shared/head/head.ts';
import { type HeadPart, wholeRange } from '../../shared/head/head-part.ts';
import type { LongReads } from '../../shared/reads/long-reads.ts';
import { textStep } from '../../shared/reads/series-computations.ts';
import { SeriesReader } from '../../shared/reads/series-reader.ts';
import { StepwiseSeries } from '../../shared/reads/stepwise-series.ts';
import { fromColumn, type ValueColumn } from '../database/value-column.ts';
import type { LogFollower } from '../log/log-follower.ts';
import { ChunkReader } from './chunk-reader.ts';

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: ValueColumn;
}

export class SqliteSeries extends StepwiseSeries implements Series {
  readonly #head: Head;
  readonly #latest: StatementSync;
  readonly #latestTimes: StatementSync;
  readonly #series: SeriesReader;
  readonly #retention: Pick<Series, 'oldest' | 'removeBefore'>;
  readonly #edits: Pick<Series, 'remove' | 'correct'>;

  constructor(parts: {
    readonly reader: DatabaseSync;
    readonly head: Head;
    readonly follower: LogFollower;
    readonly longReads: LongReads;
    /** Deletes what is too old. */
    readonly retention: Pick<Series, 'oldest' | 'removeBefore'>;
    /** Removes and corrects datapoints. */
    readonly edits: Pick<Series, 'remove' | 'correct'>;
  }) {
    super(parts);
    const { reader } = parts;
    this.#head = parts.head;
    this.#retention = parts.retention;
    this.#edits = parts.edits;
    this.#series = new SeriesReader(new ChunkReader(reader, { decodedBytesMax: limits.decodedBytesShortReads }));
    this.#latestTimes = reader.prepare(latestTimesSql);
    this.#latest = reader.prepare('SELECT seq, at, stamped, received, value FROM latest WHERE sensor = ?');
  }

  protected readRange(query: RangeQuery, part: HeadPart): RangeStep {
    return this.#series.read(query, part);
  }

  protected readText(query: TextQuery, part: HeadPart): TextStep {
    return textStep(this.#series, query, part, (bytes) => new Uint8Array(bytes));
  }

  protected readLatest(sensor: SensorKey): ArrivedDatapoint | undefined {
    const row = this.#latest.get(sensor) as Row | undefined;
    return row && toDatapoint(row);
  }

  protected readLatestTimes(sensors: readonly SensorKey[]): Map<SensorKey, number> {
    const rows = this.#latestTimes.all(JSON.stringify(sensors)) as unknown as {
      sensor: SensorKey;
      last: number | null;
    }[];
    return new Map(rows.flatMap(({ sensor, last }) => (last === null ? [] : [[sensor, last] as const])));
  }

  async count(range: SeriesRange, max: number): Promise<number> {
    return this.#series.count(range, this.partFor(wholeRange(range)).part, max);
  }

  async latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>> {
    const found = new Map<SensorKey, ArrivedDatapoint>();
    for (const sensor of sensors) {
      const point = this.#head.latest(sensor) ?? this.readLatest(sensor);
      if (point !== undefined) found.set(sensor, point);
    }
    return found;
  }

  removeBefore(sensor: SensorKey, beforeMs: number): Promise<number> {
    return this.#retention.removeBefore(sensor, beforeMs);
  }

  remove(removal: SeriesRemoval, asker: Asker): Promise<number> {
    return this.#edits.remove(removal, asker);
  }

  correct(correction: SeriesCorrection, asker: Asker): Promise<number> {
    return this.#edits.correct(correction, asker);
  }

  oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    return this.#retention.oldest(sensors);
  }
}

/** Chunks of a sensor do not overlap: the one that begins last ends last. */
const latestTimesSql = `SELECT one.value AS sensor,
    (SELECT last FROM chunk WHERE chunk.sensor = one.value ORDER BY first DESC, last DESC LIMIT 1) AS last
  FROM json_each(?) AS one`;

function toDatapoint(row: Row): ArrivedDatapoint {
  const timestampMs = row.stamped === 1 ? row.at : undefined;
  return { seq: row.seq, timestampMs, receivedMs: row.received, value: fromColumn(row.value) };
}
