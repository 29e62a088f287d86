// The store with such small limits that a few datapoints make many chunks, merges and steps. chunk-model.process.test.ts
// runs it in a process that has these limits in each thread.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import fc from 'fast-check';
import { Caller } from '../../src/domain/callers/caller.ts';
import { datapointsOf } from '../../src/domain/datapoints/columns.ts';
import { orderOf, type StoredValue } from '../../src/domain/datapoints/datapoint.ts';
import type { SeriesCursor } from '../../src/domain/ports/series.ts';
import { databaseFile } from '../../src/engines/embedded/database/connection.ts';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { enginesByShard, type OpenedEngine } from '../storage/engines.ts';
import { batchOf, type StoredPoint, sorted, timeOf } from '../support/points.ts';
import { properties } from '../support/properties.ts';

const caller = new Caller('reader');
const time = fc.integer({ min: 0, max: 30 });
const bound = fc.option(fc.integer({ min: -1, max: 31 }), { nil: undefined });
/** In order, in none, or many of one time. */
const times = fc.oneof(
  fc.array(time, { minLength: 1, maxLength: 25 }),
  fc.tuple(time, fc.integer({ min: 1, max: 50 })).map(([at, count]) => new Array<number>(count).fill(at)),
  fc
    .tuple(time, fc.integer({ min: 1, max: 20 }))
    .map(([from, count]) => Array.from({ length: count }, (_, i) => from + i)),
);
const query = fc.record({
  fromMs: bound,
  toMs: bound,
  descending: fc.boolean(),
  limit: fc.integer({ min: 1, max: 40 }),
});
/** `pick` chooses a datapoint there is: its value, or the one to correct; undefined: all of the range. */
const removal = fc.record({
  from: time,
  to: time,
  pick: fc.option(fc.nat(), { nil: undefined }),
  whileSealing: fc.boolean(),
  pushMeanwhile: fc.boolean(),
});
const action = fc.oneof(
  { weight: 24, arbitrary: fc.record({ push: times, chars: fc.constantFrom(0, 0, 3, 60) }) },
  { weight: 16, arbitrary: fc.record({ seal: fc.boolean() }) },
  { weight: 24, arbitrary: fc.record({ query, whileSealing: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ before: time }) },
  { weight: 8, arbitrary: fc.record({ removal }) },
  { weight: 8, arbitrary: fc.record({ correct: fc.nat(), chars: fc.constantFrom(0, 60), whileSealing: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ reopen: true } as const) },
);

for (const { name, open } of enginesByShard) {
  test(`many small chunks read as a sorted array does, whatever is sealed, merged, removed and corrected meanwhile, on ${name}`, async () => {
    const opened = await open();
    let sensor = 0;
    const property = fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 20 }), async (actions) => {
      const run = new Run(opened, ++sensor);
      for (const one of actions) {
        if ('push' in one) await run.push(one.push, one.chars);
        else if ('seal' in one) await opened.seal();
        else if ('before' in one) await run.removeBefore(one.before);
        else if ('removal' in one) await run.remove(one.removal);
        else if ('correct' in one) await run.correct(one.correct, one.chars, one.whileSealing);
        else if ('query' in one) {
          const sealing = one.whileSealing ? opened.seal() : undefined;
          await run.compare(one.query);
          await sealing;
        } else await opened.reopen();
      }
      await run.compare({ descending: false, limit: 7 });
      await run.assertNoOverlap();
    });
    try {
      await fc.assert(property, properties({ factor: 0.2 }));
    } finally {
      await opened.close();
    }
  });
}

/** The spans of a sensor's chunks, in their order. */
async function spansOf({ data }: OpenedEngine, sensor: number): Promise<readonly { first: number; last: number }[]> {
  const sql = `SELECT first, last FROM chunk WHERE sensor = ${sensor} ORDER BY first, last, id`;
  if (data.startsWith('postgres:')) {
    const database = new PostgresDatabase(data);
    const spans = await database.query<{ first: number; last: number }>(sql);
    await database.close();
    return spans;
  }
  const database = new DatabaseSync(join(data, databaseFile), { readOnly: true });
  const spans = database.prepare(sql).all();
  database.close();
  return spans as unknown as readonly { first: number; last: number }[];
}

type RemovalOfModel = typeof removal extends fc.Arbitrary<infer R> ? R : never;

/** What a read tells of a datapoint, for comparison. */
interface Seen {
  readonly at: number;
  readonly value: StoredValue | undefined;
}

function seen(point: StoredPoint): Seen {
  return { at: timeOf(point), value: point.value };
}

class Run {
  readonly opened: OpenedEngine;
  readonly #sensor: number;
  #model: StoredPoint[] = [];
  #last: StoredPoint | undefined;
  /** Those that went because of their age: one that was the last is told until another is pushed, or it is removed. */
  readonly #aged: StoredPoint[] = [];
  /** True where the last one was removed, and none was pushed since. */
  #isLastRemoved = false;
  #count = 0;

  constructor(opened: OpenedEngine, sensor: number) {
    this.opened = opened;
    this.#sensor = sensor;
  }

  async push(at: readonly number[], chars: number): Promise<void> {
    const points = at.map((timestamp) => {
      const seq = this.#count++;
      const value = chars > 0 && seq % 2 > 0 ? JSON.stringify(`${seq}${'x'.repeat(chars)}`) : seq;
      return { seq, sensor: this.#sensor, timestamp, received: 1000 + seq, value };
    });
    this.#model.push(...points);
    this.#last = points.at(-1) ?? this.#last;
    this.#isLastRemoved = false;
    await this.opened.commitLog.append(batchOf(points));
  }

  /** Beside sealing first, which is in its way, and then until nothing goes any more. */
  async removeBefore(beforeMs: number): Promise<void> {
    const { series } = this.opened;
    const sealing = this.opened.seal();
    await series.removeBefore(this.#sensor, beforeMs);
    await sealing;
    while ((await series.removeBefore(this.#sensor, beforeMs)) > 0);
    this.#aged.push(...this.#model.filter((point) => timeOf(point) < beforeMs));
    this.#model = this.#model.filter((point) => timeOf(point) >= beforeMs);
  }

  /** Removes a range, perhaps of one value alone; beside sealing, and beside a push of later times. */
  async remove({ from, to, pick, whileSealing, pushMeanwhile }: RemovalOfModel): Promise<void> {
    const { series } = this.opened;
    const picked = pick === undefined ? undefined : this.#model[pick % Math.max(1, this.#model.length)];
    const range = { fromMs: Math.min(from, to), toMs: Math.max(from, to), value: picked?.value };
    const isGone = (point: StoredPoint) =>
      timeOf(point) >= range.fromMs &&
      timeOf(point) <= range.toMs &&
      (picked === undefined || point.value === picked.value);
    const expected = this.#model.filter(isGone).length;
    this.#model = this.#model.filter((point) => !isGone(point));
    // Also one that went because of its age, and was told all the same.
    if (this.#last !== undefined && isGone(this.#last)) this.#isLastRemoved = true;
    const sealing = whileSealing ? this.opened.seal() : undefined;
    const removing = series.remove({ sensor: this.#sensor, ...range }, { caller });
    // Behind the range: what is pushed into it meanwhile may go or stay.
    if (pushMeanwhile) await this.push([40, 41], 3);
    assert.equal(await removing, expected);
    await sealing;
  }

  /** Corrects a datapoint, unless others have its time. */
  async correct(pick: number, chars: number, whileSealing: boolean): Promise<void> {
    const point = this.#model[pick % Math.max(1, this.#model.length)];
    if (point === undefined) return;
    const { series } = this.opened;
    const value = chars > 0 ? JSON.stringify(`corrected${'y'.repeat(chars)}`) : -pick;
    const same = this.#model.filter((one) => timeOf(one) === timeOf(point));
    const sealing = whileSealing ? this.opened.seal() : undefined;
    const at = { sensor: this.#sensor, atMs: timeOf(point), value };
    if (same.length > 1) assert.ok((await series.correct(at, { caller })) > 1);
    assert.equal(await series.correct({ ...at, receivedMs: point.received }, { caller }), 1);
    await sealing;
    const corrected = { ...point, value };
    this.#model = this.#model.map((one) => (one === point ? corrected : one));
    if (this.#last === point) this.#last = corrected;
  }

  async compare(asked: {
    readonly fromMs?: number | undefined;
    readonly toMs?: number | undefined;
    readonly descending: boolean;
    readonly limit: number;
  }): Promise<void> {
    const { series } = this.opened;
    const { fromMs = -Infinity, toMs = Infinity } = asked;
    const inside = this.#model.filter((point) => timeOf(point) >= fromMs && timeOf(point) <= toMs);
    const expected = sorted(inside, asked.descending).map(seen);
    const found: Seen[] = [];
    let after: SeriesCursor | undefined;
    do {
      const { columns, next } = await series.range({ sensor: this.#sensor, ...asked, after }, { caller });
      assert.ok(columns.count <= asked.limit);
      found.push(...datapointsOf(columns).map((point) => ({ at: orderOf(point), value: point.value })));
      after = next;
    } while (after !== undefined);
    assert.deepEqual(found, expected);
    assert.equal(await series.count({ sensor: this.#sensor, ...asked }, 10_000), expected.length);
    const latest = (await series.latest([this.#sensor])).get(this.#sensor);
    const told = latest && { at: orderOf(latest), value: latest.value };
    // Where the last one was removed, it is one of those that are left.
    const isKept = this.#last === undefined || !this.#isLastRemoved;
    if (isKept) assert.deepEqual(told, this.#last && seen(this.#last));
    else if (told === undefined) assert.equal(this.#model.length, 0);
    else assert.ok([...this.#model, ...this.#aged].some((one) => timeOf(one) === told.at && one.value === told.value));
  }

  async assertNoOverlap(): Promise<void> {
    const chunks = await spansOf(this.opened, this.#sensor);
    for (const [index, { first }] of chunks.entries())
      assert.ok((chunks[index - 1]?.last ?? -Infinity) <= first, 'two chunks overlap');
  }
}
