// A pass of sealing: reads the log up to a seq, puts each sensor's datapoints together with its chunks, and hands the
// new chunks to the writer thread in units of whole sensors. After each unit the table `sealing` says which sensors are
// done, so that an interrupted pass continues there. Runs in the sealer thread; only reads the database.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { limits } from '../../../config/limits.ts';
import { bytesOfRow, type Columns } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import { LogOfPass } from '../../shared/sealing/log-of-pass.ts';
import { planSensor, type SealedChunk, type SealedLatest, sealSensor } from '../../shared/sealing/sealed-sensor.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import { countLog, Damage, readLog } from '../log/log.ts';
import { ChunkReader } from '../reads/chunk-reader.ts';
import type { SealUnit } from './seal-protocol.ts';

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
    const placements = planSensor(fresh, {
      sensor,
      spans: (toMs) => this.#chunks.spans(sensor, toMs),
      countBehind: (ms) => this.#countBehind(sensor, ms),
    });
    for (const columns of sealSensor(fresh, placements, (span) => this.#decode(span, unit)))
      unit.addChunk(sensor, columns);
    for (const { replaces } of placements) unit.replaced.push(...replaces.map(({ id }) => id));
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

  /** The number of datapoints in chunks that begin after the new ones; counting stops at the size of a chunk. */
  #countBehind(sensor: SensorKey, lastMs: number): number {
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
