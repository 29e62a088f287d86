// Packs a batch of datapoints for its way to the writer thread.
import type { DatapointBatch } from '../../domain/datapoints/datapoint-store.ts';
import { markNumbers, type PackedBatch, rowNumbers } from './writer-protocol.ts';

export function packBatch({ sensors, timestamps, received, values, receipts, publishes }: DatapointBatch): PackedBatch {
  const rows = new Float64Array(sensors.length * rowNumbers);
  const texts: string[] = [];
  for (let i = 0, at = 0; i < sensors.length; i++, at += rowNumbers) {
    const value = values[i] as number | string;
    rows[at] = sensors[i] as number;
    rows[at + 1] = timestamps[i] as number;
    rows[at + 2] = received[i] as number;
    if (typeof value === 'number') rows[at + 3] = value;
    else {
      rows[at + 3] = Number.NaN;
      texts.push(value);
    }
  }
  const marks = new Float64Array(publishes.length * markNumbers);
  for (let i = 0, at = 0; i < publishes.length; i++, at += markNumbers) {
    const mark = publishes[i] as (typeof publishes)[number];
    marks[at] = mark.slot;
    marks[at + 1] = mark.content;
  }
  return { rows, texts, receipts, publishes: marks };
}
