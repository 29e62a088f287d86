// The reader thread: reads long steps on connections of its own and prepares their answers, so that decoding chunks holds up
// neither ingest nor other requests. What came of steps that a standby was asked for it tells the main thread.
import '../../../base/threads/thread-limits.ts';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Refusal } from '../../../base/refusal.ts';
import { lowerPriority, niceness } from '../../../base/threads/thread-priority.ts';
import { limits } from '../../../config/limits.ts';
import { buffersOf } from '../../../domain/datapoints/columns.ts';
import type { Reads } from '../../shared/reads/long-reads.ts';
import type { ReadRequest, ReadResponse, ReleasedText } from '../../shared/threads/reader-protocol.ts';
import { TextBufferPool } from '../../shared/threads/text-buffers.ts';
import { SharedDistribution } from '../database/distributed-tables.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { StandbyDatabase, type StandbyPlace } from '../database/standby-database.ts';
import type { Query } from '../log/log-reader.ts';
import type { StandbySource } from '../reads/chunk-reader.ts';
import { StandbyRows } from '../reads/chunk-rows.ts';
import { StepReader } from '../reads/step-reader.ts';

/** What the thread is started with. */
export interface ReaderData {
  readonly url: string;
  /** Memory of what the process goes by. */
  readonly distribution: SharedArrayBuffer;
  readonly standby: { readonly place: StandbyPlace; readonly outcomes: MessagePort } | undefined;
}

if (parentPort === null) throw new Error('The reader runs in a thread of its own.');
lowerPriority(niceness.reading);
const port = parentPort;
const { url, distribution, standby } = workerData as ReaderData;
const database = new PostgresDatabase(url, { reads: 1, distribution: new SharedDistribution(distribution) });
const texts = new TextBufferPool();
const query: Query = (sql, parameters) => database.query(sql, parameters);
const steps = new StepReader(database, {
  decodedBytesMax: limits.decodedBytesMax,
  allocate: (bytes) => texts.take(bytes),
  standby: standby && standbyOf(standby),
});

function standbyOf({ place, outcomes }: NonNullable<ReaderData['standby']>): StandbySource {
  const standby = new StandbyDatabase(place, { connections: limits.standbyConnectionsOfReader });
  return { rows: new StandbyRows(query, standby), note: (outcome) => outcomes.postMessage(outcome) };
}

port.on('message', async (message: ReadRequest | ReleasedText) => {
  if ('spent' in message) {
    texts.release(message.spent);
    return;
  }
  const { id } = message;
  try {
    const step = await steps.read(message);
    answer({ id, step }, handedOver(step));
  } catch (error) {
    const { message: text } = error as Error;
    if (error instanceof Refusal)
      answer({ id, refusal: { code: error.code, message: text, cause: String(error.cause) } });
    else answer({ id, fault: text });
  }
});

/** The buffers of an answer that are transferred instead of copied. */
function handedOver(step: Reads[keyof Reads]['step']): ArrayBuffer[] {
  if ('text' in step) return [step.text.buffer as ArrayBuffer];
  return 'columns' in step ? buffersOf(step.columns) : [];
}

function answer(message: ReadResponse, buffers: ArrayBuffer[] = []): void {
  port.postMessage(message, buffers);
}
