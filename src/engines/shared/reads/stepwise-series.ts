// Reads of a series that are the same on every engine: short ones are made on the main thread, long ones in the reader thread, each
// with the part of the head that it may need. The Series of an engine extends it with how its chunks are read and changed.
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
  TextQuery,
  TextStep,
} from '../../../domain/ports/series.ts';
import type { Head } from '../head/head.ts';
import { type HeadPart, headPartFor, type NeededPart, wholeRange } from '../head/head-part.ts';
import { keyOf } from '../log/log-entries.ts';
import type { HeadPartRequest, LongReads } from './long-reads.ts';

type Awaitable<T> = T | Promise<T>;

/** What the watcher's follower of the log knows of datapoints that are sealed. */
export interface SealedRows {
  latestUpTo(sensor: SensorKey, seq: number): Awaitable<ArrivedDatapoint | undefined>;
  receivedMsOf(seq: number): Awaitable<number | undefined>;
  countBehind(sensor: SensorKey, seq: number): Awaitable<Map<string, number>>;
}

export abstract class StepwiseSeries {
  readonly #head: Head;
  readonly #sealedRows: SealedRows;
  readonly #longReads: LongReads;

  constructor(parts: { readonly head: Head; readonly follower: SealedRows; readonly longReads: LongReads }) {
    this.#head = parts.head;
    this.#sealedRows = parts.follower;
    this.#longReads = parts.longReads;
  }

  protected abstract readRange(query: RangeQuery, part: HeadPart): Awaitable<RangeStep>;
  protected abstract readText(query: TextQuery, part: HeadPart): Awaitable<TextStep>;
  /** The time of the latest sealed datapoint of each sensor that has one, in one query. */
  protected abstract readLatestTimes(sensors: readonly SensorKey[]): Awaitable<Map<SensorKey, number>>;
  /** The last sealed datapoint of the sensor. */
  protected abstract readLatest(sensor: SensorKey): Awaitable<ArrivedDatapoint | undefined>;

  /** What the reader thread has done and has to do. */
  get reads(): ReadCounts {
    return this.#longReads;
  }

  close(): Promise<void> {
    return this.#longReads.close();
  }

  async range(query: RangeQuery, asker: Asker): Promise<RangeStep> {
    const partOf = () => this.partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#longReads.ask('range', query, { asker, partOf });
    await loopTurns.turn(asker.caller);
    assertThere(asker);
    return this.readRange(query, partOf().part);
  }

  async aggregate(query: AggregateQuery, asker: Asker): Promise<AggregateStep> {
    return this.#longReads.ask('aggregate', query, { asker, partOf: () => this.partFor(query) });
  }

  async downsample(query: DownsampleQuery, asker: Asker): Promise<DownsampleStep> {
    // The first step needs the whole range: it looks for the first and the last time.
    const needed = query.open === undefined ? wholeRange(query) : query;
    return this.#longReads.ask('downsample', query, { asker, partOf: () => this.partFor(needed) });
  }

  async text(query: TextQuery, asker: Asker): Promise<TextStep> {
    const partOf = () => this.partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#longReads.ask('text', query, { asker, partOf });
    await loopTurns.turn(asker.caller);
    assertThere(asker);
    return this.readText(query, partOf().part);
  }

  release(text: Uint8Array): void {
    this.#longReads.release(text);
  }

  async latestUpTo(sensor: SensorKey, seq: number): Promise<ArrivedDatapoint | undefined> {
    const logged = this.#head.latestUpTo(sensor, seq);
    if (logged !== undefined) return logged;
    const latest = await this.readLatest(sensor);
    if (latest === undefined || latest.seq <= seq) return latest;
    const kept = await this.#sealedRows.latestUpTo(sensor, seq);
    if (kept !== undefined) return kept;
    // Once sealed, a datapoint has no seq. Those received later than `seq` are recognised by their time of receiving,
    // or by the rows kept for the watcher.
    const receivedMs = (await this.#sealedRows.receivedMsOf(seq)) ?? Number.POSITIVE_INFINITY;
    const query = { sensor, descending: true, limit: limits.readStepRows };
    const { columns } = await this.range(query, { caller: serviceCaller });
    const later = await this.#sealedRows.countBehind(sensor, seq);
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

  async latestTimes(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    // The head first: what is sealed meanwhile is found in both.
    const logged = sensors.map((sensor) => this.#head.latestTimeOf(sensor));
    const times = await this.readLatestTimes(sensors);
    for (const [index, sensor] of sensors.entries()) {
      const [inHead, inChunks] = [logged[index], times.get(sensor)];
      if (inHead !== undefined && inHead > (inChunks ?? Number.NEGATIVE_INFINITY)) times.set(sensor, inHead);
    }
    return times;
  }

  /** The part of the head that a read may need. */
  protected partFor(needed: NeededPart): HeadPartRequest {
    const part = headPartFor(needed, this.#head.partFor(needed));
    return { part, isKept: this.#head.isKept(part) };
  }
}
