// A pass of sealing: reads the log up to a seq, puts each sensor's datapoints together with its chunks, and hands the
// new chunks to the writer thread in units of whole sensors. After each unit the table `sealing` says which sensors are
// done, so that an interrupted pass continues there. Runs in the sealer thread; only reads the database.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { limits } from '../../../config/limits.ts';
import { bytesOfRow, type Columns, makeColumns } from '../../../domain/datapoints/columns.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { gather, mergeUp, pieceUp } from '../../shared/codec/gathering.ts';
import { noSensor } from '../../shared/log/no-sensor.ts';
import { type ChunkSpan, cutForChunks, isFull, planPlacement } from '../../shared/sealing/chunk-plan.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import { countLog, Damage, type LogPiece, readLog } from '../log/log.ts';
import { ChunkReader } from '../reads/chunk-reader.ts';
import type { SealedChunk, SealedLatest, SealUnit } from './seal-protocol.ts';

/** Number of small chunks before the new datapoints that are considered for merging. */
const placesMax = 100;

export class SealingPass {
  readonly #database: DatabaseSync;
  readonly #chunks: ChunkReader;
  readonly #progress: StatementSync;
  readonly #purged: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#chunks = new ChunkReader(database, { decodedBytesMax: 0 });
    this.#progress = database.prepare('SELECT up_to AS upTo, next_sensor AS nextSensor FROM sealing');
    this.#purged = database.prepare('SELECT sensor FROM purge');
  }

  /** The units of a pass up to a seq, or the remaining ones of an interrupted pass; the last one ends it. */
  *units(upTo: number): Generator<SealUnit> {
    const begun = this.#progress.get() as { upTo: number; nextSensor: number } | undefined;
    const bound = begun?.upTo ?? upTo;
    const damage = new Damage();
    const log = new LogOfPass(
      readLog(this.#database, { upTo: bound, onDamaged: damage.add.bind(damage) }),
      countLog(this.#database, bound),
    );
    const purged = new Set(this.#purged.all().map((row) => row['sensor'] as number));
    const from = begun?.nextSensor ?? 0;
    let unit = new UnitBuilder(bound, from);
    // Reported with the first unit: a later run may be able to read these rows, and must not seal what this one left
    // out.
    unit.damage = { firstSeqs: damage.firstSeqs, descriptions: damage.describe() };
    for (const sensor of log.sensors) {
      if (sensor < from || purged.has(sensor)) continue;
      this.#seal(sensor as SensorKey, log.columnsOf(sensor), unit);
      unit.latest.push(log.latestOf(sensor));
      if (!unit.isFull) continue;
      yield unit.build(sensor + 1);
      unit = new UnitBuilder(bound, sensor + 1);
    }
    const end = { sensors: log.sensors.length, datapoints: log.count };
    yield { ...unit.build(Number.MAX_SAFE_INTEGER), end };
  }

  #seal(sensor: SensorKey, fresh: Columns, unit: UnitBuilder): void {
    const placements = planPlacement(this.#placesFor(sensor, fresh), fresh, () => this.#countBehind(sensor, fresh));
    for (const { replaces, from, to, tailMs } of placements) {
      const older: Columns[] = [];
      for (const span of replaces) {
        const columns = this.#decode(span, unit);
        if (columns !== undefined) older.push(columns);
      }
      const pieces = older.map((columns) => pieceUp({ columns, from: 0, to: columns.count }));
      const all = gather([...mergeUp(pieces, { columns: fresh, from, to })]);
      for (const slice of cutForChunks(all, tailMs)) unit.addChunk(sensor, gather([slice]));
      unit.replaced.push(...replaces.map(({ id }) => id));
    }
  }

  /**
   * Decodes a chunk; a damaged one is set aside and its span is free for new chunks. A chunk that retention or a purge
   * has deleted stays in the list of replaced ones: the writer misses it, refuses the unit, and the pass is planned
   * again.
   */
  #decode(span: ChunkSpan, unit: UnitBuilder): Columns | undefined {
    try {
      return this.#chunks.decode(span);
    } catch (error) {
      if (!(error instanceof CorruptChunk)) throw error;
      unit.damaged.push(span.id);
      return undefined;
    }
  }

  /** The chunks that new datapoints may fall into, and the small ones before them, in ascending order. */
  #placesFor(sensor: SensorKey, fresh: Columns): ChunkSpan[] {
    const firstMs = fresh.at[0] as number;
    const lastMs = fresh.at[fresh.count - 1] as number;
    const found: ChunkSpan[] = [];
    let before = 0;
    for (const span of this.#chunks.spans(sensor, lastMs)) {
      found.push(span);
      if (span.last >= firstMs) continue;
      before += 1;
      if (isFull(span) || before === placesMax) break;
    }
    return found.reverse();
  }

  /** The number of datapoints in chunks that begin after the new ones; counting stops at the size of a chunk. */
  #countBehind(sensor: SensorKey, fresh: Columns): number {
    const lastMs = fresh.at[fresh.count - 1] as number;
    let count = 0;
    for (const span of this.#chunks.spans(sensor, Number.MAX_SAFE_INTEGER)) {
      if (span.first <= lastMs || count > limits.chunkDatapointsWanted) break;
      count += span.count;
    }
    return count;
  }
}

class UnitBuilder {
  readonly latest: SealedLatest[] = [];
  readonly replaced: number[] = [];
  readonly damaged: number[] = [];
  damage: SealUnit['damage'];
  readonly #chunks: SealedChunk[] = [];
  readonly #upTo: number;
  readonly #from: number;
  #bytes = 0;

  constructor(upTo: number, from: number) {
    this.#upTo = upTo;
    this.#from = from;
  }

  get isFull(): boolean {
    return this.#bytes >= limits.sealUnitBytes || this.latest.length >= limits.sealUnitSensors;
  }

  addChunk(sensor: number, columns: Columns): void {
    const chunk = writeChunk(columns);
    this.#chunks.push({ sensor, ...chunk });
    this.#bytes += chunk.bytes.length;
    // Copies made while gathering, sorting and encoding.
    reportReleasedBytes(columns.count * bytesOfRow * 4);
  }

  build(nextSensor: number): SealUnit {
    const { latest, replaced, damaged, damage } = this;
    return {
      upTo: this.#upTo,
      fromSensor: this.#from,
      nextSensor,
      chunks: this.#chunks,
      latest,
      replaced,
      damaged,
      damage,
    };
  }
}

/** The datapoints of a pass, by sensor. */
class LogOfPass {
  /** Number of readable datapoints. */
  readonly count: number;
  /** Ascending. */
  readonly sensors: readonly number[];
  readonly #rows: Float64Array;
  readonly #seqs: Float64Array;
  readonly #texts = new Map<number, string>();
  /** Indexes of rows grouped by sensor, within a sensor in order of arrival. */
  readonly #order: Uint32Array;
  readonly #starts = new Map<number, number>();
  readonly #counts = new Map<number, number>();

  /** @param most the highest possible number of datapoints. */
  constructor(pieces: Iterable<LogPiece>, most: number) {
    this.#rows = new Float64Array(most * rowNumbers);
    this.#seqs = new Float64Array(most);
    let at = 0;
    for (const piece of pieces) at = this.#take(piece, at);
    this.count = at;
    this.#order = new Uint32Array(at);
    this.sensors = [...this.#counts.keys()].sort((a, b) => a - b);
    let start = 0;
    for (const sensor of this.sensors) {
      this.#starts.set(sensor, start);
      start += this.#counts.get(sensor) as number;
    }
    const offsets = new Map(this.#starts);
    for (let index = 0; index < this.count; index++) {
      const sensor = this.#rows[index * rowNumbers] as number;
      const offset = offsets.get(sensor);
      if (offset === undefined) continue;
      this.#order[offset] = index;
      offsets.set(sensor, offset + 1);
    }
  }

  #take({ rows, texts, firstSeq }: LogPiece, at: number): number {
    this.#rows.set(rows, at * rowNumbers);
    let text = 0;
    const count = rows.length / rowNumbers;
    for (let n = 0; n < count; n++) {
      const sensor = rows[n * rowNumbers] as number;
      this.#counts.set(sensor, (this.#counts.get(sensor) ?? 0) + 1);
      this.#seqs[at + n] = firstSeq + n;
      if (Number.isNaN(rows[n * rowNumbers + 3] as number)) this.#texts.set(at + n, texts[text++] as string);
    }
    this.#counts.delete(noSensor);
    return at + count;
  }

  /** Sorted by time; equal times in order of arrival. */
  columnsOf(sensor: number): Columns {
    const indexes = this.#indexesOf(sensor);
    const times = new Float64Array(indexes.length);
    let isSorted = true;
    for (let n = 0; n < indexes.length; n++) {
      times[n] = this.#timeAt(indexes[n] as number);
      if (n > 0 && (times[n] as number) < (times[n - 1] as number)) isSorted = false;
    }
    return this.#fill(isSorted ? indexes : this.#sortByTime(indexes));
  }

  latestOf(sensor: number): SealedLatest {
    const index = this.#indexesOf(sensor).at(-1) as number;
    const at = index * rowNumbers;
    return {
      sensor,
      seq: this.#seqs[index] as number,
      at: this.#timeAt(index),
      stamped: Number.isNaN(this.#rows[at + 1] as number) ? 0 : 1,
      received: this.#rows[at + 2] as number,
      value: this.#texts.get(index) ?? (this.#rows[at + 3] as number),
    };
  }

  #fill(indexes: Uint32Array): Columns {
    const columns = makeColumns(indexes.length);
    const texts = new Map<number, string>();
    for (let n = 0; n < indexes.length; n++) {
      const index = indexes[n] as number;
      const at = index * rowNumbers;
      columns.at[n] = this.#timeAt(index);
      columns.stamped[n] = Number.isNaN(this.#rows[at + 1] as number) ? 0 : 1;
      columns.received[n] = this.#rows[at + 2] as number;
      const number = this.#rows[at + 3] as number;
      columns.values[n] = number;
      if (Number.isNaN(number)) texts.set(n, this.#texts.get(index) as string);
    }
    return { ...columns, texts: texts.size === 0 ? undefined : texts };
  }

  #sortByTime(indexes: Uint32Array): Uint32Array {
    return indexes.slice().sort((a, b) => this.#timeAt(a) - this.#timeAt(b) || a - b);
  }

  #indexesOf(sensor: number): Uint32Array {
    const start = this.#starts.get(sensor) as number;
    return this.#order.subarray(start, start + (this.#counts.get(sensor) as number));
  }

  #timeAt(index: number): number {
    const timestampMs = this.#rows[index * rowNumbers + 1] as number;
    return Number.isNaN(timestampMs) ? (this.#rows[index * rowNumbers + 2] as number) : timestampMs;
  }
}
