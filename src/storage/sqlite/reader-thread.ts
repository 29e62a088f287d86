// The reader thread: reads long steps of series with a connection of its own, so that neither ingest nor other requests
// wait while chunks are decoded.
import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { RangeStep } from '../../domain/datapoints/datapoint-store.ts';
import { openConnection } from './connection.ts';
import type { ReadAnswer, ReadOrder } from './reader-protocol.ts';
import { SeriesReader } from './series-reader.ts';

if (parentPort === null) throw new Error('The reader runs in a thread of its own.');
const port = parentPort;
const { path } = workerData as { path: string };
const series = new SeriesReader(openConnection(path, { readOnly: true, cacheBytes: limits.pageCacheBytesPassing }));

port.on('message', ({ id, query, part }: ReadOrder) => {
  try {
    const step = series.read(query, part);
    answer({ id, step }, buffersOf(step));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof Refusal) answer({ id, refusal: { code: error.code, message, cause: String(error.cause) } });
    else answer({ id, fault: message });
  }
});

/** Handed over, not copied. */
function buffersOf({ columns }: RangeStep): ArrayBuffer[] {
  const { at, received, stamped, values, seqs } = columns;
  const arrays = seqs === undefined ? [at, received, stamped, values] : [at, received, stamped, values, seqs];
  return arrays.map(({ buffer }) => buffer as ArrayBuffer);
}

function answer(message: ReadAnswer, handedOver: ArrayBuffer[] = []): void {
  port.postMessage(message, handedOver);
}
