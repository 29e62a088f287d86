// A pass of sealing: reads rows of the log, puts each sensor's datapoints together with its chunks, and stores them in units of
// some sensors, each in a transaction. The row of a sensor in `series` says with which pass its datapoints were sealed, so that
// an interrupted pass goes on with the others, and a read sees each datapoint once. Runs in the store thread.
import { reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { limits } from '../../../config/limits.ts';
import { bytesOfRow, type Columns } from '../../../domain/datapoints/columns.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { JoinedRecords } from '../../shared/log/fingerprint-records.ts';
import type { LogPiece } from '../../shared/log/log-piece.ts';
import type { ChunkPlacement, ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import { LogOfPass } from '../../shared/sealing/log-of-pass.ts';
import { planSensor, type SealedChunk, type SealedLatest, sealSensor } from '../../shared/sealing/sealed-sensor.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { applyEdits } from '../log/log-edits.ts';
import { type Query, type ReadRow, readRows } from '../log/log-reader.ts';
import { addFingerprints } from '../log/publish-fingerprints.ts';
import { forgetAllRepeatedBodies } from '../log/receipts.ts';
import { addChunks, type ChunkKey, readBytes, removeChunks, setAside, toColumns } from './chunk-table.ts';
import { type PlacesOfSensor, readPlaces } from './sealing-places.ts';
import type { PassOrder, PassResult } from './store-protocol.ts';

/** Datapoints of the sensors that are planned at a time, about. */
const unitDatapoints = 50_000;
/** Times that a unit is planned before the pass fails: each time another change of one of its sensors came before. */
const attemptsMax = 10;

/** The sensors of a unit with their new datapoints. */
type Fresh = ReadonlyMap<number, Columns>;

interface Unit {
  readonly chunks: readonly SealedChunk[];
  readonly replaced: readonly ChunkKey[];
  readonly damaged: readonly ChunkKey[];
}

/** Chunks of the unit were changed since it was planned. */
class PlannedBefore extends Error {}

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
    await this.#begin();
    const pieces = await this.#readLog();
    const log = new LogOfPass(
      pieces,
      pieces.reduce((sum, { rows }) => sum + rows.length / rowNumbers, 0),
    );
    const left = await this.#sensorsLeft(log.sensors);
    let [fresh, datapoints] = [new Map<number, Columns>(), 0];
    for (const sensor of left) {
      const columns = log.columnsOf(sensor);
      fresh.set(sensor, columns);
      datapoints += columns.count;
      if (datapoints < unitDatapoints && fresh.size < limits.sealUnitSensors) continue;
      await this.#seal(fresh, log);
      [fresh, datapoints] = [new Map(), 0];
    }
    if (fresh.size > 0) await this.#seal(fresh, log);
    await this.#end();
    return { sensors: log.sensors.length, datapoints: log.count, damage: this.#describeDamage() };
  }

  async #begin(): Promise<void> {
    const { number, upTo, positions } = this.#order;
    await this.#query('INSERT INTO seal_pass (number, up_to, positions) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      number,
      upTo,
      JSON.stringify(positions),
    ]);
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

  /** Without those that are sealed already, where the pass was interrupted, and those that were removed. */
  async #sensorsLeft(sensors: readonly number[]): Promise<readonly number[]> {
    const rows = await this.#query<{ sensor: number }>(
      'SELECT sensor FROM series WHERE pass = $1 UNION ALL SELECT sensor FROM purge',
      [this.#order.number],
    );
    const done = new Set(rows.map(({ sensor }) => sensor));
    return sensors.filter((sensor) => !done.has(sensor));
  }

  async #seal(fresh: Fresh, log: LogOfPass): Promise<void> {
    const latest = [...fresh.keys()].map((sensor) => log.latestOf(sensor));
    for (let attempt = 1; ; attempt++) {
      const places = await readPlaces(this.#query, fresh);
      const unit = await this.#plan(fresh, places);
      try {
        await this.#database.transaction((connection) => this.#write(connection, { unit, latest, places }));
        return;
      } catch (error) {
        if (!(error instanceof PlannedBefore) || attempt === attemptsMax) throw error;
      }
    }
  }

  async #plan(fresh: Fresh, places: ReadonlyMap<number, PlacesOfSensor>): Promise<Unit> {
    const plans = new Map<number, readonly ChunkPlacement[]>();
    const replaced: ChunkKey[] = [];
    for (const [sensor, columns] of fresh) {
      const placements = planSensor(columns, places.get(sensor) as PlacesOfSensor);
      plans.set(sensor, placements);
      for (const { replaces } of placements) replaced.push(...replaces.map((span) => ({ ...span, sensor })));
    }
    const bytes = await readBytes(this.#query, replaced);
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
        chunks.push({ sensor, ...writeChunk(columns) });
        // Copies made while gathering, sorting and encoding.
        reportReleasedBytes(columns.count * bytesOfRow * 4);
      }
      await new Promise(setImmediate);
    }
    return { chunks, replaced, damaged };
  }

  async #write(
    connection: Connection,
    {
      unit,
      latest,
      places,
    }: {
      readonly unit: Unit;
      readonly latest: readonly SealedLatest[];
      readonly places: ReadonlyMap<number, PlacesOfSensor>;
    },
  ): Promise<void> {
    const values = latest.map(({ value }) => toColumns(value));
    const { rows } = await connection.query<{ sensor: number }>(putLatestSql, [
      latest.map(({ sensor }) => sensor),
      latest.map(({ sensor }) => places.get(sensor)?.version ?? 0),
      latest.map(({ at }) => at),
      latest.map(({ seq }) => seq),
      latest.map(({ stamped }) => stamped),
      latest.map(({ received }) => received),
      values.map(({ number }) => number),
      values.map(({ text }) => text),
      this.#order.number,
    ]);
    if (rows.length < latest.length) throw new PlannedBefore();
    await setAside(connection, unit.damaged);
    if ((await removeChunks(connection, unit.replaced)) < unit.replaced.length) throw new PlannedBefore();
    await addChunks(connection, unit.chunks);
    if (unit.damaged.length > 0) await connection.query(forgetAllRepeatedBodies, []);
  }

  /** All units are stored: from now on the log is sealed up to the pass. */
  async #end(): Promise<void> {
    const { number, followedSeq } = this.#order;
    await this.#database.transaction(async (connection) => {
      const whole =
        'UPDATE seal_pass SET is_whole = 1, newest_received = coalesce($2, (SELECT max(newest_received) FROM seal_pass WHERE number < $1)) WHERE number = $1';
      await connection.query(whole, [number, this.#newestReceivedMs ?? null]);
      await connection.query('DELETE FROM seal_pass WHERE number < $1', [number]);
      if (this.#fingerprints.length > 0) await connection.query(addFingerprints, [this.#fingerprints]);
      for (const { writer, seq } of this.#damaged) {
        const aside =
          'INSERT INTO damaged_log SELECT writer, seq, position, count, bytes FROM log WHERE writer = $1 AND seq = $2 ON CONFLICT DO NOTHING';
        await connection.query(aside, [writer, seq]);
      }
      if (this.#damaged.length > 0) await connection.query(forgetAllRepeatedBodies, []);
      if (followedSeq !== undefined) await connection.query(markFollowed, [followedSeq]);
    });
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

/** Undefined where the chunk is damaged. */
function columnsOf(bytes: Uint8Array): Columns | undefined {
  try {
    return decodeChunk(bytes);
  } catch (error) {
    if (error instanceof CorruptChunk) return undefined;
    throw error;
  }
}

/** Only where the version is the one that was planned with. */
const putLatestSql = `INSERT INTO series AS old (sensor, version, pass, at, position, stamped, received, number, text)
  SELECT sensor, version + 1, CAST($9 AS bigint), at, position, stamped, received, number, text
  FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[]), CAST($3 AS bigint[]), CAST($4 AS bigint[]), CAST($5 AS integer[]),
    CAST($6 AS bigint[]), CAST($7 AS double precision[]), CAST($8 AS text[]))
    AS one(sensor, version, at, position, stamped, received, number, text) ORDER BY sensor
  ON CONFLICT (sensor) DO UPDATE SET version = excluded.version, pass = excluded.pass, at = excluded.at,
    position = excluded.position, stamped = excluded.stamped, received = excluded.received, number = excluded.number,
    text = excluded.text WHERE old.version = excluded.version - 1
  RETURNING sensor`;

const markFollowed = `INSERT INTO counter (name, value) VALUES ('followed_seq', $1)
  ON CONFLICT (name) DO UPDATE SET value = greatest(counter.value, excluded.value)`;
