// Reads the chunks of a sensor for one step of a read. One statement says how far the sensor is sealed and which chunks there are,
// and has the bytes of those that the step needs first; what it needs beyond is fetched, and the step made again. Bytes of
// a chunk never change under its id; where it is gone, all begins anew. Where there is a standby, it is asked for chunks first, and where
// it cannot answer, the step is made again from the primary. Where servers go by shard, the shard of the sensor is asked.
import { Refusal } from '../../../base/refusal.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import type { ChunkRange, ChunkSource, UnopenedChunk } from '../../shared/reads/chunk-source.ts';
import type { DecodedChunks } from '../../shared/reads/decoded-chunks.ts';
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import { StandbyUnfit } from '../database/standby-database.ts';
import { type ChunkRows, type FetchedRows, PrimaryRows, type StandbyRows, type WantedChunks } from './chunk-rows.ts';
import { type ChunkDatabase, ShardRows } from './shard-rows.ts';
import type { StandbyOutcome } from './standby-watch.ts';

/** The step needs more than was fetched: bytes of chunks, or (undefined) more chunks. */
class Unfetched extends Error {
  readonly span: ChunkSpan | undefined;

  constructor(span?: ChunkSpan) {
    super('A step of a read needs more than was fetched.');
    this.span = span;
  }
}

/** A standby, and who is told what came of a step that it was asked for. */
export interface StandbySource {
  readonly rows: StandbyRows;
  readonly note: (outcome: StandbyOutcome) => void;
}

/** Spans that are fetched at first, at least; and bytes of chunks that are fetched with one statement, about. */
const spansMin = 4;
const spansFactor = 8;
/** A full chunk has at least so many datapoints; smaller ones are merged in time. */
const datapointsOfChunk = 1_000;
const bytesAtOnce = 4 * 1024 * 1024;
const attemptsMax = 20;

export class ChunkReader {
  readonly #database: ChunkDatabase;
  readonly #primary: PrimaryRows;
  readonly #shards: ShardRows;
  readonly #standby: StandbySource | undefined;
  readonly #decoded: DecodedChunks;

  constructor(parts: {
    readonly database: ChunkDatabase;
    readonly standby: StandbySource | undefined;
    readonly decoded: DecodedChunks;
  }) {
    const { database } = parts;
    this.#database = database;
    this.#primary = new PrimaryRows((sql, parameters) => database.query(sql, parameters));
    this.#shards = new ShardRows(database);
    this.#standby = parts.standby;
    this.#decoded = parts.decoded;
  }

  /** Calls `read` with the chunks, again with more of them as long as it needs more. @throws Refusal `damaged`, `storage` */
  async read<T>(wanted: WantedChunks, read: (chunks: ChunkSource) => T): Promise<T> {
    if (this.#database.isByShard) return (await this.#readFrom(this.#shards, wanted, read)).result;
    if (this.#standby !== undefined) {
      const { rows, note } = this.#standby;
      try {
        const { result, fetched } = await this.#readFrom(rows, wanted, read);
        if (fetched.version !== null) note({});
        return result;
      } catch (error) {
        if (!(error instanceof StandbyUnfit)) throw error;
        note({ reason: error.reason, detail: error.message });
      }
    }
    return (await this.#readFrom(this.#primary, wanted, read)).result;
  }

  async #readFrom<T>(source: ChunkRows, wanted: WantedChunks, read: (chunks: ChunkSource) => T) {
    let most = spansMin + Math.ceil(wanted.datapoints / datapointsOfChunk);
    let chunks = await this.#fetch(source, wanted, most);
    for (let attempt = 1; ; attempt++) {
      try {
        return { result: read(chunks), fetched: chunks.parts.fetched };
      } catch (error) {
        if (!(error instanceof Unfetched)) throw error;
        const isThere = error.span !== undefined && (await this.#fetchBytes(chunks, error.span));
        if (isThere) continue;
        if (error.span === undefined) most *= spansFactor;
        if (error.span !== undefined && attempt > attemptsMax) throw error;
        chunks = await this.#fetch(source, wanted, most);
      }
    }
  }

  async #fetch(source: ChunkRows, wanted: WantedChunks, most: number): Promise<FetchedChunks> {
    const fetched = await source.fetch(wanted, most);
    return new FetchedChunks({ wanted, most, source, fetched, decoded: this.#decoded });
  }

  /** The bytes of a chunk, and of those that the step comes to after it. @returns false where it is gone. */
  async #fetchBytes(chunks: FetchedChunks, span: ChunkSpan): Promise<boolean> {
    const { wanted, source, fetched } = chunks.parts;
    const spans = chunks.onFrom(span, wanted.descending);
    let [bytes, count] = [0, 0];
    while (count < spans.length && (count === 0 || bytes < bytesAtOnce)) bytes += (spans[count++] as ChunkSpan).size;
    for (const row of await source.fetchBytes(wanted, spans.slice(0, count), fetched))
      chunks.bytes.set(row.id, row.bytes);
    return chunks.bytes.has(span.id);
  }
}

interface FetchedParts {
  readonly wanted: WantedChunks;
  /** So many chunks were asked for. */
  readonly most: number;
  readonly source: ChunkRows;
  readonly fetched: FetchedRows;
  readonly decoded: DecodedChunks;
}

/** The chunks of one state of the database, in memory. */
class FetchedChunks implements ChunkSource {
  readonly bytes = new Map<number, Buffer>();
  readonly parts: FetchedParts;
  /** In ascending order. */
  readonly #spans: readonly ChunkSpan[];
  readonly #aside: readonly (readonly [first: number, last: number])[];
  readonly #hasMore: boolean;

  constructor(parts: FetchedParts) {
    const { rows, aside } = parts.fetched;
    for (const { id, bytes } of rows) if (bytes !== null) this.bytes.set(id, bytes);
    this.parts = parts;
    this.#hasMore = rows.length >= parts.most;
    this.#spans = parts.wanted.descending ? rows.toReversed() : rows;
    this.#aside = aside === null ? [] : JSON.parse(aside);
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
      this.parts.decoded.endOfRead();
    }
  }

  sealedSeq(): number {
    return this.parts.fetched.sealed;
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
    if (this.#hasMore && !this.parts.wanted.descending) throw new Unfetched();
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
    if (this.#hasMore && !this.parts.wanted.descending) throw new Unfetched();
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
      return this.parts.decoded.take(received ? id : -id, bytes, { received });
    } catch (error) {
      if (!(error instanceof CorruptChunk) || error instanceof UnknownVersion) throw error;
      throw this.parts.source.damaged(this.#damaged([first, last], error));
    }
  }

  #damaged([first, last]: readonly [number, number], cause: CorruptChunk): Refusal {
    const [device, sensor]: string[] = JSON.parse(this.parts.fetched.names ?? '[]');
    const whose = sensor === undefined ? 'a sensor' : `sensor ${sensor} of device ${device}`;
    const span = `${new Date(first).toISOString()} and ${new Date(last).toISOString()}`;
    return new Refusal(
      'damaged',
      `Datapoints of ${whose} between ${span} are damaged on disk and cannot be read; those before and after can. dundun check tells more.`,
      { cause: new Error(`Chunk of sensor ${this.parts.wanted.sensor}: ${cause.message}`, { cause }) },
    );
  }
}
