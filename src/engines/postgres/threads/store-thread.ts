// The store thread: encodes and changes chunks on connections of its own, so that neither ingest nor requests wait for it.
import '../../../base/threads/thread-limits.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { collectWhenIdle } from '../../../base/memory/garbage-collection.ts';
import { Refusal } from '../../../base/refusal.ts';
import { lowerPriority, niceness } from '../../../base/threads/thread-priority.ts';
import { writeFailureOf } from '../database/database-error.ts';
import { SharedDistribution } from '../database/distributed-tables.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import type { StoreRequest, StoreResponse, StoreWork } from '../log/store-protocol.ts';
import { written } from '../sealing/chunk-edits.ts';
import { correctInChunks, findInChunks } from '../sealing/datapoint-correction.ts';
import { removeFromChunks } from '../sealing/datapoint-removal.ts';
import { purgeSome, removeBefore } from '../sealing/retention.ts';
import { SealingPass } from '../sealing/sealing.ts';

/** What the thread is started with. */
export interface StoreData {
  readonly url: string;
  /** Memory of what the process goes by. */
  readonly distribution: SharedArrayBuffer;
}

if (parentPort === null) throw new Error('The store has a thread of its own.');
lowerPriority(niceness.sealing);
const port = parentPort;
const { url, distribution } = workerData as StoreData;
const database = new PostgresDatabase(url, { reads: 2, distribution: new SharedDistribution(distribution) });

port.on('message', async (request: StoreRequest) => {
  const { id } = request;
  let response: StoreResponse;
  written.chunkVersion = request.chunkVersion;
  try {
    response = { id, result: await work(request) };
  } catch (error) {
    response =
      error instanceof Refusal
        ? { id, refusal: { code: error.code, message: error.message } }
        : { id, failure: writeFailureOf(error) };
  }
  port.postMessage(response);
  if (request.kind === 'pass') setImmediate(collectWhenIdle);
});

function work(request: StoreRequest): Promise<StoreWork[keyof StoreWork]['result']> {
  switch (request.kind) {
    case 'pass':
      return new SealingPass(database, request.order).run();
    case 'remove':
      return removeFromChunks(database, request.order);
    case 'find':
      return findInChunks(database, request.order);
    case 'correct':
      return correctInChunks(database, request.order);
    case 'removeBefore':
      return removeBefore(database, request.order);
    case 'purge':
      return purgeSome(database, request.order);
  }
}
