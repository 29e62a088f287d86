// The times of receiving, the last section of a chunk, so that reads that do not need them stop before it. Written as
// distances from the ordering times, or as themselves where many datapoints were received at once (a push of a day's
// measurements).
import { limits } from '../../../config/limits.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { ByteReader } from './bytes/byte-reader.ts';
import type { ByteWriter } from './bytes/byte-writer.ts';
import { CorruptChunk } from './bytes/corrupt-chunk.ts';
import { scratch } from './bytes/scratch.ts';
import { type ArrayAllocator, allocateNew, readSeries } from './integers/series-decoder.ts';
import { planSeries } from './integers/series-encoder.ts';

const noneStamped = 0;
const allStamped = 1;
const someStamped = 2;
/** Bit: the times are written as themselves. */
const isOwn = 4;
/** Larger distances may not be exact. */
const distanceMax = 2 ** 50;

type Times = Pick<Columns, 'at' | 'received' | 'stamped'>;

/** @throws RangeError for a datapoint without a timestamp whose two times differ. */
export function writeReceived(out: ByteWriter, { at, received, stamped }: Times): void {
  const count = at.length;
  const distances = scratch.take(count);
  let stampedCount = 0;
  let farthest = 0;
  for (let i = 0; i < count; i++) {
    const distance = received[i]! - at[i]!;
    distances[i] = distance;
    farthest = Math.max(farthest, Math.abs(distance));
    if (stamped[i] !== 0) stampedCount += 1;
    else if (distance !== 0) throw new RangeError(`Datapoint ${i} has no timestamp, so at must equal received.`);
  }
  if (stampedCount === 0) {
    out.byte(noneStamped);
    return;
  }
  const relative = farthest < distanceMax ? planSeries(distances, [0, 1]) : undefined;
  const own = relative === undefined || mayStandAlone(received, distances) ? planSeries(received, [1, 2]) : undefined;
  const isAlone = own !== undefined && (relative === undefined || own.bytes < relative.bytes);
  out.byte((stampedCount === count ? allStamped : someStamped) | (isAlone ? isOwn : 0));
  if (stampedCount < count) planSeries(new Float64Array(stamped), [1, 0]).write(out);
  (isAlone ? own : relative)?.write(out);
}

/** Whether the times themselves vary less than their distances do, or not much more. */
function mayStandAlone(received: Float64Array, distances: Float64Array): boolean {
  let alone = 0;
  let relative = 0;
  for (let i = 1; i < received.length; i++) {
    alone += Math.abs(received[i]! - received[i - 1]!);
    relative += Math.abs(distances[i]! - distances[i - 1]!);
  }
  return alone < relative * 2;
}

/** @param at the ordering times, decoded before. */
export function readReceived(
  reader: ByteReader,
  at: Float64Array,
  allocate: ArrayAllocator = allocateNew,
): Omit<Times, 'at'> {
  const count = at.length;
  const header = reader.byte();
  if (header === noneStamped) {
    const received = allocate(count);
    received.set(at);
    return { received, stamped: allOf(0, count) };
  }
  const kind = header & ~isOwn;
  if (kind !== allStamped && kind !== someStamped) throw new CorruptChunk('The times of receiving have unknown flags.');
  const stamped = kind === allStamped ? allOf(1, count) : new Uint8Array(readSeries(reader, count));
  const received = readSeries(reader, count, allocate);
  if ((header & isOwn) === 0) for (let i = 0; i < count; i++) received[i]! += at[i]!;
  return { received, stamped };
}

/** An array with the same stamp throughout. Nearly every chunk needs one and nobody writes into it, so it is shared. */
function allOf(stamp: 0 | 1, count: number): Uint8Array {
  let all = same[stamp];
  if (all === undefined || all.length < count) {
    all = new Uint8Array(Math.max(count, limits.chunkDatapointsWanted)).fill(stamp);
    same[stamp] = all;
  }
  return all.subarray(0, count);
}

const same: Partial<Record<0 | 1, Uint8Array>> = {};
