// Datapoints as they would have come in over months, with the times at which they were received, which only the store's
// own door takes: a push is received when it is pushed. Called by sections/disk.ts and sections/codec.ts.

import { readMotes } from '../../scripts/demo/motes.ts';
import { BatchBuilder, type DatapointBatch } from '../../src/domain/datapoints/datapoint-batch.ts';
import { Dice, Walk } from './dice.ts';

/** What one sensor measures, one value after the other. */
type Values = () => number;

export interface LiveData {
  readonly name: string;
  readonly stepMs: number;
  readonly sensors: readonly Values[];
}

/** Sensors of each of them; those of the four motes. */
export const liveSensors = 8;

export function liveKinds(): LiveData[] {
  const sensors = (make: (n: number) => Values) => Array.from({ length: liveSensors }, (_, n) => make(n));
  const motes = readMotes().flatMap(({ sensors }) => sensors.map(({ datapoints }) => datapoints));
  return [
    { name: 'the motes, day after day', stepMs: 5_000, sensors: sensors((n) => repeated(motes[n] ?? [])) },
    { name: 'one a minute, one decimal', stepMs: 60_000, sensors: sensors((n) => walking(n)) },
    { name: 'one in ten seconds, full precision', stepMs: 10_000, sensors: sensors((n) => noisy(n)) },
  ];
}

const firstMs = Date.UTC(2025, 0, 1);
const delayMsMin = 20;
const delayMsMax = 400;
const batchDatapoints = 4_000;

/** In order of arrival, about as much as commits hold; sensors have the numbers from 1. */
export function* liveBatches({ stepMs, sensors }: LiveData, datapoints: number): Generator<DatapointBatch> {
  const network = new Dice(0);
  const steps = Math.ceil(datapoints / sensors.length);
  const stepsEach = batchDatapoints / sensors.length;
  for (let start = 0; start < steps; start += stepsEach) {
    const end = Math.min(steps, start + stepsEach);
    const batch = new BatchBuilder((end - start) * sensors.length);
    for (let step = start; step < end; step++) {
      const atMs = firstMs + step * stepMs;
      for (const [n, next] of sensors.entries()) {
        const receivedMs = atMs + delayMsMin + network.below(delayMsMax - delayMsMin);
        batch.add(n + 1, atMs, receivedMs, next());
      }
    }
    yield batch.build();
  }
}

function repeated(datapoints: readonly { readonly value: number }[]): Values {
  let turn = 0;
  return () => datapoints[turn++ % datapoints.length]?.value ?? 0;
}

function walking(seed: number): Values {
  const walk = new Walk(seed);
  return () => walk.next();
}

function noisy(seed: number): Values {
  const dice = new Dice(seed);
  // Two throws, because one has 32 bits and a double has 53.
  return () => 20 + dice.next() + dice.next() / 2 ** 21;
}
