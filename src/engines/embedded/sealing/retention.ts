// Deletes sealed datapoints that are too old, in bounded steps among the writer's other commits: whole chunks, and the
// older part of the chunk that reaches over the bound. Datapoints in the log are left until they have been sealed.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { lowerBound } from '../../../base/sorted-numbers.ts';
import { limits } from '../../../config/limits.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { Series } from '../../../domain/ports/series.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { gather } from '../../shared/codec/gathering.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import type { DatabaseWriter, Statement } from '../database/database-writer.ts';
import { forgetRepeatedBodies } from '../log/receipts.ts';
import { chunkColumns, chunkParameters } from './chunk-writer.ts';

interface OldChunk {
  readonly id: number;
  readonly last: number;
  readonly count: number;
}

export class Retention implements Pick<Series, 'oldest' | 'removeBefore'> {
  readonly #writer: DatabaseWriter;
  readonly #oldest: StatementSync;
  readonly #old: StatementSync;
  readonly #bytes: StatementSync;
  readonly #damagedCounts: StatementSync;

  constructor(parts: { readonly writer: DatabaseWriter; readonly reader: DatabaseSync }) {
    this.#writer = parts.writer;
    this.#oldest = parts.reader.prepare(
      `SELECT min(at) AS at FROM (SELECT min(first) AS at FROM chunk WHERE sensor = ?1
        UNION ALL SELECT min(last) FROM damaged_chunk WHERE sensor = ?1)`,
    );
    this.#old = parts.reader.prepare(
      `SELECT id, last, count FROM chunk WHERE sensor = ? AND first < ? ORDER BY first, last, id LIMIT ${limits.retentionChunksMax}`,
    );
    this.#bytes = parts.reader.prepare('SELECT bytes FROM chunk WHERE id = ?');
    this.#damagedCounts = parts.reader.prepare('SELECT count FROM damaged_chunk WHERE sensor = ? AND last < ?');
  }

  async removeBefore(sensor: SensorKey, beforeMs: number): Promise<number> {
    const old = this.#old.all(sensor, beforeMs) as unknown as OldChunk[];
    const whole = old.filter(({ last }) => last < beforeMs);
    const statements = whole.map(removal);
    const counts = whole.map(({ count }) => count);
    const cut = old.find(({ last }) => last >= beforeMs);
    const part = cut && this.#cut(sensor, cut, { beforeMs, into: statements });
    if (part !== undefined) counts.push(part);
    const damaged = this.#damagedCounts.all(sensor, beforeMs).reduce((sum, row) => sum + Number(row['count']), 0);
    if (damaged > 0) statements.push({ sql: asideSql, parameters: [sensor, beforeMs] });
    if (statements.length === 0) return 0;
    const going = counts.reduce((sum, count) => sum + count, damaged);
    statements.push({ sql: creditSql, parameters: [going, sensor] }, forgetRepeatedBodies(sensor));
    // Sealing may have replaced a chunk meanwhile; its old part is then deleted by the next step.
    const removals = (await this.#writer.write(statements)).filter((_, index) => statements[index]?.sql === removalSql);
    return counts.reduce((sum, count, index) => sum + (removals[index] === 1 ? count : 0), damaged);
  }

  async oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>> {
    const found = new Map<SensorKey, number>();
    for (const sensor of sensors) {
      const at = this.#oldest.get(sensor)?.['at'] as number | null | undefined;
      if (typeof at === 'number') found.set(sensor, at);
    }
    return found;
  }

  /**
   * Replaces a chunk by its younger part, unless it no longer exists; returns how many datapoints this deletes. A
   * damaged chunk stays until all of it is too old.
   */
  #cut(
    sensor: SensorKey,
    old: OldChunk,
    { beforeMs, into }: { readonly beforeMs: number; readonly into: Statement[] },
  ): number | undefined {
    const columns = this.#decode(old.id);
    if (columns === undefined) return undefined;
    const from = lowerBound(columns.at, beforeMs, 0, columns.count);
    const kept = gather([{ columns, from, to: columns.count }]);
    const chunk = { sensor, ...writeChunk(kept) };
    into.push({ sql: replacementSql, parameters: [...chunkParameters(chunk), old.id, old.count] }, removal(old));
    return from;
  }

  /** Undefined where sealing has replaced the chunk since it was found, or where it is damaged. */
  #decode(id: number): Columns | undefined {
    const row = this.#bytes.get(id);
    try {
      return row && decodeChunk(row['bytes'] as Uint8Array);
    } catch (error) {
      if (error instanceof CorruptChunk) return undefined;
      throw error;
    }
  }
}

const asideSql = 'DELETE FROM damaged_chunk WHERE sensor = ? AND last < ?';

/** Credits the users who are charged for the device with what was deleted, in proportion to their shares. */
export const creditSql = `UPDATE push_charge SET
    bytes = bytes - CAST(bytes * gone.share AS INTEGER), datapoints = datapoints - CAST(datapoints * gone.share AS INTEGER)
  FROM (SELECT sensor.device, min(1.0, ?1 * 1.0 / max(1, (SELECT sum(datapoints) FROM push_charge
    WHERE device = sensor.device))) AS share FROM sensor WHERE sensor.key = ?2) AS gone
  WHERE push_charge.device = gone.device`;

/** With its count, because a removal may have taken datapoints out of a chunk that keeps its id. */
const removalSql = 'DELETE FROM chunk WHERE id = ? AND count = ?';
const replacementSql = `INSERT INTO chunk (${chunkColumns.join(', ')})
  SELECT ${chunkColumns.map(() => '?').join(', ')} WHERE EXISTS (SELECT 1 FROM chunk WHERE id = ? AND count = ?)`;

function removal({ id, count }: OldChunk): Statement {
  return { sql: removalSql, parameters: [id, count] };
}
