// Shared by tests of chunks: datapoints as rows, columns made of them, and samples of every part of the format.
import assert from 'node:assert/strict';
import type { Columns } from '../../../domain/datapoints/columns.ts';

export interface Datapoint {
  readonly at: number;
  /** Milliseconds after `at`; undefined where the sender gave no timestamp. */
  readonly late: number | undefined;
  /** A string is JSON text. */
  readonly value: number | string;
}

export function columnsOf(datapoints: readonly Datapoint[]): Columns {
  const texts = new Map<number, string>();
  datapoints.forEach(({ value }, i) => {
    if (typeof value === 'string') texts.set(i, value);
  });
  return {
    count: datapoints.length,
    at: Float64Array.from(datapoints, ({ at }) => at),
    received: Float64Array.from(datapoints, ({ at, late }) => at + (late ?? 0)),
    stamped: Uint8Array.from(datapoints, ({ late }) => (late === undefined ? 0 : 1)),
    values: Float64Array.from(datapoints, ({ value }) => (typeof value === 'string' ? Number.NaN : value)),
    texts: texts.size === 0 ? undefined : texts,
  };
}

const hex = (column: Float64Array | Uint8Array) =>
  Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString('hex');

/** Asserts that two columns are equal bit for bit. */
export function assertSame(actual: Columns, expected: Columns): void {
  assert.equal(actual.count, expected.count);
  for (const name of ['at', 'received', 'stamped', 'values'] as const) {
    assert.equal(hex(actual[name]), hex(expected[name]), name);
  }
  assert.deepEqual(actual.texts, expected.texts);
}

/** Small chunks that together use every part of the format. Their arithmetic is exact on every machine. */
export const samples: Readonly<Record<string, readonly Datapoint[]>> = {
  one: [{ at: 1_700_000_000_000, late: 35, value: 21.5 }],
  slow: range(40, (i) => ({ at: 1_700_000_000_000 + i * 60_000, late: (i * 7919) % 380, value: (200 + i * i) / 10 })),
  halfStamped: range(300, (i) => ({ at: i * 1_000, late: i % 9 > 0 ? i % 7 : undefined, value: (i % 17) / 100 })),
  doubles: range(150, (i) => ({ at: i * 10 + (i % 3), late: 0, value: Math.sqrt(i) / 3 })),
  states: range(20, (i) => ({ at: i * i, late: i, value: i % 2 ? `"state ${i % 4}"` : -0 })),
  edges: [
    { at: -8.64e15, late: undefined, value: '\ud800' },
    { at: 8.64e15, late: undefined, value: 1e300 },
  ],
  outliers: range(200, (i) => ({ at: i * 5_000, late: i % 50 ? 40 + (i % 3) : 1e9, value: i % 40 ? 20.5 : 85.125 })),
  pushedAtOnce: range(60, (i) => ({ at: i * i * 7, late: 1e6 - i * i * 7, value: i * 3 })),
  drifting: range(140, (i) => ({ at: i * i * i, late: i, value: (i * 7919) % 65_521 })),
  levels: repeating([0, 1, 3, 2]),
  twoPlanes: repeating([301, 5, 65_000, -9]),
  threePlanes: repeating([70_001, 5, 1_000_000, -9]),
  fourPlanes: repeating([70_001, 5, 16_777_300, -9]),
  objects: range(50, (i) => ({ at: i, late: 2, value: JSON.stringify({ lat: 52 + i / 64, lon: 13 - i / 32 }) })),
};

function range(count: number, datapoint: (i: number) => Datapoint): Datapoint[] {
  return Array.from({ length: count }, (_, i) => datapoint(i));
}

function repeating(values: readonly number[]): Datapoint[] {
  return range(260, (i) => ({ at: i * 2_000, late: 1_000 - (i % 13), value: values[i % values.length]! }));
}
