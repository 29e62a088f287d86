// A pass of sealing: reads rows of the log, puts each sensor's datapoints together with its chunks, and stores them in units of
// some sensors, each in a transaction. The row of a sensor in `series` says with which pass its datapoints were sealed, so that
// an interrupted pass goes on with the others, and a read sees each datapoint once. Runs in the store thread.
import { reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { limits } from '../../../config/limits.ts';
import { bytesOfRow, type Columns } from '../../../domain/datapoints/columns.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { JoinedRecords } from '../../shared/log/fingerprint-records.ts';
import type { LogPiece } from '../../shared/log/log-piece.ts';
import type { ChunkPlacement, ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import { LogOfPass } from '../../shared/sealing/log-of-pass.ts';
import { planSensor, type SealedChunk, type SealedLatest, sealSensor } from '../../shared/sealing/sealed-sensor.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import type { Distribution } from '../database/distributed-tables.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { applyEdits } from '../log/log-edits.ts';
import { type Query, type ReadRow, readRows } from '../log/log-reader.ts';
import { addFingerprints } from '../log/publish-fingerprints.ts';
import { forgetAllRepeatedBodies } from '../log/receipts.ts';
import type { PassOrder, PassResult } from '../log/store-protocol.ts';
import { written } from './chunk-edits.ts';
import { addChunks, type ChunkKey, queryOf, readBytes, removeChunks, setAside } from './chunk-table.ts';
import { type PlacesOfSensor, readPlaces } from './sealing-places.ts';
import { lockSensors, putLatest } from './series-table.ts';
import { groupByShard } from './shards.ts';

/** Datapoints of the sensors that are planned at a time, about. */
const unitDatapoints = 50_000;
/** Times that a unit is planned while others may change its sensors, before they have to wait for it. */
const attemptsBeside = 2;

/** The sensors of a unit with their new datapoints. */
type Fresh = ReadonlyMap<number, Columns>;

interface Unit {
  readonly chunks: readonly SealedChunk[];
  readonly replaced: readonly ChunkKey[];
  readonly damaged: readonly ChunkKey[];
}

/** A unit with the chunks that it was planned with. */
interface Planned {
  readonly unit: Unit;
  readonly places: ReadonlyMap<number, PlacesOfSensor>;
}

/** Chunks of the unit were changed since it was planned. */
class PlannedBefore extends Error {
  constructor() {
    super('Datapoints of these sensors were changed since their chunks were planned.');
  }
}

export class SealingPass {
  readonly #database: PostgresDatabase;
  readonly #order: PassOrder;
  readonly #query: Query;
  readonly #damaged: ReadRow[] = [];
  readonly #fingerprints: Uint8Array[] = [];
  #newestReceivedMs: number | undefined;

  constructor(database: PostgresDatabase, order: PassOrder) {
    this.#database = database;
    this.#order = order;
    this.#query = (sql, parameters) => database.query(sql, parameters);
  }

  async run(): Promise<PassResult> {
    const [pieces, done] = await Promise.all([this.#readLog(), this.#sensorsDone()]);
    const count = pieces.reduce((sum, { rows }) => sum + rows.length / rowNumbers, 0);
    const log = new LogOfPass(pieces, count);
    const result = { sensors: log.sensors.length, datapoints: log.count, damage: this.#describeDamage() };
    if (await this.#isWhole()) return result;
    let left = log.sensors.filter((sensor) => !done.has(sensor));
    while (!(await this.#sealRest(left, log))) {
      const sealed = await this.#sensorsDone();
      left = left.filter((sensor) => !sealed.has(sensor));
    }
    return result;
  }

  /**
   * By shard the pass is stored before any of its units, and its end behind all of them: a read asks for passes first and for the sensor then,
   * which are of two states of the database.
   * @returns whether that was all: where tables are distributed meanwhile, the rest is to be grouped anew.
   */
  async #sealRest(left: readonly number[], log: LogOfPass): Promise<boolean> {
    const grouped = this.#database.distribution.value;
    if (grouped === 0) return this.#sealAll(left, log, { grouped, endsPass: true });
    await this.#database.transaction((connection) => this.#begin(connection));
    for (const sensors of await groupByShard(this.#database, left))
      if (!(await this.#sealAll(sensors, log, { grouped, endsPass: false }))) return false;
    await this.#database.transaction((connection) => Promise.all([this.#begin(connection), ...this.#end(connection)]));
    return true;
  }

  async #sealAll(
    sensors: readonly number[],
    log: LogOfPass,
    { grouped, endsPass }: { readonly grouped: Distribution; readonly endsPass: boolean },
  ): Promise<boolean> {
    let [fresh, datapoints] = [new Map<number, Columns>(), 0];
    for (const [n, sensor] of sensors.entries()) {
      const columns = log.columnsOf(sensor);
      fresh.set(sensor, columns);
      datapoints += columns.count;
      const isFull = datapoints >= unitDatapoints || fresh.size >= limits.sealUnitSensors;
      if (!isFull || n === sensors.length - 1) continue;
      await this.#seal(fresh, log, { isLast: false });
      if (this.#database.distribution.value !== grouped) return false;
      [fresh, datapoints] = [new Map(), 0];
    }
    await this.#seal(fresh, log, { isLast: endsPass });
    return true;
  }

  /** Whether all of it is stored: the connection may have broken before anybody heard of that. */
  async #isWhole(): Promise<boolean> {
    const { number, upTo } = this.#order;
    const whole = 'SELECT 1 AS whole FROM seal_pass WHERE number = $1 AND up_to = $2 AND is_whole = 1';
    return (await this.#query(whole, [number, upTo])).length > 0;
  }

  /** Says that the pass is under way; with its first unit. */
  async #begin(connection: Connection): Promise<void> {
    const { writer, number, upTo, upToRow } = this.#order;
    const { count } = await connection.query(beginSql, [writer, number, upTo, upToRow]);
    if (count === 0) throw new Error('Another process has taken this one for dead, and seals in its place.');
  }

  async #readLog(): Promise<LogPiece[]> {
    const { rows, edits } = this.#order;
    const pieces: LogPiece[] = [];
    const fingerprints = new JoinedRecords((records) => this.#fingerprints.push(records));
    for await (const some of readRows(this.#query, rows)) {
      for (const row of some) {
        const { content, firstSeq } = row;
        if (typeof content === 'string') {
          this.#damaged.push(row);
          continue;
        }
        if (content.fingerprints !== undefined) fingerprints.add(content.fingerprints);
        if (content.rows.length === 0) continue;
        this.#newestReceivedMs = content.rows.at(2 - rowNumbers) as number;
        pieces.push(applyEdits({ firstSeq, rows: content.rows, texts: content.texts }, edits));
      }
    }
    fingerprints.end();
    return pieces;
  }

  /** Those that are sealed already, where the pass was interrupted, and those that were removed. */
  async #sensorsDone(): Promise<ReadonlySet<number>> {
    const parameters = [this.#order.number];
    const sensors: { readonly sensor: number }[] = [];
    if (this.#database.isByShard) {
      const both = await this.#database.queryBoth<{ sensor: number }, { sensor: number }>(
        [sealedSql, parameters],
        [purgedSql, []],
      );
      sensors.push(...both.flat());
    } else sensors.push(...(await this.#query<{ sensor: number }>(`${sealedSql} UNION ALL ${purgedSql}`, parameters)));
    return new Set(sensors.map(({ sensor }) => sensor));
  }

  /** With the last unit the pass ends. */
  async #seal(fresh: Fresh, log: LogOfPass, { isLast }: { readonly isLast: boolean }): Promise<void> {
    const latest = [...fresh.keys()].map((sensor) => log.latestOf(sensor));
    const end = isLast ? (connection: Connection) => this.#end(connection) : () => [];
    for (let attempt = 1; attempt <= attemptsBeside; attempt++) {
      const planned = await this.#plan(fresh, this.#query);
      try {
        // All at once, without waiting for the answer to each.
        await this.#database.transaction((connection) =>
          Promise.all([this.#begin(connection), this.#write(connection, { ...planned, latest }), ...end(connection)]),
        );
        return;
      } catch (error) {
        if (!(error instanceof PlannedBefore)) throw error;
      }
    }
    // A long removal changes a chunk every few milliseconds: it would always come before.
    await this.#database.transaction(async (connection) => {
      await lockSensors(connection, [...fresh.keys()]);
      const planned = await this.#plan(fresh, queryOf(connection));
      await this.#begin(connection);
      await Promise.all([this.#write(connection, { ...planned, latest }), ...end(connection)]);
    });
  }

  async #plan(fresh: Fresh, query: Query): Promise<Planned> {
    const places = await readPlaces(query, fresh, this.#database.isByShard);
    const plans = new Map<number, readonly ChunkPlacement[]>();
    const replaced: ChunkKey[] = [];
    for (const [sensor, columns] of fresh) {
      const placements = planSensor(columns, places.get(sensor) as PlacesOfSensor);
      plans.set(sensor, placements);
      for (const { replaces } of placements) replaced.push(...replaces.map((span) => ({ ...span, sensor })));
    }
    const bytes = await readBytes(query, replaced, this.#database.isByShard);
    const damaged: ChunkKey[] = [];
    const chunks: SealedChunk[] = [];
    for (const [sensor, placements] of plans) {
      const decode = (span: ChunkSpan) => {
        // One that is gone is missed when the unit is written.
        const some = bytes.get(span.id);
        if (some === undefined) return undefined;
        const columns = columnsOf(some);
        if (columns === undefined) damaged.push({ ...span, sensor });
        return columns;
      };
      for (const columns of sealSensor(fresh.get(sensor) as Columns, placements, decode)) {
        chunks.push({ sensor, ...writeChunk(columns, { version: written.chunkVersion }) });
        // Copies made while gathering, sorting and encoding.
        reportReleasedBytes(columns.count * bytesOfRow * 4);
      }
      await new Promise(setImmediate);
    }
    return { unit: { chunks, replaced, damaged }, places };
  }

  async #write(
    connection: Connection,
    { unit, latest, places }: Planned & { readonly latest: readonly SealedLatest[] },
  ): Promise<void> {
    if (latest.length === 0) return;
    const put = putLatest(connection, latest, {
      pass: this.#order.number,
      versionOf: (sensor) => places.get(sensor)?.version ?? 0,
    });
    const [changed, , removed] = await Promise.all([
      put,
      setAside(connection, unit.damaged),
      removeChunks(connection, unit.replaced),
      addChunks(connection, unit.chunks),
      unit.damaged.length > 0 ? connection.query(forgetAllRepeatedBodies, []) : undefined,
    ]);
    if (changed < latest.length || removed < unit.replaced.length) throw new PlannedBefore();
  }

  /** All units are stored: from now on the log is sealed up to the pass. */
  #end(connection: Connection): Promise<unknown>[] {
    const { number } = this.#order;
    const writes: Promise<unknown>[] = [connection.query(wholeSql, [number, this.#newestReceivedMs ?? null])];
    writes.push(connection.query('DELETE FROM seal_pass WHERE number < $1', [number]));
    if (this.#fingerprints.length > 0) writes.push(connection.query(addFingerprints, [this.#fingerprints]));
    for (const { writer, seq, bytes } of this.#damaged)
      writes.push(connection.query(setRowAsideSql, [writer, seq, bytes]));
    if (this.#damaged.length > 0) writes.push(connection.query(forgetAllRepeatedBodies, []));
    return writes;
  }

  #describeDamage(): string[] {
    const told = this.#damaged
      .slice(0, limits.damagedRowsLogged)
      .map(
        ({ writer, seq, content }) =>
          `Row ${seq} of writer ${writer} of the log is damaged. ${content} Its datapoints cannot be read, and are kept aside; all others are whole.`,
      );
    const more = this.#damaged.length - told.length;
    return more === 0 ? told : [...told, `${more} more rows of the log are damaged.`];
  }
}

/** Undefined where the chunk is damaged. @throws UnknownVersion: a later release has written it, so it is not set aside. */
function columnsOf(bytes: Uint8Array): Columns | undefined {
  try {
    return decodeChunk(bytes);
  } catch (error) {
    if (error instanceof CorruptChunk && !(error instanceof UnknownVersion)) return undefined;
    throw error;
  }
}

const sealedSql = 'SELECT sensor FROM series WHERE pass = $1';
const purgedSql = 'SELECT sensor FROM purge';

/** While the fence of this process is there, which is locked until the unit is committed. */
const beginSql = `WITH fence AS (SELECT writer FROM log_writer WHERE writer = $1 FOR KEY SHARE)
  INSERT INTO seal_pass (number, up_to, up_to_row)
    SELECT CAST($2 AS bigint), CAST($3 AS bigint), CAST($4 AS bigint) FROM fence
  ON CONFLICT (number) DO UPDATE SET up_to = excluded.up_to
    WHERE seal_pass.up_to = excluded.up_to AND seal_pass.up_to_row = excluded.up_to_row`;
const wholeSql = `UPDATE seal_pass SET is_whole = 1,
    newest_received = coalesce($2, (SELECT max(newest_received) FROM seal_pass WHERE number < $1)) WHERE number = $1`;
const setRowAsideSql = `INSERT INTO damaged_log
  SELECT writer, seq, position, count, CASE WHEN bytes = '' THEN CAST($3 AS bytea) ELSE bytes END FROM log
  WHERE writer = $1 AND seq = $2 ON CONFLICT DO NOTHING`;
