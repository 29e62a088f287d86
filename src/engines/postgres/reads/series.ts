// The port Series on PostgreSQL: reads chunks and the head. Short reads are made on the main thread, long ones in the reader
// thread, and chunks are changed in the store thread, so that ingest waits for none of them.
import { limits } from '../../../config/limits.ts';
import { type Asker, assertThere } from '../../../domain/callers/asker.ts';
import { loopTurns } from '../../../domain/callers/loop-turns.ts';
import { datapointAt } from '../../../domain/datapoints/columns.ts';
import type { ArrivedDatapoint } from '../../../domain/datapoints/datapoint.ts';
import { serviceCaller } from '../../../domain/datapoints/ingest/writer-queue.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { ReadCounts } from '../../../domain/ports/engine.ts';
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
import { headPartFor, type NeededPart, wholeRange } from '../../shared/head/head-part.ts';
import { keyOf } from '../../shared/log/log-entries.ts';
import type { HeadPartRequest, LongReads } from '../../shared/reads/long-reads.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { fromColumns } from '../database/value-column.ts';
import type { LogFollower } from '../log/log-follower.ts';
import { refusalOfWork, type Store } from '../log/store.ts';
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

interface SeriesParts {
  readonly database: PostgresDatabase;
  readonly head: Head;
  readonly follower: LogFollower;
  readonly longReads: LongReads;
  readonly store: Store;
  /** Removes and corrects datapoints. */
  readonly edits: Pick<Series, 'remove' | 'correct'>;
}

export class PostgresSeries implements Series {
  readonly #parts: SeriesParts;
  readonly #steps: StepReader;

  constructor(parts: SeriesParts) {
    this.#parts = parts;
    const allocate = (bytes: number) => new Uint8Array(bytes);
    const query = <Row>(sql: string, parameters: readonly unknown[]) => parts.database.query<Row>(sql, parameters);
    this.#steps = new StepReader(query, { decodedBytesMax: limits.decodedBytesShortReads, allocate });
  }

  /** What the reader thread has done and has to do. */
  get reads(): ReadCounts {
    return this.#parts.longReads;
  }

  close(): Promise<void> {
    return this.#parts.longReads.close();
  }

  async range(query: RangeQuery, asker: Asker): Promise<RangeStep> {
    const partOf = () => this.#partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#parts.longReads.ask('range', query, { asker, partOf });
    await loopTurns.turn(asker.caller);
    assertThere(asker);
    return (await this.#steps.read({ kind: 'range', query, part: partOf().part })) as RangeStep;
  }

  async aggregate(query: AggregateQuery, asker: Asker): Promise<AggregateStep> {
    return this.#parts.longReads.ask('aggregate', query, { asker, partOf: () => this.#partFor(query) });
  }

  async downsample(query: DownsampleQuery, asker: Asker): Promise<DownsampleStep> {
    // The first step needs the whole range: it looks for the first and the last time.
    const needed = query.open === undefined ? wholeRange(query) : query;
    return this.#parts.longReads.ask('downsample', query, { asker, partOf: () => this.#partFor(needed) });
  }

  async text(query: TextQuery, asker: Asker): Promise<TextStep> {
    const partOf = () => this.#partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#parts.longReads.ask('text', query, { asker, partOf });
    await loopTurns.turn(asker.caller);
    assertThere(asker);
    return (await this.#steps.read({ kind: 'text', query, part: partOf().part })) as TextStep;
  }

  release(text: Uint8Array): void {
    this.#parts.longReads.release(text);
  }

  count(range: SeriesRange, max: number): Promise<number> {
    return this.#steps.count(range, this.#partFor(wholeRange(range)).part, max);
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
    for (const row of await this.#readLatest(sealed)) found.set(row.sensor as SensorKey, toDatapoint(row));
    return found;
  }

  async latestUpTo(sensor: SensorKey, seq: number): Promise<ArrivedDatapoint | undefined> {
    const { head, follower } = this.#parts;
    const logged = head.latestUpTo(sensor, seq);
    if (logged !== undefined) return logged;
    const [row] = await this.#readLatest([sensor]);
    const latest = row && toDatapoint(row);
    if (latest === undefined || latest.seq <= seq) return latest;
    const kept = await follower.latestUpTo(sensor, seq);
    if (kept !== undefined) return kept;
    // Once sealed, a datapoint has no seq. Those received later than `seq` are recognised by their time of receiving,
    // or by the rows kept for the watcher.
    const receivedMs = (await follower.receivedMsOf(seq)) ?? Number.POSITIVE_INFINITY;
    const later = await follower.countBehind(sensor, seq);
    const query = { sensor, descending: true, limit: limits.readStepRows };
    const { columns } = await this.range(query, { caller: serviceCaller });
    let found: ArrivedDatapoint | undefined;
    // From newest to oldest: of datapoints that look alike, the later ones are those behind `seq`.
    for (let index = 0; index < columns.count; index++) {
      const point = datapointAt(columns, index);
      const count = later.get(keyOf(point)) ?? 0;
      if (count > 0) later.set(keyOf(point), count - 1);
      else if (point.receivedMs <= receivedMs && point.receivedMs > (found?.receivedMs ?? Number.NEGATIVE_INFINITY))
        found = { ...point, seq };
    }
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

  async oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    const rows = await this.#parts.database.query<{ sensor: number; at: number | null }>(oldestSql, [sensors]);
    return new Map(rows.flatMap(({ sensor, at }) => (at === null ? [] : [[sensor as SensorKey, at] as const])));
  }

  /** The part of the head that a read may need. */
  #partFor(needed: NeededPart): HeadPartRequest {
    const { head } = this.#parts;
    const part = headPartFor(needed, head.partFor(needed));
    return { part, isKept: head.isKept(part) };
  }

  #readLatest(sensors: readonly SensorKey[]): Promise<LatestRow[]> {
    return this.#parts.database.query<LatestRow>(latestSql, [sensors]);
  }
}

const latestSql = `SELECT sensor, position, at, stamped, received, number, text FROM series
  WHERE sensor = ANY(CAST($1 AS bigint[])) AND at IS NOT NULL`;
const oldestSql = `SELECT sensor, least((SELECT min(first) FROM chunk WHERE chunk.sensor = one.sensor),
    (SELECT min(last) FROM damaged_chunk WHERE damaged_chunk.sensor = one.sensor)) AS at
  FROM unnest(CAST($1 AS bigint[])) AS one(sensor)`;

function toDatapoint(row: LatestRow): ArrivedDatapoint {
  const timestampMs = row.stamped === 1 ? row.at : undefined;
  return { seq: row.position, timestampMs, receivedMs: row.received, value: fromColumns(row) };
}
