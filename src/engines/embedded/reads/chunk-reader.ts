// Reads the chunks of a sensor from the table `chunk`, and decodes them.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Refusal } from '../../../base/refusal.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import type { ChunkRange, ChunkSource, UnopenedChunk } from '../../shared/reads/chunk-source.ts';
import { DecodedChunks } from '../../shared/reads/decoded-chunks.ts';
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';

interface ChunkRow extends Omit<ChunkSpan, 'size'> {
  readonly bytes: Uint8Array;
}

interface SealedUpTo {
  /** The seq up to which all sensors are sealed. */
  readonly all: number;
  /** The seq up to which the pass under way has sealed this sensor; null where it has not. */
  readonly some: number | null;
}

export class ChunkReader implements ChunkSource {
  readonly #database: DatabaseSync;
  readonly #up: StatementSync;
  readonly #down: StatementSync;
  readonly #spans: StatementSync;
  readonly #bytes: StatementSync;
  readonly #sealed: StatementSync;
  readonly #damagedSpan: StatementSync;
  readonly #ids: StatementSync;
  /** Recently decoded chunks: the steps of a long read use the same chunk several times. */
  readonly #decoded: DecodedChunks;

  /** @param options bytes of decoded chunks kept for later reads. */
  constructor(database: DatabaseSync, options: { readonly decodedBytesMax: number }) {
    this.#database = database;
    this.#decoded = new DecodedChunks({ bytesMax: options.decodedBytesMax });
    const columns = 'SELECT id, first, last, count, bytes FROM chunk WHERE sensor = ?1';
    // The last chunk that begins before the range may reach into it.
    this.#up = database.prepare(
      `${columns} AND first >= coalesce((SELECT max(first) FROM chunk WHERE sensor = ?1 AND first < ?2), ?2)
        AND first <= ?3 ORDER BY first, last, id`,
    );
    this.#down = database.prepare(`${columns} AND first <= ?2 ORDER BY first DESC, last DESC, id DESC`);
    this.#spans = database.prepare(
      'SELECT id, first, last, count, length(bytes) AS size FROM chunk WHERE sensor = ? AND first <= ? ORDER BY first DESC, last DESC, id DESC',
    );
    this.#bytes = database.prepare('SELECT bytes FROM chunk WHERE id = ?');
    this.#sealed = database.prepare(
      `SELECT coalesce((SELECT value FROM counter WHERE name = 'sealed_seq'), 0) AS "all",
        (SELECT up_to FROM sealing WHERE next_sensor > ?) AS some`,
    );
    this.#damagedSpan = database.prepare(
      'SELECT first, last FROM damaged_chunk WHERE sensor = ? AND first <= ? AND last >= ? LIMIT 1',
    );
    this.#ids = database.prepare(
      'SELECT device.id AS device, sensor.id AS sensor FROM sensor JOIN device ON device.key = sensor.device WHERE sensor.key = ?',
    );
  }

  /** In one read transaction. */
  inSnapshot<T>(read: () => T): T {
    this.#database.exec('BEGIN');
    try {
      return read();
    } finally {
      this.#decoded.endOfRead();
      this.#database.exec('COMMIT');
    }
  }

  sealedSeq(sensor: number): number {
    const { all, some } = this.#sealed.get(sensor) as unknown as SealedUpTo;
    return Math.max(all, some ?? 0);
  }

  assertNoneAside(sensor: SensorKey, { fromMs, toMs }: Omit<ChunkRange, 'received'>): void {
    const span = this.#damagedSpan.get(sensor, toMs, fromMs) as { first: number; last: number } | undefined;
    if (span !== undefined) throw this.#damaged(sensor, span, new CorruptChunk('It was set aside.'));
  }

  *readUp(sensor: SensorKey, range: ChunkRange): Generator<UnopenedChunk> {
    for (const row of this.#up.iterate(sensor, range.fromMs, range.toMs) as Iterable<unknown>) {
      const chunk = row as ChunkRow;
      if (chunk.last >= range.fromMs) yield this.#unopened(sensor, chunk, range.received);
    }
  }

  *readDown(sensor: SensorKey, range: ChunkRange): Generator<UnopenedChunk> {
    for (const row of this.#down.iterate(sensor, range.toMs) as Iterable<unknown>) {
      const chunk = row as ChunkRow;
      if (chunk.last < range.fromMs) return;
      yield this.#unopened(sensor, chunk, range.received);
    }
  }

  #unopened(sensor: SensorKey, chunk: ChunkRow, received: boolean): UnopenedChunk {
    return { first: chunk.first, last: chunk.last, open: () => this.#decode(sensor, chunk, received) };
  }

  *spans(sensor: SensorKey, toMs: number): Generator<ChunkSpan> {
    for (const row of this.#spans.iterate(sensor, toMs) as Iterable<unknown>) yield row as ChunkSpan;
  }

  /** A whole chunk; undefined where it no longer exists. @throws CorruptChunk */
  decode(span: ChunkSpan): Columns | undefined {
    const row = this.#bytes.get(span.id) as { bytes: Uint8Array } | undefined;
    return row && decodeChunk(row.bytes);
  }

  open(sensor: SensorKey, span: ChunkSpan): Columns {
    const { bytes } = this.#bytes.get(span.id) as { bytes: Uint8Array };
    return this.#decode(sensor, { ...span, bytes }, false);
  }

  #decode(sensor: SensorKey, { id, bytes, first, last }: ChunkRow, received: boolean): Columns {
    try {
      // Chunks of a single time may change under their id (sealing/chunk-edits.ts), so they are not cached.
      if (first === last) return decodeChunk(bytes, { received });
      return this.#decoded.take(received ? id : -id, bytes, { received });
    } catch (error) {
      if (!(error instanceof CorruptChunk)) throw error;
      throw this.#damaged(sensor, { first, last }, error);
    }
  }

  #damaged(sensor: SensorKey, { first, last }: { first: number; last: number }, cause: CorruptChunk): Refusal {
    const ids = this.#ids.get(sensor) as { device: string; sensor: string } | undefined;
    const whose = ids === undefined ? 'a sensor' : `sensor ${ids.sensor} of device ${ids.device}`;
    const span = `${new Date(first).toISOString()} and ${new Date(last).toISOString()}`;
    return new Refusal(
      'damaged',
      `Datapoints of ${whose} between ${span} are damaged on disk and cannot be read; those before and after can. dundun check tells more.`,
      { cause: new Error(`Chunk of sensor ${sensor}: ${cause.message}`, { cause }) },
    );
  }
}
