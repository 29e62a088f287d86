// Datapoints on SQLite: appended to the log by the writer thread, read from the clustered table and from the head.
// A row that has settled while the head still holds it is in both for a moment; reads take it once, by its seq.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';
import { type Datapoint, orderOf } from '../../domain/datapoints/datapoint.ts';
import { countRows, type DatapointBatch, type PushReceipt } from '../../domain/datapoints/datapoint-batch.ts';
import type {
  DatapointStore,
  FollowedDatapoint,
  RangeQuery,
  RememberedPublish,
} from '../../domain/datapoints/datapoint-store.ts';
import type { SensorKey } from '../../domain/sensors/sensor.ts';
import { Follower } from './follower.ts';
import { Head } from './head.ts';
import { readLog } from './log.ts';
import { fromColumn, type ValueColumn } from './value-column.ts';
import type { SqliteWriter } from './writer.ts';

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
  readonly #latest: StatementSync;
  readonly #receipt: StatementSync;
  readonly #publishes: StatementSync;
  readonly #ascending: StatementSync;
  readonly #descending: StatementSync;
  readonly #reader: DatabaseSync;

  readonly #follower: Follower;
  #lastSeq = 0;

  constructor(parts: {
    readonly writer: SqliteWriter;
    readonly reader: DatabaseSync;
    readonly followed: SharedArrayBuffer;
  }) {
    this.#writer = parts.writer;
    const { reader } = parts;
    this.#follower = new Follower(reader, parts.followed);
    this.#reader = reader;
    // For the registry's queries, which cannot look into the log.
    reader.function('logged_received', (sensor) => this.#head.latest(sensor as SensorKey)?.receivedMs ?? 0);
    this.#latest = reader.prepare('SELECT seq, at, stamped, received, value FROM latest WHERE sensor = ?');
    this.#receipt = reader.prepare('SELECT id, caller, body_hash AS bodyHash, at AS atMs FROM receipt WHERE id = ?');
    this.#publishes = reader.prepare('SELECT at, marks FROM mqtt_publish ORDER BY id');
    const columns = 'SELECT seq, at, stamped, received, value FROM datapoint WHERE sensor = ?';
    this.#ascending = reader.prepare(`${columns} AND at <= ? AND (at, seq) > (?, ?) ORDER BY at, seq LIMIT ?`);
    this.#descending = reader.prepare(
      `${columns} AND at >= ? AND (at, seq) < (?, ?) ORDER BY at DESC, seq DESC LIMIT ?`,
    );
  }

  /** Rebuilds the head from the log. */
  async start(): Promise<void> {
    this.#writer.onSettled = (seq) => this.#head.settled(seq);
    for (const piece of readLog(this.#reader)) this.#head.add(piece, piece.firstSeq);
    this.#lastSeq = this.#follower.lastSeq();
  }

  /** Datapoints in the log. */
  get logRows(): number {
    return this.#head.rows;
  }

  append(batch: DatapointBatch): Promise<number> {
    return this.#writer.append(batch, (firstSeq) => {
      this.#head.add(batch, firstSeq);
      this.#lastSeq = firstSeq + countRows(batch) - 1;
    });
  }

  async read(query: RangeQuery): Promise<Datapoint[]> {
    return merge(this.#readTable(query), this.#head.read(query), query);
  }

  async latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, Datapoint>> {
    const found = new Map<SensorKey, Datapoint>();
    for (const sensor of sensors) {
      const point = this.#head.latest(sensor) ?? this.#readLatest(sensor);
      if (point !== undefined) found.set(sensor, point);
    }
    return found;
  }

  async latestUpTo(sensor: SensorKey, seq: number): Promise<Datapoint | undefined> {
    const logged = this.#head.latestUpTo(sensor, seq);
    if (logged !== undefined) return logged;
    const latest = this.#readLatest(sensor);
    if (latest === undefined || latest.seq <= seq) return latest;
    const newest = this.#readTable({ sensor, descending: true, limit: limits.readStepRows });
    return newest.filter((point) => point.seq <= seq).reduce<Datapoint | undefined>(laterOf, undefined);
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

  async listPublishes(): Promise<RememberedPublish[]> {
    const marks: RememberedPublish[] = [];
    for (const row of this.#publishes.iterate() as Iterable<{ at: number; marks: Uint8Array }>) {
      // A copy, because a Float64Array needs its bytes aligned.
      const numbers = new Float64Array(row.marks.slice().buffer);
      for (let i = 0; i < numbers.length; i += 2)
        marks.push({ slot: numbers[i] as number, content: numbers[i + 1] as number, atMs: row.at });
    }
    return marks;
  }

  #readLatest(sensor: SensorKey): Datapoint | undefined {
    const row = this.#latest.get(sensor) as Row | undefined;
    return row && toDatapoint(row);
  }

  #readTable({ sensor, fromMs, toMs, after, descending, limit }: RangeQuery): Datapoint[] {
    const rows = descending
      ? this.#descending.all(
          sensor,
          fromMs ?? earliest,
          after?.order ?? toMs ?? latestPossible,
          after?.seq ?? seqMax,
          limit,
        )
      : this.#ascending.all(
          sensor,
          toMs ?? latestPossible,
          after?.order ?? fromMs ?? earliest,
          after?.seq ?? -1,
          limit,
        );
    return (rows as unknown as Row[]).map(toDatapoint);
  }
}

const earliest = -8_640_000_000_000_001;
const latestPossible = 8_640_000_000_000_001;
const seqMax = Number.MAX_SAFE_INTEGER;

function laterOf(a: Datapoint | undefined, b: Datapoint): Datapoint {
  return a === undefined || b.seq > a.seq ? b : a;
}

function toDatapoint(row: Row): Datapoint {
  const timestampMs = row.stamped === 1 ? row.at : undefined;
  return { seq: row.seq, timestampMs, receivedMs: row.received, value: fromColumn(row.value) };
}

/** Merges two sorted runs; what is in both appears once. */
function merge(settled: Datapoint[], fresh: Datapoint[], query: RangeQuery): Datapoint[] {
  if (fresh.length === 0) return settled;
  if (settled.length === 0) return fresh;
  const direction = query.descending ? -1 : 1;
  const merged: Datapoint[] = [];
  let a = 0;
  let b = 0;
  while (merged.length < query.limit && (a < settled.length || b < fresh.length)) {
    const left = settled[a];
    const right = fresh[b];
    if (left === undefined) merged.push(fresh[b++] as Datapoint);
    else if (right === undefined) merged.push(settled[a++] as Datapoint);
    else if (left.seq === right.seq) {
      merged.push(left);
      a += 1;
      b += 1;
    } else if (direction * (orderOf(left) - orderOf(right) || left.seq - right.seq) < 0)
      merged.push(settled[a++] as Datapoint);
    else merged.push(fresh[b++] as Datapoint);
  }
  return merged;
}
