// Where the rows of a sensor's chunks come from: the primary, or a standby, which may lag by hours or have been changed apart. What a
// standby is asked for depends on the version of the sensor's chunks (table `series`): the primary says which it has, and the
// standby answers only where it has the same. Each change of chunks (sealing, removal, correction, retention, by whichever server) gives them another
// version, with the same commit and by a random step, so equal versions mean the same rows, and all else is of the primary.
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import { type StandbyDatabase, StandbyUnfit } from '../database/standby-database.ts';
import type { Query } from '../log/log-reader.ts';

/** What a step may need. */
export interface WantedChunks {
  readonly sensor: SensorKey;
  readonly fromMs: number;
  readonly toMs: number;
  readonly descending: boolean;
  /** The bytes of chunks with so many datapoints, about, are fetched at once. */
  readonly datapoints: number;
}

/** What one state of the database says of a sensor: how far it is sealed, spans that were set aside, and its names, as JSON. */
export interface SensorState {
  readonly sealed: number;
  readonly aside: string | null;
  readonly names: string | null;
}

/** A chunk; its bytes only where the step is likely to need them. Its `id` is null where there is none. */
export interface ChunkRow extends ChunkSpan {
  readonly bytes: Buffer | null;
}

/** Chunks of one state of the database. */
export interface FetchedRows extends SensorState {
  /** In the direction of the read. */
  readonly rows: readonly ChunkRow[];
  /** That of the chunks; null where only the primary has them. */
  readonly version: number | null;
}

export type ChunkBytes = Pick<ChunkRow, 'id'> & { readonly bytes: Buffer };

export interface ChunkRows {
  /** The first chunks that the step comes to, `most` of them. @throws Refusal `storage`; StandbyUnfit */
  fetch(wanted: WantedChunks, most: number): Promise<FetchedRows>;
  /** The bytes of some of them; those that are gone are left out. @throws Refusal `storage`; StandbyUnfit */
  fetchBytes(wanted: WantedChunks, spans: readonly ChunkSpan[], fetched: FetchedRows): Promise<readonly ChunkBytes[]>;
  /** The bytes of a chunk are damaged. @returns the error to throw in place of `damaged`. */
  damaged(damaged: Error): Error;
}

export class PrimaryRows implements ChunkRows {
  readonly #query: Query;

  constructor(query: Query) {
    this.#query = query;
  }

  async fetch(wanted: WantedChunks, most: number): Promise<FetchedRows> {
    const rows = await this.#query<SensorState & ChunkRow>(
      wanted.descending ? downSql : upSql,
      parametersOf(wanted, most),
    );
    const [state = { sealed: 0, aside: null, names: null }] = rows;
    return { sealed: state.sealed, aside: state.aside, names: state.names, rows: chunksOf(rows), version: null };
  }

  fetchBytes({ sensor }: WantedChunks, spans: readonly ChunkSpan[]): Promise<readonly ChunkBytes[]> {
    return this.#query<ChunkBytes>(bytesSql, bytesParametersOf(sensor, spans));
  }

  damaged(damaged: Error): Error {
    return damaged;
  }
}

/** What a row of the standby says beside the chunk. */
interface StandbyState {
  readonly version: number | null;
  readonly isStandby: number;
}

export class StandbyRows implements ChunkRows {
  readonly #query: Query;
  readonly #standby: StandbyDatabase;
  readonly #primary: PrimaryRows;

  /** @param query asks the primary. */
  constructor(query: Query, standby: StandbyDatabase) {
    this.#query = query;
    this.#standby = standby;
    this.#primary = new PrimaryRows(query);
  }

  /** The primary is asked after the head was, so that what the head does not have any more is in chunks of this version. */
  async fetch(wanted: WantedChunks, most: number): Promise<FetchedRows> {
    const { sensor, fromMs, toMs, descending } = wanted;
    const [state] = await this.#query<SensorState & { readonly version: number | null }>(stateSql, [
      sensor,
      fromMs,
      toMs,
    ]);
    // Nothing of the sensor is sealed: there is nothing to ask for.
    if (state === undefined || state.version === null) return this.#primary.fetch(wanted, most);
    const sql = descending ? downOfVersionSql : upOfVersionSql;
    const rows = await this.#standby.query<StandbyState & ChunkRow>(sql, [
      ...parametersOf(wanted, most),
      state.version,
    ]);
    if (rows[0]?.isStandby !== 1)
      throw this.#standby.leave(new StandbyUnfit('promoted', 'It takes writes of its own: it is no standby.'));
    if (rows[0].version !== state.version) throw behind();
    return { ...state, rows: chunksOf(rows) };
  }

  async fetchBytes(
    wanted: WantedChunks,
    spans: readonly ChunkSpan[],
    fetched: FetchedRows,
  ): Promise<readonly ChunkBytes[]> {
    if (fetched.version === null) return this.#primary.fetchBytes(wanted, spans);
    const parameters = [...bytesParametersOf(wanted.sensor, spans), fetched.version];
    const rows = await this.#standby.query<ChunkBytes>(bytesOfVersionSql, parameters);
    if (rows.length < spans.length) throw behind();
    return rows;
  }

  /** Those of the primary may be whole. */
  damaged(damaged: Error): Error {
    return new StandbyUnfit('damaged', damaged.message);
  }
}

function behind(): StandbyUnfit {
  return new StandbyUnfit('behind', 'It has not replayed what was changed, or other things than the primary.');
}

export function parametersOf({ sensor, fromMs, toMs, datapoints }: WantedChunks, most: number): readonly number[] {
  return [sensor, fromMs, toMs, most, datapoints];
}

function bytesParametersOf(sensor: number, spans: readonly ChunkSpan[]): readonly unknown[] {
  return [sensor, spans.map(({ first }) => first), spans.map(({ last }) => last), spans.map(({ id }) => id)];
}

export function chunksOf(rows: readonly ChunkRow[]): ChunkRow[] {
  return rows.filter(({ id }) => id !== null);
}

const versionSql = '(SELECT version FROM series WHERE sensor = $1)';
/** How far the sensor is sealed: by the last whole pass, or by the one under way where that has come to it. */
const sealedSql = `(SELECT coalesce(max(up_to), 0) FROM seal_pass WHERE is_whole = 1
  OR number = (SELECT pass FROM series WHERE sensor = $1)) AS sealed`;
export const asideSql = `(SELECT json_agg(json_build_array(first, last))::text FROM damaged_chunk
  WHERE sensor = $1 AND first <= $3 AND last >= $2) AS aside`;
export const namesSql = `(SELECT json_build_array(device.id, sensor.id)::text FROM sensor JOIN device ON device.key = sensor.device
  WHERE sensor.key = $1) AS names`;
const stateSql = `SELECT ${versionSql} AS version, ${sealedSql}, ${asideSql}, ${namesSql}`;

/** \`before\`: datapoints of the chunks that the step comes to before one. One row without a chunk where there is none. */
export const chunksSql = (state: string, where: string, order: string) => `SELECT ${state},
    place.id, place.first, place.last, place.count, place.size, CASE WHEN place.before <= $5 THEN place.bytes END AS bytes
  FROM (SELECT 1) AS one LEFT JOIN (SELECT id, first, last, count, octet_length(bytes) AS size, bytes,
      sum(count) OVER (ORDER BY ${order}) - count AS before
    FROM (SELECT id, first, last, count, bytes FROM chunk WHERE sensor = $1 AND ${where} ORDER BY ${order} LIMIT $4) AS part
  ) AS place ON true ORDER BY ${order.replaceAll(/(\w+)( DESC)?/g, (_all, name, down = '') => `place.${name}${down}`)}`;

/** The last chunk that begins before the range may reach into it. */
export const isInRange =
  'first >= coalesce((SELECT max(first) FROM chunk WHERE sensor = $1 AND first < $2), $2) AND first <= $3 AND last >= $2';
export const [up, down] = ['first, last, id', 'first DESC, last DESC, id DESC'];
const upSql = chunksSql(`${sealedSql}, ${asideSql}, ${namesSql}`, isInRange, up);
const downSql = chunksSql(`${sealedSql}, ${asideSql}, ${namesSql}`, isInRange, down);

const ofVersion = `${versionSql} AS version, pg_is_in_recovery() AS "isStandby"`;
const upOfVersionSql = chunksSql(ofVersion, `${versionSql} = $6 AND ${isInRange}`, up);
const downOfVersionSql = chunksSql(ofVersion, `${versionSql} = $6 AND ${isInRange}`, down);

const bytesSql = `SELECT chunk.id, chunk.bytes FROM unnest(CAST($2 AS bigint[]), CAST($3 AS bigint[]), CAST($4 AS bigint[]))
    AS one(first, last, id)
  JOIN chunk ON chunk.sensor = $1 AND chunk.first = one.first AND chunk.last = one.last AND chunk.id = one.id`;
const bytesOfVersionSql = `${bytesSql} WHERE ${versionSql} = $5`;
