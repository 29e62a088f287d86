// The sealer thread: compresses what the writer thread then writes. It only reads the database, and works one unit
// ahead of the writer, so that ingest waits for neither.
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { noteRest } from '../../base/spent-buffers.ts';
import { limits } from '../../config/limits.ts';
import { openConnection } from './connection.ts';
import { failureOf } from './failure.ts';
import type { SealerMessage, SealerOrder, SealUnit } from './seal-protocol.ts';
import { SealingPass } from './sealing.ts';

if (parentPort === null) throw new Error('The sealer runs in a thread of its own.');
const sealerNiceness = 10;
yieldToOthers();
const port = parentPort;
const { path } = workerData as { path: string };
const pass = new SealingPass(openConnection(path, { readOnly: true, cacheBytes: limits.pageCacheBytesPassing }));
/** Of the last order to begin one. */
let number = 0;
let units: Iterator<SealUnit> | undefined;
let ahead: SealUnit | undefined;

port.on('message', (order: SealerOrder) => {
  try {
    if (order.kind === 'pass') {
      number = order.pass;
      units = pass.units(order.upTo);
      ahead = undefined;
    }
    handOver();
  } catch (error) {
    units = undefined;
    ahead = undefined;
    post({ kind: 'failed', pass: number, failure: failureOf(error) });
  }
});

function handOver(): void {
  const unit = ahead ?? next();
  ahead = undefined;
  if (unit === undefined) return;
  post({ kind: 'unit', pass: number, unit });
  ahead = next();
  if (ahead === undefined) setImmediate(noteRest);
}

function next(): SealUnit | undefined {
  const step = units?.next();
  if (step?.done !== false) units = undefined;
  return step?.done === false ? step.value : undefined;
}

function post(message: SealerMessage): void {
  port.postMessage(message);
}

/**
 * On Linux a priority is a thread's: whoever waits for an answer goes before what can wait. Where all cores are busy the log
 * grows meanwhile, and when it is full, commits wait for this thread, so that it gets its turn.
 */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.max(getPriority(), sealerNiceness));
  } catch {
    // Where that may not be set, the thread seals as well without.
  }
}
