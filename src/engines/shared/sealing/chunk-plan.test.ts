// How new datapoints are placed among the chunks of a sensor: each is stored once, in order, and rewritten a few times
// at most.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { limits } from '../../../config/limits.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import { columnsOf, type Datapoint } from '../codec/columns.suite.ts';
import { gather, mergeUp, pieceUp } from '../codec/gathering.ts';
import { type ChunkSpan, cutForChunks, isFull, planPlacement } from './chunk-plan.ts';

/** Chunks as large as the tests fill them. */
const small = {
  chunkDatapointsWanted: 16,
  chunkDatapointsMax: 40,
  chunkTextCharsWanted: 300,
  chunkTextBytesMax: 3000,
  chunkBytesFull: 150,
};
const usual = Object.fromEntries(Object.keys(small).map((name) => [name, limits[name as keyof typeof small]]));
before(() => void Object.assign(limits, small));
after(() => void Object.assign(limits, usual));

interface Chunk extends ChunkSpan {
  readonly columns: Columns;
}

/** The chunks of one sensor, to which passes are added as sealing does; values are the order of arrival. */
class Sensor {
  readonly #key: number;
  chunks: Chunk[] = [];
  /** By value: how often it was written. */
  readonly written: number[] = [];
  #arrived: Datapoint[] = [];
  #lastId = 0;
  #rewritten = 0;

  constructor(key = 0) {
    this.#key = key;
  }

  take(times: readonly number[], textOf: (value: number) => string | undefined = () => undefined): void {
    const fresh = times.map((at, index) => {
      const value = this.#arrived.length + index;
      const text = textOf(value);
      return { at, late: 0, value: text === undefined ? value : JSON.stringify(`${value} ${text}`) };
    });
    this.#arrived = [...this.#arrived, ...fresh];
    const columns = columnsOf(fresh.toSorted((a, b) => a.at - b.at));
    if (columns.count > 0) this.#place(columns);
  }

  #place(fresh: Columns): void {
    const lastMs = fresh.at[fresh.count - 1] as number;
    const near = this.chunks.filter(({ first }) => first <= lastMs);
    const behind = this.chunks.filter(({ first }) => first > lastMs).reduce((sum, { count }) => sum + count, 0);
    for (const { replaces, from, to, tailMs } of planPlacement(near, fresh, {
      key: this.#key,
      countBehind: () => behind,
    })) {
      const older = replaces.map((span) => this.#take(span));
      const all = gather([...mergeUp(older.map((columns) => pieceUp({ columns, from: 0, to: columns.count })), { columns: fresh, from, to })]); // biome-ignore format: one call
      for (const slice of cutForChunks(all, tailMs)) this.#add(gather([slice]));
    }
    this.chunks.sort((a, b) => a.first - b.first || a.last - b.last || a.id - b.id);
  }

  #take({ id }: ChunkSpan): Columns {
    const found = this.chunks.find((chunk) => chunk.id === id);
    assert.ok(found !== undefined, 'a chunk is replaced twice');
    this.chunks = this.chunks.filter((chunk) => chunk.id !== id);
    return found.columns;
  }

  #add(columns: Columns): void {
    const place = {
      first: columns.at[0] as number,
      last: columns.at[columns.count - 1] as number,
      count: columns.count,
    };
    let size = columns.count;
    for (let index = 0; index < columns.count; index++) {
      const value = arrivalOf(columns, index);
      if (this.written[value] !== undefined) this.#rewritten += 1;
      this.written[value] = (this.written[value] ?? 0) + 1;
      size += columns.texts?.get(index)?.length ?? 0;
    }
    this.chunks.push({ id: ++this.#lastId, ...place, size, columns });
  }

  /** How many datapoints were written again since this was called last. */
  takeRewritten(): number {
    const rewritten = this.#rewritten;
    this.#rewritten = 0;
    return rewritten;
  }

  assertSound(): void {
    const found = this.chunks.flatMap(({ columns }) =>
      Array.from({ length: columns.count }, (_, i) => arrivalOf(columns, i)),
    );
    const sorted = [...this.#arrived.keys()].sort((a, b) => this.#timeOf(a) - this.#timeOf(b) || a - b);
    assert.deepEqual(found, sorted, 'each is there once, by time, equal times in order of arrival');
    for (const [index, chunk] of this.chunks.entries()) {
      const next = this.chunks[index + 1];
      if (next !== undefined) assert.ok(chunk.last <= next.first, 'chunks overlap');
      const isOfOneTime = chunk.first === chunk.last;
      assert.ok(chunk.count <= (isOfOneTime ? limits.chunkDatapointsMax : limits.chunkDatapointsWanted));
      let chars = 0;
      for (const text of chunk.columns.texts?.values() ?? []) chars += text.length;
      assert.ok(isOfOneTime ? chars * 3 <= limits.chunkTextBytesMax : chars <= limits.chunkTextCharsWanted);
      // Where one time takes several chunks, each begins with that time.
      if (next?.first === chunk.last) assert.equal(chunk.first, chunk.last);
    }
  }

  #timeOf(value: number): number {
    return (this.#arrived[value] as Datapoint).at;
  }
}

function arrivalOf({ values, texts }: Columns, index: number): number {
  return Number.parseInt((texts?.get(index) ?? '""').slice(1), 10) || Number(values[index]) || 0;
}

function upFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

function meanOf(written: readonly number[]): number {
  return written.reduce((sum, times) => sum + times, 0) / written.length;
}

test('after any passes each datapoint is there once, in order, in chunks that do not overlap', () => {
  const near = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 40 });
  const same = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 120 })).map(([at, count]) => new Array<number>(count).fill(at)); // biome-ignore format: one call
  const onwards = fc.tuple(fc.nat({ max: 2000 }), fc.integer({ min: 1, max: 50 })).map(([from, count]) => Array.from({ length: count }, (_, i) => from + i)); // biome-ignore format: one call
  const pass = fc.oneof(near, same, onwards);
  const chars = fc.constantFrom(0, 0, 5, 40, 250);
  const property = fc.property(
    fc.nat({ max: 20 }),
    fc.array(fc.tuple(pass, chars), { maxLength: 25 }),
    (key, passes) => {
      const sensor = new Sensor(key);
      for (const [times, length] of passes) {
        sensor.take(times, (value) => (length > 0 && value % 3 > 0 ? 'x'.repeat(length) : undefined));
        sensor.assertSound();
      }
    },
  );
  fc.assert(property, properties());
});

test('a slow sensor has its datapoints written a few times, whatever a pass brings', () => {
  for (const [key, each] of [1, 2, 3, 10].entries()) {
    const sensor = new Sensor(key * 2);
    for (let pass = 0; pass < 400; pass++) sensor.take(upFrom(pass * each, each));
    sensor.assertSound();
    // Once when it arrives, and once for each size of chunk until it is full.
    assert.ok(Math.max(...sensor.written) <= 4, `${each} at a time: ${Math.max(...sensor.written)}`);
    assert.ok(sensor.chunks.length < 20 + (400 * each) / 8, `${each} at a time: ${sensor.chunks.length} chunks`);
  }
});

test('as large chunks as those of use, too: a datapoint is written once for each of their sizes', () => {
  Object.assign(limits, usual);
  try {
    for (const each of [2, 10]) {
      const sensor = new Sensor();
      for (let pass = 0; pass * each < 6_000; pass++) sensor.take(upFrom(pass * each, each));
      sensor.assertSound();
      assert.ok(meanOf(sensor.written) <= 5, `${each} at a time: ${meanOf(sensor.written)}`);
      assert.ok(sensor.chunks.length < 30, `${each} at a time: ${sensor.chunks.length} chunks`);
    }
  } finally {
    Object.assign(limits, small);
  }
});

test('no pass rewrites the chunks of all sensors, whatever has put them in step', () => {
  Object.assign(limits, usual);
  // Where all are merged in the same pass it rewrites 56 times as many as are new, with 750 at a time 8 times.
  const inStep = [
    { what: 'begun together', each: 10, passes: 120, bound: 8 },
    { what: 'begun together', each: 200, passes: 90, bound: 5 },
    { what: 'begun together', each: 750, passes: 30, bound: 3 },
    { what: 'keys 49 apart', stride: 49, each: 10, passes: 120, bound: 10 },
    { what: 'keys 7 apart', stride: 7, each: 5, passes: 120, bound: 12 },
    { what: 'a full chunk first', each: 10, first: 3_000, passes: 120, bound: 10 },
    { what: 'a full chunk first', each: 750, first: 3_000, passes: 30, bound: 5 },
    { what: 'a large chunk first', each: 10, first: 600, passes: 120, bound: 16 },
  ];
  try {
    for (const { what, stride = 1, each, first = each, passes, bound } of inStep) {
      const sensors = Array.from({ length: 50 }, (_, n) => new Sensor(n * stride));
      const ofPass: number[] = [];
      for (let pass = 0; pass < passes; pass++) {
        const count = pass === 0 ? first : each;
        const from = pass === 0 ? 0 : first + pass * each;
        for (const sensor of sensors) sensor.take(upFrom(from * 60_000, count));
        const rewritten = sensors.reduce((sum, sensor) => sum + sensor.takeRewritten(), 0);
        ofPass.push(rewritten / (sensors.length * count));
      }
      const most = Math.max(...ofPass);
      assert.ok(most < bound, `${what}, ${each} at a time: ${most} times as many as are new`);
    }
  } finally {
    Object.assign(limits, small);
  }
});

test('a sensor whose datapoints always come a little late has them written little more often', () => {
  Object.assign(limits, usual);
  const lateness: Record<string, (n: number) => number> = {
    'in turns from two places, one of which is slower': (n) => (n % 2 > 0 ? n - 7 : n),
    'in disorder': (n) => n - ((n * 7919) % 13),
    'after one with a wrong clock': (n) => (n === 0 ? 1e12 : n),
    'in order, and late from the middle on': (n) => (n > 3_000 && n % 2 > 0 ? n - 7 : n),
  };
  try {
    for (const [what, timeOf] of Object.entries(lateness)) {
      for (const each of [2, 10]) {
        const sensor = new Sensor();
        for (let pass = 0; pass * each < 6_000; pass++) sensor.take(upFrom(pass * each, each).map(timeOf));
        sensor.assertSound();
        assert.ok(meanOf(sensor.written) <= 9, `${what}, ${each} at a time: ${meanOf(sensor.written)}`);
        assert.ok(sensor.chunks.length < 40, `${what}, ${each} at a time: ${sensor.chunks.length} chunks`);
      }
    }
  } finally {
    Object.assign(limits, small);
  }
});

test('long texts are written a few times too', () => {
  const sensor = new Sensor();
  for (let pass = 0; pass < 200; pass++) sensor.take([pass * 2, pass * 2 + 1], () => 'x'.repeat(90));
  sensor.assertSound();
  assert.ok(sensor.chunks.filter((chunk) => !isFull(chunk)).length < 20);
  assert.ok(Math.max(...sensor.written) <= 4, `${Math.max(...sensor.written)}`);
});

test('of one time as much goes into a chunk as the format holds', () => {
  const numbers = cutForChunks(columnsOf(Array.from({ length: 100 }, (_, value) => ({ at: 7, late: 0, value }))));
  assert.deepEqual(numbers.map(({ from, to }) => [from, to]), [[0, 40], [40, 80], [80, 100]]); // biome-ignore format: pairs
  const texts = Array.from({ length: 12 }, (_, n) => ({ at: n < 2 ? n : 7, late: 0, value: 'x'.repeat(330) }));
  assert.deepEqual(cutForChunks(columnsOf(texts)).map(({ from, to }) => [from, to]), [[0, 1], [1, 2], [2, 5], [5, 8], [8, 11], [11, 12]]); // biome-ignore format: pairs
});
