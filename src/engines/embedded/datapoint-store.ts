// Datapoints on SQLite: appended to the log by the writer thread, read from the chunks and from the head. Short reads are
// made here, long ones by the reader thread, so that ingest does not wait for them.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { EventLoopSlices } from '../../base/time/event-loop-slices.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { datapointAt } from '../../domain/datapoints/columns.ts';
import type { ArrivedDatapoint } from '../../domain/datapoints/datapoint.ts';
import { countRows, type DatapointBatch, type PushReceipt } from '../../domain/datapoints/datapoint-batch.ts';
import type {
  AggregateQuery,
  AggregateStep,
  DatapointStore,
  FollowedDatapoint,
  RangeQuery,
  RangeStep,
  RememberedPublish,
  TextQuery,
  TextStep,
  ThinQuery,
  ThinStep,
} from '../../domain/datapoints/datapoint-store.ts';
import { serviceCaller } from '../../domain/datapoints/ingest/writer-queue.ts';
import type { SensorKey } from '../../domain/devices/sensor.ts';
import { fromColumn, type ValueColumn } from './database/value-column.ts';
import { Head } from './head/head.ts';
import { HeadLastSeen } from './head/head-last-seen.ts';
import { headPartFor, type NeededPart, wholeRange } from './head/head-part.ts';
import { Damage, readLog } from './log/log.ts';
import { keyOf, LogFollower } from './log/log-follower.ts';
import { listMarks } from './log/publish-marks.ts';
import { textStep } from './reads/series-answers.ts';
import { SeriesReader } from './reads/series-reader.ts';
import { Retention } from './sealing/retention.ts';
import { type HeadPartRequest, ReaderThread } from './threads/reader-thread-client.ts';
import type { SqliteWriter } from './threads/writer.ts';

interface Row {
  readonly seq: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: ValueColumn;
}

export class SqliteDatapointStore implements DatapointStore {
  readonly #writer: SqliteWriter;
  readonly #head = new Head();
  /** For the search thread. */
  readonly lastSeen = new HeadLastSeen(this.#head);
  readonly #latest: StatementSync;
  readonly #receipt: StatementSync;
  readonly #reader: DatabaseSync;
  readonly #series: SeriesReader;
  readonly #thread: ReaderThread;
  readonly #shortReads = new EventLoopSlices({ msMax: limits.turnMsMax });
  readonly #follower: LogFollower;
  readonly #retention: Retention;
  #lastSeq = 0;
  #damage: readonly string[] = [];

  constructor(parts: {
    readonly writer: SqliteWriter;
    readonly reader: DatabaseSync;
    readonly followed: SharedArrayBuffer;
    readonly path: string;
  }) {
    this.#writer = parts.writer;
    const { reader } = parts;
    this.#follower = new LogFollower(reader, parts.followed);
    this.#reader = reader;
    this.#retention = new Retention(parts);
    this.#series = new SeriesReader(reader, { decodedBytesMax: limits.decodedBytesShortReads });
    this.#thread = new ReaderThread(parts.path);
    this.#latest = reader.prepare('SELECT seq, at, stamped, received, value FROM latest WHERE sensor = ?');
    this.#receipt = reader.prepare(
      'SELECT id, caller, body_hash AS bodyHash, answer, at AS atMs FROM receipt WHERE id = ?',
    );
  }

  /** Rebuilds the head from the log. */
  async start(): Promise<void> {
    this.#writer.onSealed = (seq) => {
      this.lastSeen.beforeSealed();
      this.#head.sealed(seq);
    };
    // The writer may have begun to seal.
    this.#reader.exec('BEGIN');
    let isFirst = true;
    const damage = new Damage();
    const whole = { upTo: Number.MAX_SAFE_INTEGER, onDamaged: damage.add.bind(damage) };
    for (const piece of readLog(this.#reader, whole)) {
      if (isFirst) this.#head.startBehind(piece.firstSeq - 1);
      isFirst = false;
      this.#head.add(piece, piece.firstSeq);
    }
    this.#reader.exec('COMMIT');
    this.#damage = damage.describe();
    this.#lastSeq = this.#follower.lastSeq();
    if (isFirst) this.#head.startBehind(this.#lastSeq);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** What is to be said of rows of the log that could not be read at the start. */
  get damage(): readonly string[] {
    return this.#damage;
  }

  /** Datapoints in the log. */
  get logRows(): number {
    return this.#head.rows;
  }

  get isCatchingUp(): boolean {
    return this.#writer.isCatchingUp;
  }

  set onCaughtUp(caughtUp: () => void) {
    this.#writer.onCaughtUp = caughtUp;
  }

  append(batch: DatapointBatch): Promise<number> {
    return this.#writer.append(batch, (firstSeq) => {
      this.#head.add(batch, firstSeq);
      this.#lastSeq = firstSeq + countRows(batch) - 1;
    });
  }

  async read(query: RangeQuery, caller: Caller): Promise<RangeStep> {
    const partOf = () => this.#partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#thread.ask('range', query, { caller, partOf });
    return this.#shortReads.run(() => this.#series.read(query, partOf().part));
  }

  async aggregate(query: AggregateQuery, caller: Caller): Promise<AggregateStep> {
    return this.#thread.ask('buckets', query, { caller, partOf: () => this.#partFor(query) });
  }

  async thinOut(query: ThinQuery, caller: Caller): Promise<ThinStep> {
    // The first step looks for both ends.
    const needed = query.open === undefined ? wholeRange(query) : query;
    return this.#thread.ask('thin', query, { caller, partOf: () => this.#partFor(needed) });
  }

  async readText(query: TextQuery, caller: Caller): Promise<TextStep> {
    const partOf = () => this.#partFor(query);
    if (query.limit > limits.mainThreadReadRows) return this.#thread.ask('text', query, { caller, partOf });
    return this.#shortReads.run(() => textStep(this.#series, query, partOf().part, (bytes) => new Uint8Array(bytes)));
  }

  giveBack(text: Uint8Array): void {
    this.#thread.giveBack(text);
  }

  async count(range: Pick<RangeQuery, 'sensor' | 'fromMs' | 'toMs'>, max: number): Promise<number> {
    return this.#series.count(range, this.#partFor(wholeRange(range)).part, max);
  }

  /** What of the head a read may need, and little else. */
  #partFor(needed: NeededPart): HeadPartRequest {
    const part = headPartFor(needed, this.#head.partFor(needed));
    return { part, isKept: this.#head.isKept(part) };
  }

  async latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>> {
    const found = new Map<SensorKey, ArrivedDatapoint>();
    for (const sensor of sensors) {
      const point = this.#head.latest(sensor) ?? this.#readLatest(sensor);
      if (point !== undefined) found.set(sensor, point);
    }
    return found;
  }

  removeBefore(sensor: SensorKey, beforeMs: number): Promise<number> {
    return this.#retention.removeBefore(sensor, beforeMs);
  }

  async oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    return this.#retention.oldest(sensors);
  }

  async latestUpTo(sensor: SensorKey, seq: number): Promise<ArrivedDatapoint | undefined> {
    const logged = this.#head.latestUpTo(sensor, seq);
    if (logged !== undefined) return logged;
    const latest = this.#readLatest(sensor);
    if (latest === undefined || latest.seq <= seq) return latest;
    const kept = this.#follower.latestUpTo(sensor, seq);
    if (kept !== undefined) return kept;
    // What has been sealed longer is known by when it was received; what came behind the seq is kept, and left out.
    const receivedMs = this.#follower.receivedMsOf(seq) ?? Number.POSITIVE_INFINITY;
    const { columns } = await this.read({ sensor, descending: true, limit: limits.readStepRows }, serviceCaller);
    const later = this.#follower.countBehind(sensor, seq);
    let found: ArrivedDatapoint | undefined;
    // The newest first: of those that look alike what came later is left out, not what came before.
    for (let index = 0; index < columns.count; index++) {
      const point = datapointAt(columns, index);
      const count = later.get(keyOf(point)) ?? 0;
      if (count > 0) later.set(keyOf(point), count - 1);
      else if (point.receivedMs <= receivedMs && point.receivedMs > (found?.receivedMs ?? Number.NEGATIVE_INFINITY))
        found = { ...point, seq };
    }
    return found;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  async readBehind(seq: number): Promise<FollowedDatapoint[]> {
    return this.#follower.readBehind(seq);
  }

  follow(seq: number | undefined): void {
    this.#follower.follow(seq);
  }

  async followedSeq(): Promise<number | undefined> {
    return this.#follower.followedSeq();
  }

  async findReceipt(id: string): Promise<PushReceipt | undefined> {
    return this.#receipt.get(id) as PushReceipt | undefined;
  }

  async listPublishes(): Promise<Iterable<RememberedPublish>> {
    return listMarks(this.#reader);
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
