// The port Series on SQLite: reads chunks and the head. Short reads run on the main thread, long ones on the reader
// thread, so that ingest does not wait for them.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
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
import { textStep } from '../../shared/reads/series-computations.ts';
import { SeriesReader } from '../../shared/reads/series-reader.ts';
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

export class SqliteSeries implements Series {
  readonly #head: Head;
  readonly #follower: LogFollower;
  readonly #latest: StatementSync;
  readonly #series: SeriesReader;
  readonly #longReads: LongReads;
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
    const { reader } = parts;
    this.#head = parts.head;
    this.#follower = parts.follower;
    this.#retention = parts.retention;
    this.#edits = parts.edits;
    this.#series = new SeriesReader(new ChunkReader(reader, { decodedBytesMax: limits.decodedBytesShortReads }));
    this.#longReads = parts.longReads;
    this.#latest = reader.prepare('SELECT seq, at, stamped, received, value FROM latest WHERE sensor = ?');
  }

  /** What the reader thread has done and has to do. */
  get reads(): ReadCounts {
    return this.#longReads;
  }

  close(): Promise<void> {
    return this.#longReads.close();
  }

  async range(query: RangeQuery, asker: Asker): Promise<RangeStep> {
    const partOf = () => this.#partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#longReads.ask('range', query, { asker, partOf });
    await loopTurns.turn(asker.caller);
    assertThere(asker);
    return this.#series.read(query, partOf().part);
  }

  async aggregate(query: AggregateQuery, asker: Asker): Promise<AggregateStep> {
    return this.#longReads.ask('aggregate', query, { asker, partOf: () => this.#partFor(query) });
  }

  async downsample(query: DownsampleQuery, asker: Asker): Promise<DownsampleStep> {
    // The first step needs the whole range: it looks for the first and the last time.
    const needed = query.open === undefined ? wholeRange(query) : query;
    return this.#longReads.ask('downsample', query, { asker, partOf: () => this.#partFor(needed) });
  }

  async text(query: TextQuery, asker: Asker): Promise<TextStep> {
    const partOf = () => this.#partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#longReads.ask('text', query, { asker, partOf });
    await loopTurns.turn(asker.caller);
    assertThere(asker);
    return textStep(this.#series, query, partOf().part, (bytes) => new Uint8Array(bytes));
  }

  release(text: Uint8Array): void {
    this.#longReads.release(text);
  }

  async count(range: SeriesRange, max: number): Promise<number> {
    return this.#series.count(range, this.#partFor(wholeRange(range)).part, max);
  }

  async latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>> {
    const found = new Map<SensorKey, ArrivedDatapoint>();
    for (const sensor of sensors) {
      const point = this.#head.latest(sensor) ?? this.#readLatest(sensor);
      if (point !== undefined) found.set(sensor, point);
    }
    return found;
  }

  async latestUpTo(sensor: SensorKey, seq: number): Promise<ArrivedDatapoint | undefined> {
    const logged = this.#head.latestUpTo(sensor, seq);
    if (logged !== undefined) return logged;
    const latest = this.#readLatest(sensor);
    if (latest === undefined || latest.seq <= seq) return latest;
    const kept = this.#follower.latestUpTo(sensor, seq);
    if (kept !== undefined) return kept;
    // Once sealed, a datapoint has no seq. Those received later than `seq` are recognised by their time of receiving,
    // or by the rows kept for the watcher.
    const receivedMs = this.#follower.receivedMsOf(seq) ?? Number.POSITIVE_INFINITY;
    const { columns } = await this.range(
      { sensor, descending: true, limit: limits.readStepRows },
      { caller: serviceCaller },
    );
    const later = this.#follower.countBehind(sensor, seq);
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

  /** The part of the head that a read may need. */
  #partFor(needed: NeededPart): HeadPartRequest {
    const part = headPartFor(needed, this.#head.partFor(needed));
    return { part, isKept: this.#head.isKept(part) };
  }

  #readLatest(sensor: SensorKey): ArrivedDatapoint | undefined {
    const row = this.#latest.get(sensor) as Row | undefined;
    return row && toDatapoint(row);
  }
}

function toDatapoint(row: Row): ArrivedDatapoint {
  const timestampMs = row.stamped === 1 ? row.at : undefined;
  return { seq: row.seq, timestampMs, receivedMs: row.received, value: fromColumn(row.value) };
}
