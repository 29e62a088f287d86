// The reader thread: reads long steps on a connection of its own and prepares their answers, so that decoding chunks
// holds up neither ingest nor other requests.
import '../../../base/threads/thread-limits.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../../base/refusal.ts';
import { lowerPriority, niceness } from '../../../base/threads/thread-priority.ts';
import { limits } from '../../../config/limits.ts';
import { buffersOf } from '../../../domain/datapoints/columns.ts';
import type { Reads } from '../../shared/reads/long-reads.ts';
import { aggregateStep, downsampleStep, textStep } from '../../shared/reads/series-computations.ts';
import { SeriesReader } from '../../shared/reads/series-reader.ts';
import type { ReadRequest, ReadResponse, ReleasedText } from '../../shared/threads/reader-protocol.ts';
import { TextBufferPool } from '../../shared/threads/text-buffers.ts';
import { openConnection } from '../database/connection.ts';
import { ChunkReader } from '../reads/chunk-reader.ts';

if (parentPort === null) throw new Error('The reader runs in a thread of its own.');
lowerPriority(niceness.reading);
const port = parentPort;
const { path } = workerData as { path: string };
const database = openConnection(path, { readOnly: true, cacheBytes: limits.pageCacheBytesPassing });
const series = new SeriesReader(new ChunkReader(database, { decodedBytesMax: limits.decodedBytesMax }));
const texts = new TextBufferPool();

port.on('message', (message: ReadRequest | ReleasedText) => {
  if ('spent' in message) {
    texts.release(message.spent);
    return;
  }
  const { id } = message;
  try {
    const [step, buffers] = read(message);
    answer({ id, step }, buffers);
  } catch (error) {
    const { message: text } = error as Error;
    if (error instanceof Refusal)
      answer({ id, refusal: { code: error.code, message: text, cause: String(error.cause) } });
    else answer({ id, fault: text });
  }
});

/** The answer, and those of its buffers that are transferred instead of copied. */
function read({ kind, query, part }: ReadRequest): [step: Reads[keyof Reads]['step'], buffers: ArrayBuffer[]] {
  switch (kind) {
    case 'range': {
      const step = series.read(query, part);
      return [step, buffersOf(step.columns)];
    }
    case 'aggregate':
      return [aggregateStep(series, query, part), []];
    case 'downsample': {
      const step = downsampleStep(series, query, part);
      return [step, buffersOf(step.columns)];
    }
    case 'text': {
      const step = textStep(series, query, part, (bytes) => texts.take(bytes));
      return [step, [step.text.buffer as ArrayBuffer]];
    }
  }
}

function answer(message: ReadResponse, handedOver: ArrayBuffer[] = []): void {
  port.postMessage(message, handedOver);
}
