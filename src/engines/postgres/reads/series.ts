// The port Series on PostgreSQL: what StepwiseSeries needs of the database, the last datapoints, and what removes or corrects.
// Chunks are changed in the store thread, so that ingest does not wait for it.
import { limits } from '../../../config/limits.ts';
import type { Asker } from '../../../domain/callers/asker.ts';
import type { ArrivedDatapoint } from '../../../domain/datapoints/datapoint.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type {
  AggregateQuery,
  AggregateStep,
  DownsampleQuery,
  DownsampleStep,
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
import { StepwiseSeries } from '../../shared/reads/stepwise-series.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { fromColumns } from '../database/value-column.ts';
import type { LogFollower } from '../log/log-follower.ts';
import { refusalOfWork, type Store } from '../log/store.ts';
import type { StandbySource } from './chunk-reader.ts';
import { StepReader } from './step-reader.ts';

interface LatestRow {
  readonly sensor: number;
  readonly position: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly number: number | null;
  readonly text: string | null;
}

interface TimeRow {
  readonly sensor: number;
  readonly at: number | null;
}

interface SeriesParts {
  readonly database: PostgresDatabase;
  readonly head: Head;
  readonly follower: LogFollower;
  readonly longReads: LongReads;
  readonly store: Store;
  /** What is asked for chunks first. */
  readonly standby: StandbySource | undefined;
  /** Resolves when this server knows what others have stored. @throws Refusal `storage` */
  readonly beforeRead: () => Promise<void>;
  /** Removes and corrects datapoints. */
  readonly edits: Pick<Series, 'remove' | 'correct'>;
}

export class PostgresSeries extends StepwiseSeries implements Series {
  readonly #parts: SeriesParts;
  readonly #steps: StepReader;

  constructor(parts: SeriesParts) {
    super(parts);
    this.#parts = parts;
    const allocate = (bytes: number) => new Uint8Array(bytes);
    const decodedBytesMax = limits.decodedBytesShortReads;
    this.#steps = new StepReader(parts.database, { decodedBytesMax, allocate, standby: parts.standby });
  }

  override async range(query: RangeQuery, asker: Asker): Promise<RangeStep> {
    await this.#parts.beforeRead();
    return super.range(query, asker);
  }

  override async aggregate(query: AggregateQuery, asker: Asker): Promise<AggregateStep> {
    await this.#parts.beforeRead();
    return super.aggregate(query, asker);
  }

  override async downsample(query: DownsampleQuery, asker: Asker): Promise<DownsampleStep> {
    await this.#parts.beforeRead();
    return super.downsample(query, asker);
  }

  override async text(query: TextQuery, asker: Asker): Promise<TextStep> {
    await this.#parts.beforeRead();
    return super.text(query, asker);
  }

  protected async readRange(query: RangeQuery, part: HeadPart): Promise<RangeStep> {
    return (await this.#steps.read({ kind: 'range', query, part })) as RangeStep;
  }

  protected async readText(query: TextQuery, part: HeadPart): Promise<TextStep> {
    return (await this.#steps.read({ kind: 'text', query, part })) as TextStep;
  }

  protected async readLatest(sensor: SensorKey): Promise<ArrivedDatapoint | undefined> {
    const [row] = await this.#latestRows([sensor]);
    return row && toDatapoint(row);
  }

  protected async readLatestTimes(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    return this.#timesOf(sensors, { allSql: latestTimesSql, oneSql: latestTimeSql });
  }

  /** By shard with a statement for each. */
  async #timesOf(
    sensors: readonly SensorKey[],
    { allSql, oneSql }: { readonly allSql: string; readonly oneSql: string },
  ): Promise<Map<SensorKey, number>> {
    const { database } = this.#parts;
    const rows: TimeRow[] = [];
    if (!database.isByShard) rows.push(...(await database.query<TimeRow>(allSql, [sensors])));
    else for (const sensor of sensors) rows.push(...(await database.query<TimeRow>(oneSql, [sensor])));
    return new Map(rows.flatMap(({ sensor, at }) => (at === null ? [] : [[sensor as SensorKey, at] as const])));
  }

  count(range: SeriesRange, max: number): Promise<number> {
    return this.#steps.count(range, this.partFor(wholeRange(range)).part, max);
  }

  async latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>> {
    const found = new Map<SensorKey, ArrivedDatapoint>();
    const sealed: SensorKey[] = [];
    for (const sensor of sensors) {
      const point = this.#parts.head.latest(sensor);
      if (point === undefined) sealed.push(sensor);
      else found.set(sensor, point);
    }
    if (sealed.length === 0) return found;
    for (const row of await this.#latestRows(sealed)) found.set(row.sensor as SensorKey, toDatapoint(row));
    return found;
  }

  async removeBefore(sensor: SensorKey, beforeMs: number): Promise<number> {
    try {
      return await this.#parts.store.ask('removeBefore', { sensor, beforeMs });
    } catch (error) {
      throw refusalOfWork(error);
    }
  }

  remove(removal: SeriesRemoval, asker: Asker): Promise<number> {
    return this.#parts.edits.remove(removal, asker);
  }

  correct(correction: SeriesCorrection, asker: Asker): Promise<number> {
    return this.#parts.edits.correct(correction, asker);
  }

  oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    return this.#timesOf(sensors, { allSql: oldestSql, oneSql: oldestOfOneSql });
  }

  #latestRows(sensors: readonly SensorKey[]): Promise<LatestRow[]> {
    const [sensor, ...others] = sensors;
    if (others.length === 0) return this.#parts.database.query<LatestRow>(latestOfOneSql, [sensor]);
    return this.#parts.database.query<LatestRow>(latestSql, [sensors]);
  }
}

const latestOf = (which: string) => `SELECT sensor, position, at, stamped, received, number, text FROM series
  WHERE ${which} AND at IS NOT NULL`;
const latestSql = latestOf('sensor = ANY(CAST($1 AS bigint[]))');
const latestOfOneSql = latestOf('sensor = $1');
/** Chunks of a sensor do not overlap: the one that begins last ends last. */
const latestTimesSql = `SELECT sensor,
    (SELECT last FROM chunk WHERE chunk.sensor = one.sensor ORDER BY first DESC, last DESC LIMIT 1) AS at
  FROM unnest(CAST($1 AS bigint[])) AS one(sensor)`;
const latestTimeSql = 'SELECT sensor, last AS at FROM chunk WHERE sensor = $1 ORDER BY first DESC, last DESC LIMIT 1';
const oldestOfOneSql = `SELECT CAST($1 AS bigint) AS sensor, min(one.at) AS at FROM (
  SELECT min(first) AS at FROM chunk WHERE sensor = $1
  UNION ALL SELECT min(last) AS at FROM damaged_chunk WHERE sensor = $1) AS one`;
const oldestSql = `SELECT sensor, least((SELECT min(first) FROM chunk WHERE chunk.sensor = one.sensor),
    (SELECT min(last) FROM damaged_chunk WHERE damaged_chunk.sensor = one.sensor)) AS at
  FROM unnest(CAST($1 AS bigint[])) AS one(sensor)`;

function toDatapoint(row: LatestRow): ArrivedDatapoint {
  const timestampMs = row.stamped === 1 ? row.at : undefined;
  return { seq: row.position, timestampMs, receivedMs: row.received, value: fromColumns(row) };
}
