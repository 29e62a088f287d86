// The sealer thread: compresses the log into units that the writer thread stores. It only reads the database, and works
// one unit ahead of the writer, so that ingest waits for neither.
import '../../../base/threads/thread-limits.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { collectWhenIdle } from '../../../base/memory/garbage-collection.ts';
import { lowerPriority, niceness } from '../../../base/threads/thread-priority.ts';
import { limits } from '../../../config/limits.ts';
import { openConnection } from '../database/connection.ts';
import { writeFailureOf } from '../database/database-error.ts';
import type { SealerCommand, SealerMessage, SealUnit } from '../sealing/seal-protocol.ts';
import { SealingPass } from '../sealing/sealing.ts';

if (parentPort === null) throw new Error('The sealer runs in a thread of its own.');
lowerPriority(niceness.sealing);
const port = parentPort;
const { path } = workerData as { path: string };
const pass = new SealingPass(openConnection(path, { readOnly: true, cacheBytes: limits.pageCacheBytesPassing }));
/** The pass of the last command. */
let number = 0;
let units: Iterator<SealUnit> | undefined;
let ahead: SealUnit | undefined;

port.on('message', (command: SealerCommand) => {
  try {
    if (command.kind === 'pass') {
      number = command.pass;
      units = pass.units(command.upTo);
      ahead = undefined;
    }
    handOver();
  } catch (error) {
    units = undefined;
    ahead = undefined;
    post({ kind: 'failed', pass: number, failure: writeFailureOf(error) });
  }
});

function handOver(): void {
  const unit = ahead ?? next();
  ahead = undefined;
  if (unit === undefined) return;
  post({ kind: 'unit', pass: number, unit });
  ahead = next();
  if (ahead === undefined) setImmediate(collectWhenIdle);
}

function next(): SealUnit | undefined {
  const step = units?.next();
  if (step?.done !== false) units = undefined;
  return step?.done === false ? step.value : undefined;
}

function post(message: SealerMessage): void {
  port.postMessage(message);
}
