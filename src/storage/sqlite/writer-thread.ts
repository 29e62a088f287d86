// The writer thread: the only place that writes to the database while the service runs. Everything that has
// arrived when a commit begins goes into that commit; answers leave after it reached the disk (I1).
// Between commits it settles the log and purges removed sensors, in slices short enough to keep ingest waiting little.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { limits } from '../../config/limits.ts';
import { openConnection } from './connection.ts';
import { DatapointWriter } from './datapoint-writer.ts';
import { StatementCache } from './statement-cache.ts';
import type { FailureKind, Outcome, Report, Statement, Work, WriterOptions } from './writer-protocol.ts';

if (parentPort === null) throw new Error('The writer runs in a thread of its own.');
const port = parentPort;
const database = openConnection((workerData as WriterOptions).path, { readOnly: false });
const statements = new StatementCache(database);
const followed = new BigInt64Array((workerData as WriterOptions).followed);
const datapoints = new DatapointWriter(database, { followedSeq: () => Number(Atomics.load(followed, 0)) });
const begin = database.prepare('BEGIN IMMEDIATE');
const commit = database.prepare('COMMIT');
let idleTimer: NodeJS.Timeout | undefined;
let keepingHouse = false;
/** True after housekeeping failed: it is tried again in a while, not at once. */
let troubled = false;

port.on('message', (first: Work) => {
  clearTimeout(idleTimer);
  const works = [first];
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    works.push(next.message as Work);
  }
  // The head is full: make room first, so that memory stays bounded (I4).
  while (datapoints.logRows > limits.headRowsMax && settle());
  const startMs = performance.now();
  const outcomes = commitAll(works);
  report({ outcomes, commitMs: performance.now() - startMs });
  if (works.some((work) => work.kind === 'settle')) while (settle());
  if (works.some((work) => work.kind === 'close')) close();
  else scheduleHousekeeping();
});

function commitAll(works: readonly Work[]): Outcome[] {
  try {
    begin.run();
    const outcomes = works.map(execute);
    commit.run();
    datapoints.committed();
    return outcomes;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    datapoints.rolledBack();
    const failure = failureOf(error);
    return works.map(({ id }) => ({ id, failure }));
  }
}

function execute(work: Work): Outcome {
  if (work.kind === 'datapoints') return { id: work.id, firstSeq: datapoints.append(work.batch) };
  if (work.kind !== 'statements') return { id: work.id };
  if (work.purge) datapoints.purgeDue = true;
  database.exec('SAVEPOINT work');
  try {
    const changes = work.statements.map(run);
    database.exec('RELEASE work');
    return { id: work.id, changes };
  } catch (error) {
    const failure = failureOf(error);
    // A full disk fails the whole commit; a broken rule fails this unit alone.
    if (failure.kind === 'storage') throw error;
    database.exec('ROLLBACK TO work; RELEASE work');
    return { id: work.id, failure };
  }
}

function run(statement: Statement): number {
  return Number(statements.prepare(statement.sql).run(...statement.parameters).changes);
}

/** Moves one slice of the log; true when there is more. */
function settle(): boolean {
  try {
    const settledSeq = datapoints.settle();
    troubled = false;
    if (settledSeq !== undefined) report({ outcomes: [], settledSeq });
    return datapoints.logRows > 0 && settledSeq !== undefined;
  } catch (error) {
    // The log stays as it is, and reads go on from it.
    noteTrouble(error);
    return false;
  }
}

function purge(): boolean {
  try {
    return datapoints.purge();
  } catch (error) {
    noteTrouble(error);
    return true;
  }
}

function noteTrouble(error: unknown): void {
  if (database.isTransaction) database.exec('ROLLBACK');
  troubled = true;
  report({ outcomes: [{ id: 0, failure: failureOf(error) }] });
}

function scheduleHousekeeping(): void {
  if (keepingHouse) return;
  if (datapoints.logRows < limits.settleRowsMin && !datapoints.purgeDue) {
    idleTimer = setTimeout(() => void keepHouse({ quiet: true }), limits.settleIdleMs);
    return;
  }
  keepingHouse = true;
  if (troubled) setTimeout(() => keepHouse({ quiet: false }), limits.settleRetryMs);
  else setImmediate(() => keepHouse({ quiet: false }));
}

function keepHouse(options: { readonly quiet: boolean }): void {
  keepingHouse = false;
  // A turn that was planned before the thread was told to end.
  if (!database.isOpen) return;
  if (datapoints.purgeDue) {
    // What was pushed before the removal may still be in the log.
    while (datapoints.logRows > 0) if (!settle()) break;
    if (!troubled) datapoints.purgeDue = purge();
  } else if (options.quiet || datapoints.logRows >= limits.settleRowsMin) {
    settle();
    if (options.quiet && datapoints.logRows > 0 && !troubled) setImmediate(() => keepHouse(options));
  }
  if (!options.quiet) scheduleHousekeeping();
}

function close(): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    // All is in the write-ahead log, from which the next start goes on.
    noteTrouble(error);
  }
  database.close();
  port.postMessage({ outcomes: [], closed: true });
  port.close();
}

function report(message: Report): void {
  port.postMessage(message);
}

const constraintUnique = new Set([1555, 2067]);
const constraintForeignKey = 787;
const storageCodes = new Set([5, 6, 8, 10, 11, 13, 14]);

function failureOf(error: unknown): { kind: FailureKind; message: string } {
  const { errcode = 0, message = String(error) } = error as { errcode?: number; message?: string };
  if (constraintUnique.has(errcode)) return { kind: 'exists', message };
  if (errcode === constraintForeignKey) return { kind: 'gone', message };
  // The low byte of an extended code is its kind: locked by another, full disk, I/O error, read-only, corrupt, cannot open.
  return { kind: storageCodes.has(errcode & 0xff) ? 'storage' : 'internal', message };
}

scheduleHousekeeping();
