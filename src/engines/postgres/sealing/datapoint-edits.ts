// Removes and corrects datapoints, called by series-edits.ts on the main thread. What is in the log is edited by a row of the log,
// never while a pass of sealing is under way, which has read the rows before; what is in chunks, by the store thread. The row of a
// removal notes it in the table `deletion` too, until its chunks are done.
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../../config/limits.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import type { CorrectionOrder, EditOrder, EditResult, RemovalOrder } from '../../shared/sealing/edit-order.ts';
import type { EditWriter } from '../../shared/sealing/series-edits.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { fromColumns, toColumns } from '../database/value-column.ts';
import type { Appender } from '../log/appender.ts';
import type { RowPlace } from '../log/log-row.ts';
import type { LogState } from '../log/log-state.ts';
import type { Beside } from '../log/log-writer.ts';
import { refusalOfWork, type Store, StoreFailure } from '../log/store.ts';
import type { SealControl } from './seal-control.ts';

/** Beyond any time that JavaScript dates can have; tables hold 64-bit integers. */
const timeEnd = 8.64e15 + 1;

interface EditParts {
  readonly state: LogState;
  readonly appender: Appender;
  readonly sealing: SealControl;
  readonly store: Store;
}

interface NotedRemoval extends RowPlace {
  readonly sensor: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly number: number | null;
  readonly text: string | null;
}

export class DatapointEdits implements EditWriter {
  readonly #parts: EditParts;

  constructor(parts: EditParts) {
    this.#parts = parts;
  }

  async edit(order: EditOrder, done: (result: EditResult) => void): Promise<EditResult> {
    try {
      const result = 'removal' in order ? await this.#remove(order.removal) : await this.#correct(order.correction);
      done(result);
      return result;
    } catch (error) {
      throw refusalOfWork(error);
    }
  }

  async #remove({ firstSeq: _first, lastSeq: _last, ...given }: RemovalOrder): Promise<EditResult> {
    const { state, appender, sealing } = this.#parts;
    const removal = within(given);
    let logged = 0;
    let note: RowPlace | undefined;
    const append = () =>
      appender.appendEdit({
        entry: { removal },
        beside: (place) => {
          note = place;
          logged = [...state.head.select(removal)].length;
          return noteOf(removal, place, logged);
        },
        edit: (upToSeq) => ({ upToSeq, removal }),
      });
    await sealing.exclusively(append, { isEdit: true });
    const [removed, unreadable] = await this.#removeFromChunks(removal, note as RowPlace);
    return [logged + removed, unreadable];
  }

  /** It is noted, so that it must be completed: where the database refuses, it is tried again for some time. */
  async #removeFromChunks(removal: SeriesRemoval, note: RowPlace): Promise<EditResult> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#parts.store.ask('remove', { removal, note });
      } catch (error) {
        const mayPass = error instanceof StoreFailure && error.failure.kind === 'storage';
        if (!mayPass || attempt === limits.editRetriesAnswered) throw error;
        await delay(limits.editRetryMs, undefined, { ref: false });
      }
    }
  }

  #correct({ seq, ...correction }: CorrectionOrder): Promise<EditResult> {
    const { state, appender, sealing, store } = this.#parts;
    const { sensor, atMs, value } = correction;
    return sealing.exclusively(
      async () => {
        const place = seq > state.sealedSeq ? state.placeOf(seq) : undefined;
        if (place === undefined) return store.ask('correct', { correction, writer: state.writer });
        const [found, unreadable] = await store.ask('find', correction);
        if (unreadable > 0) return [0, unreadable];
        if (found > 0) return [found + 1, 0];
        await appender.appendEdit({
          entry: { correction: { ...place, sensor, atMs, value } },
          beside: () => ({ sql: (n) => `forgotten AS (${forgetSql(n)})`, parameters: [sensor] }),
          edit: (upToSeq) => ({ upToSeq, correction: { sensor, atMs, seq, value } }),
        });
        return [1, 0];
      },
      { isEdit: true },
    );
  }
}

/** The removal's note, the credit for what it removes from the log, and the end of what is remembered of pushes. */
function noteOf(removal: SeriesRemoval, { seq }: RowPlace, logged: number): Beside {
  const { sensor, fromMs, toMs, value } = removal;
  const { number, text } = value === undefined ? { number: null, text: null } : toColumns(value);
  return {
    sql: (n) => `noted AS (INSERT INTO deletion (writer, seq, sensor, first, last, number, text)
        SELECT writer, CAST($${n} AS bigint), CAST($${n + 1} AS bigint), CAST($${n + 2} AS bigint), CAST($${n + 3} AS bigint),
          CAST($${n + 4} AS double precision), CAST($${n + 5} AS text) FROM added ON CONFLICT DO NOTHING),
      credited AS (${creditBeside(n + 6, n + 1)}),
      forgotten AS (${forgetSql(n + 1)})`,
    parameters: [seq, sensor, fromMs, toMs, number, text, logged],
  };
}

/** Only with a row that was added: where a commit is made again, its users are credited once. */
function creditBeside(logged: number, sensor: number): string {
  return `UPDATE push_charge SET
      bytes = bytes - CAST(trunc(bytes * gone.share) AS bigint),
      datapoints = datapoints - CAST(trunc(datapoints * gone.share) AS bigint)
    FROM (SELECT sensor.device, least(1.0, CAST($${logged} AS double precision) / greatest(1, (SELECT sum(datapoints)
      FROM push_charge WHERE device = sensor.device))) AS share FROM sensor, added WHERE sensor.key = $${sensor}) AS gone
    WHERE push_charge.device = gone.device AND CAST($${logged} AS double precision) > 0`;
}

/** With the row, as all that stands beside it. */
function forgetSql(parameter: number): string {
  return `DELETE FROM receipt USING added WHERE receipt.sensor = CAST($${parameter} AS bigint)`;
}

function within(removal: SeriesRemoval): SeriesRemoval {
  const { fromMs, toMs } = removal;
  return { ...removal, fromMs: Math.max(fromMs, -timeEnd), toMs: Math.min(toMs, timeEnd) };
}

/**
 * Completes the removals that the end of a server has cut off. Called at start, before anything is read, and when others have ended.
 * @returns a sentence about each removal that stays.
 */
export async function completeRemovals(database: PostgresDatabase, store: Store): Promise<string[]> {
  const noted = await database.query<NotedRemoval>(
    'SELECT writer, seq, sensor, first AS "fromMs", last AS "toMs", number, text FROM deletion WHERE NOT EXISTS (SELECT 1 FROM log_writer WHERE log_writer.writer = deletion.writer) ORDER BY writer, seq',
  );
  const left: string[] = [];
  for (const { writer, seq, number, text, ...range } of noted) {
    const value = number === null && text === null ? {} : { value: fromColumns({ number, text }) };
    try {
      await store.ask('remove', { removal: { ...range, ...value }, note: { writer, seq } });
    } catch (error) {
      left.push(
        `A removal of datapoints of the sensor with the key ${range.sensor}, which a stop has cut off, cannot be completed: ${(error as Error).message}. The service runs without that, and tries again at each start.`,
      );
    }
  }
  return left;
}
