// Reads the chunks of a sensor for one step of a read. One statement says how far the sensor is sealed and which chunks there are,
// and has the bytes of those that the step needs first; what it needs beyond is fetched, and the step made again. Bytes of
// a chunk never change under its id; where it is gone, all begins anew.
import { Refusal } from '../../../base/refusal.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import type { ChunkRange, ChunkSource, UnopenedChunk } from '../../shared/reads/chunk-source.ts';
import type { DecodedChunks } from '../../shared/reads/decoded-chunks.ts';
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
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

/** The step needs more than was fetched: bytes of chunks, or (undefined) more chunks. */
class Unfetched extends Error {
  readonly span: ChunkSpan | undefined;

  constructor(span?: ChunkSpan) {
    super('A step of a read needs more than was fetched.');
    this.span = span;
  }
}

interface Row extends ChunkSpan {
  readonly bytes: Buffer | null;
  readonly sealed: number;
  readonly aside: string | null;
  readonly names: string | null;
}

/** Spans that are fetched at first, at least; and bytes of chunks that are fetched with one statement, about. */
const spansMin = 4;
const spansFactor = 8;
/** A full chunk has at least so many datapoints; smaller ones are merged in time. */
const datapointsOfChunk = 1_000;
const bytesAtOnce = 4 * 1024 * 1024;
const attemptsMax = 20;

export class ChunkReader {
  readonly #query: Query;
  readonly #decoded: DecodedChunks;

  constructor(query: Query, decoded: DecodedChunks) {
    this.#query = query;
    this.#decoded = decoded;
  }

  /** Calls `read` with the chunks, again with more of them as long as it needs more. @throws Refusal `damaged`, `storage` */
  async read<T>(wanted: WantedChunks, read: (chunks: ChunkSource) => T): Promise<T> {
    let most = spansMin + Math.ceil(wanted.datapoints / datapointsOfChunk);
    let chunks = await this.#fetch(wanted, most);
    for (let attempt = 1; ; attempt++) {
      try {
        return read(chunks);
      } catch (error) {
        if (!(error instanceof Unfetched)) throw error;
        const isThere = error.span !== undefined && (await this.#fetchBytes(chunks, wanted, error.span));
        if (isThere) continue;
        if (error.span === undefined) most *= spansFactor;
        if (error.span !== undefined && attempt > attemptsMax) throw error;
        chunks = await this.#fetch(wanted, most);
      }
    }
  }

  async #fetch(wanted: WantedChunks, most: number): Promise<FetchedChunks> {
    const { sensor, fromMs, toMs, descending, datapoints } = wanted;
    const sql = descending ? downSql : upSql;
    const rows = await this.#query<Row>(sql, [sensor, fromMs, toMs, most, datapoints]);
    return new FetchedChunks(rows, { ...wanted, most, decoded: this.#decoded });
  }

  /** The bytes of a chunk, and of those that the step comes to after it. @returns false where it is gone. */
  async #fetchBytes(chunks: FetchedChunks, { sensor, descending }: WantedChunks, span: ChunkSpan): Promise<boolean> {
    const spans = chunks.onFrom(span, descending);
    let [bytes, count] = [0, 0];
    while (count < spans.length && (count === 0 || bytes < bytesAtOnce)) bytes += (spans[count++] as ChunkSpan).size;
    const some = spans.slice(0, count);
    const parameters = [sensor, some.map(({ first }) => first), some.map(({ last }) => last), some.map(({ id }) => id)];
    const rows = await this.#query<{ id: number; bytes: Buffer }>(bytesSql, parameters);
    for (const row of rows) chunks.bytes.set(row.id, row.bytes);
    return chunks.bytes.has(span.id);
  }
}

/** The chunks of one state of the database, in memory. */
class FetchedChunks implements ChunkSource {
  readonly bytes = new Map<number, Buffer>();
  /** In ascending order. */
  readonly #spans: readonly ChunkSpan[];
  readonly #sealed: number;
  readonly #aside: readonly (readonly [first: number, last: number])[];
  readonly #names: readonly string[] | undefined;
  readonly #wanted: WantedChunks;
  readonly #hasMore: boolean;
  readonly #decoded: DecodedChunks;

  constructor(rows: readonly Row[], parts: WantedChunks & { readonly most: number; readonly decoded: DecodedChunks }) {
    const [{ sealed, aside, names } = { sealed: 0, aside: null, names: null }] = rows;
    const spans = rows.filter(({ id }) => id !== null);
    for (const { id, bytes } of spans) if (bytes !== null) this.bytes.set(id, bytes);
    this.#hasMore = spans.length >= parts.most;
    this.#spans = parts.descending ? spans.reverse() : spans;
    this.#sealed = sealed;
    this.#aside = aside === null ? [] : JSON.parse(aside);
    this.#names = names === null ? undefined : JSON.parse(names);
    this.#wanted = parts;
    this.#decoded = parts.decoded;
  }

  /** The chunk and those behind it in the direction of a read, whose bytes are not here. */
  onFrom(span: ChunkSpan, descending: boolean): ChunkSpan[] {
    const at = this.#spans.findIndex(({ id }) => id === span.id);
    const rest = descending ? this.#spans.slice(0, at + 1).reverse() : this.#spans.slice(at);
    return rest.filter(({ id }) => !this.bytes.has(id));
  }

  inSnapshot<T>(read: () => T): T {
    try {
      return read();
    } finally {
      this.#decoded.endOfRead();
    }
  }

  sealedSeq(): number {
    return this.#sealed;
  }

  assertNoneAside(_sensor: SensorKey, { fromMs, toMs }: Omit<ChunkRange, 'received'>): void {
    const span = this.#aside.find(([first, last]) => first <= toMs && last >= fromMs);
    if (span !== undefined) throw this.#damaged(span, new CorruptChunk('It was set aside.'));
  }

  *readUp(_sensor: SensorKey, range: ChunkRange): Generator<UnopenedChunk> {
    for (const span of this.#spans) {
      if (span.first > range.toMs) return;
      if (span.last >= range.fromMs) yield this.#unopened(span, range.received);
    }
    if (this.#hasMore && !this.#wanted.descending) throw new Unfetched();
  }

  *readDown(_sensor: SensorKey, range: ChunkRange): Generator<UnopenedChunk> {
    for (const span of this.#down(range.toMs)) {
      if (span.last < range.fromMs) return;
      yield this.#unopened(span, range.received);
    }
  }

  spans(_sensor: SensorKey, toMs: number): Iterable<ChunkSpan> {
    return this.#down(toMs);
  }

  open(_sensor: SensorKey, span: ChunkSpan): Columns {
    return this.#decode(span, false);
  }

  *#down(toMs: number): Generator<ChunkSpan> {
    // Ascending, the last chunks may not have been fetched.
    if (this.#hasMore && !this.#wanted.descending) throw new Unfetched();
    for (let at = this.#spans.length - 1; at >= 0; at--) {
      const span = this.#spans[at] as ChunkSpan;
      if (span.first <= toMs) yield span;
    }
    if (this.#hasMore) throw new Unfetched();
  }

  #unopened(span: ChunkSpan, received: boolean): UnopenedChunk {
    return { first: span.first, last: span.last, open: () => this.#decode(span, received) };
  }

  #decode(span: ChunkSpan, received: boolean): Columns {
    const { id, first, last } = span;
    const bytes = this.bytes.get(id);
    if (bytes === undefined) throw new Unfetched(span);
    try {
      return this.#decoded.take(received ? id : -id, bytes, { received });
    } catch (error) {
      if (!(error instanceof CorruptChunk)) throw error;
      throw this.#damaged([first, last], error);
    }
  }

  #damaged([first, last]: readonly [number, number], cause: CorruptChunk): Refusal {
    const [device, sensor] = this.#names ?? [];
    const whose = sensor === undefined ? 'a sensor' : `sensor ${sensor} of device ${device}`;
    const span = `${new Date(first).toISOString()} and ${new Date(last).toISOString()}`;
    return new Refusal(
      'damaged',
      `Datapoints of ${whose} between ${span} are damaged on disk and cannot be read; those before and after can. dundun check tells more.`,
      { cause: new Error(`Chunk of sensor ${this.#wanted.sensor}: ${cause.message}`, { cause }) },
    );
  }
}

/** How far the sensor is sealed: by the last whole pass, or by the one under way where that has come to it. */
const sealedSql = `(SELECT coalesce(max(up_to), 0) FROM seal_pass WHERE is_whole = 1
  OR number = (SELECT pass FROM series WHERE sensor = $1)) AS sealed`;
const asideSql = `(SELECT json_agg(json_build_array(first, last))::text FROM damaged_chunk
  WHERE sensor = $1 AND first <= $3 AND last >= $2) AS aside`;
const namesSql = `(SELECT json_build_array(device.id, sensor.id)::text FROM sensor JOIN device ON device.key = sensor.device
  WHERE sensor.key = $1) AS names`;

/** \`before\`: datapoints of the chunks that the step comes to before one. */
const chunksSql = (where: string, order: string) => `SELECT ${sealedSql}, ${asideSql}, ${namesSql},
    place.id, place.first, place.last, place.count, place.size, CASE WHEN place.before <= $5 THEN place.bytes END AS bytes
  FROM (SELECT 1) AS one LEFT JOIN (SELECT id, first, last, count, octet_length(bytes) AS size, bytes,
      sum(count) OVER (ORDER BY ${order}) - count AS before
    FROM (SELECT id, first, last, count, bytes FROM chunk WHERE sensor = $1 AND ${where} ORDER BY ${order} LIMIT $4) AS part
  ) AS place ON true ORDER BY ${order.replaceAll(/(\w+)( DESC)?/g, (_all, name, down = '') => `place.${name}${down}`)}`;

/** The last chunk that begins before the range may reach into it. */
const isInRange =
  'first >= coalesce((SELECT max(first) FROM chunk WHERE sensor = $1 AND first < $2), $2) AND first <= $3 AND last >= $2';
const upSql = chunksSql(isInRange, 'first, last, id');
const downSql = chunksSql(isInRange, 'first DESC, last DESC, id DESC');
const bytesSql = `SELECT chunk.id, chunk.bytes FROM unnest(CAST($2 AS bigint[]), CAST($3 AS bigint[]), CAST($4 AS bigint[]))
    AS one(first, last, id)
  JOIN chunk ON chunk.sensor = $1 AND chunk.first = one.first AND chunk.last = one.last AND chunk.id = one.id`;
