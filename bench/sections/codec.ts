// The codec of chunks by itself, in this process: bytes a datapoint, and how many are encoded and decoded in a second of
// one core; full chunks of what fleets send, and the small ones of slow sensors, where every byte and call counts.

import type { Columns } from '../../src/domain/datapoints/columns.ts';
import { rowNumbers } from '../../src/domain/datapoints/datapoint-batch.ts';
import { decodeChunk, encodeChunk } from '../../src/engines/shared/codec/chunk-codec.ts';
import type { BenchOptions } from '../arguments.ts';
import { median, shown, table } from '../figures.ts';
import { type LiveData, liveBatches, liveKinds, liveSensors } from '../load/live-data.ts';
import type { Section, Verdict } from '../section.ts';

const datapoints = 400_000;
const fullChunk = 4_096;
const smallChunks = [2, 10, 40] as const;
/** Bytes a datapoint, in the order of `liveKinds`. */
const bytesMax = [2, 2, 9.5] as const;
const encodedPerSMin = 3_000_000;
const decodedPerSMin = 25_000_000;
const smallPerSMin = 200_000;

interface Measured {
  readonly name: string;
  readonly chunks: number;
  readonly datapoints: number;
  readonly bytes: number;
  /** Medians of the rounds, processor seconds for all of the chunks. */
  readonly encodeS: number;
  readonly decodeS: number;
  readonly decodeAllS: number;
}

export async function measureCodec({ rounds }: BenchOptions): Promise<Section> {
  const kinds = liveKinds();
  const columns = kinds.map(columnsOf);
  const full = kinds.map(({ name }, n) => measureChunks(name, columns[n]!, { size: fullChunk, rounds }));
  const small = smallChunks.map((size) => measureChunks(`${size} datapoints`, columns[1]!, { size, rounds }));
  return {
    title: 'Chunks',
    how: `The codec alone, in the process of the bench, by the processor time of its thread: ${shown(datapoints)} datapoints of ${liveSensors} sensors in chunks of ${shown(fullChunk)}, received 20 to 400 ms after the time of measuring; then those of one a minute in small chunks.`,
    tables: [fullTable(full), smallTable(small)],
    verdicts: [
      ...full.flatMap((one, n) => fullVerdicts(one, bytesMax[n]!)),
      ...small.map((one) => atLeast(`small chunks of ${one.name}, encoded per CPU second`, one.chunks / one.encodeS, smallPerSMin)), // biome-ignore format: one
    ],
    faults: [],
  };
}

/** What each sensor sent, as columns. */
function columnsOf(data: LiveData): Columns[] {
  const count = datapoints / liveSensors;
  const sensors = Array.from({ length: liveSensors }, () => ({
    count,
    at: new Float64Array(count),
    received: new Float64Array(count),
    stamped: new Uint8Array(count).fill(1),
    values: new Float64Array(count),
    texts: undefined,
  }));
  let row = 0;
  for (const { rows } of liveBatches(data, datapoints)) {
    for (let i = 0; i < rows.length; i += rowNumbers, row++) {
      const sensor = sensors[row % liveSensors]!;
      const index = Math.floor(row / liveSensors);
      sensor.at[index] = rows[i + 1]!;
      sensor.received[index] = rows[i + 2]!;
      sensor.values[index] = rows[i + 3]!;
    }
  }
  return sensors;
}

function measureChunks(
  name: string,
  sensors: readonly Columns[],
  { size, rounds }: { readonly size: number; readonly rounds: number },
): Measured {
  const chunks = sensors.flatMap((columns) => cut(columns, size));
  const encoded = chunks.map(encodeChunk);
  const times = { encode: [] as number[], decode: [] as number[], decodeAll: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const encodeS = time(() => chunks.forEach(encodeChunk));
    const decodeS = time(() => encoded.forEach((bytes) => decodeChunk(bytes, { received: false })));
    const decodeAllS = time(() => encoded.forEach((bytes) => decodeChunk(bytes)));
    // The first round warms up.
    if (round === 0) continue;
    times.encode.push(encodeS);
    times.decode.push(decodeS);
    times.decodeAll.push(decodeAllS);
  }
  console.error(`codec: ${name}`);
  return {
    name,
    chunks: chunks.length,
    datapoints,
    bytes: encoded.reduce((sum, { length }) => sum + length, 0),
    encodeS: median(times.encode),
    decodeS: median(times.decode),
    decodeAllS: median(times.decodeAll),
  };
}

function cut({ count, at, received, stamped, values }: Columns, size: number): Columns[] {
  return Array.from({ length: Math.ceil(count / size) }, (_, n) => {
    const [from, to] = [n * size, Math.min(count, (n + 1) * size)];
    const part = <T extends Float64Array | Uint8Array>(column: T) => column.slice(from, to) as T;
    return {
      count: to - from,
      at: part(at),
      received: part(received),
      stamped: part(stamped),
      values: part(values),
      texts: undefined,
    };
  });
}

/** Seconds of processor time of this thread, so that others on the core do not count. */
function time(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1e6;
}

function fullTable(measured: readonly Measured[]): string {
  return table(
    ['full chunks', 'bytes each', 'encoded per CPU s', 'times and values per CPU s', 'all decoded per CPU s'],
    measured.map(({ name, bytes, encodeS, decodeS, decodeAllS }) => [
      name,
      shown(bytes / datapoints),
      ...[encodeS, decodeS, decodeAllS].map((seconds) => shown(datapoints / seconds)),
    ]),
  );
}

function smallTable(measured: readonly Measured[]): string {
  return table(
    ['small chunks', 'bytes a chunk', 'chunks encoded per CPU s', 'chunks decoded per CPU s'],
    measured.map(({ name, chunks, bytes, encodeS, decodeAllS }) => [
      name,
      shown(bytes / chunks),
      ...[encodeS, decodeAllS].map((seconds) => shown(chunks / seconds)),
    ]),
  );
}

function fullVerdicts({ name, bytes, encodeS, decodeS }: Measured, max: number): Verdict[] {
  const each = bytes / datapoints;
  return [
    {
      target: `chunks, ${name}: ${shown(each)} bytes a datapoint, target at most ${max}`,
      outcome: each <= max ? 'reached' : 'missed',
    },
    atLeast(`chunks, ${name}, datapoints encoded per CPU second`, datapoints / encodeS, encodedPerSMin),
    atLeast(`chunks, ${name}, times and values decoded per CPU second`, datapoints / decodeS, decodedPerSMin),
  ];
}

function atLeast(name: string, perS: number, min: number): Verdict {
  return {
    target: `${name}: ${shown(perS)}, target at least ${shown(min)}`,
    outcome: perS >= min ? 'reached' : 'missed',
  };
}
