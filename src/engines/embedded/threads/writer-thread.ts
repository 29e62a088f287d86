// The writer thread: while the service runs, only it writes to the database. All that has arrived when a commit begins
// goes into that commit; answers are sent after it reached the disk (I1). Between commits it stores units of sealing
// and deletes chunks of removed sensors, in slices short enough not to hold up ingest.
import '../../../base/threads/thread-limits.ts';
import { parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import { collectSoonAfterStart, reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { threadHeap } from '../../../base/threads/thread-heap.ts';
import { limits } from '../../../config/limits.ts';
import { countRows } from '../../../domain/datapoints/datapoint-batch.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import { fenceCheck } from '../coordination/epochs.ts';
import { openConnection } from '../database/connection.ts';
import { writeFailureOf } from '../database/database-error.ts';
import type { Statement } from '../database/database-writer.ts';
import { FreeSpace } from '../database/free-space.ts';
import { StatementCache } from '../database/statement-cache.ts';
import { DatapointWriter } from '../log/datapoint-writer.ts';
import { DatapointEdits } from '../sealing/datapoint-edits.ts';
import { EditStatements } from '../sealing/datapoint-removal.ts';
import { SealControl } from '../sealing/seal-control.ts';
import { SealWriter } from '../sealing/seal-writer.ts';
import { DiskRoom } from './disk-room.ts';
import { WriteState } from './write-state.ts';
import type { CommitOutcome, CommitReport, WriteRequest, WriterOptions } from './writer-protocol.ts';

if (parentPort === null) throw new Error('The writer runs in a thread of its own.');
const port = parentPort;
const { path, followed: sharedFollowed } = workerData as WriterOptions;
const database = openConnection(path, { readOnly: false });
const statements = new StatementCache(database);
const followed = new BigInt64Array(sharedFollowed);
const datapoints = new DatapointWriter(database, { followedSeq: () => Number(Atomics.load(followed, 0)) });
const freeSpace = new FreeSpace(database);
const isFenced = fenceCheck(database);
const countSensors = () => Number(database.prepare('SELECT count(*) AS count FROM sensor').get()?.['count']);
const sealing = new SealControl({
  startSealer,
  datapoints,
  sealWriter: new SealWriter(database, datapoints),
  countSensors,
  onUnit: () => edits.chunksReplaced(),
  onSealed,
  onFailure: reportSealingFailure,
  onDamaged: (damaged) => report({ outcomes: [], damaged }),
});
const state = new WriteState(database, (reason) => report({ outcomes: [], refuses: reason ?? null }));
const edits = new DatapointEdits({
  statements: new EditStatements(database, () => sealing.isUnderWay),
  sealing,
  makeRoom: (failure) => room.make(failure),
  report: (outcome) => report({ outcomes: [outcome] }),
  onDamaged: (damaged) => report({ outcomes: [], damaged }),
});
const begin = database.prepare('BEGIN IMMEDIATE');
const commit = database.prepare('COMMIT');
/** Attempts of one commit: each after the first with more of the reserve given up. */
const fullAttemptsMax = 6;
/** What the main thread was last sent of how sealing keeps up. */
let reported = { isCatchingUp: false, sealingDebt: 0 };
const room = new DiskRoom(database, path, (reserve) => report({ outcomes: [], reserve }));
/** Work that waits, in order, until sealing has shortened the log. Bounded by the main thread's queues. */
const held: WriteRequest[] = [];
/** Requests that wait until the log is sealed up to a seq. */
let sealWaiters: { readonly id: number; readonly seq: number }[] = [];
let quietTimer: NodeJS.Timeout | undefined;
let isPurging = false;
/** True when nothing has arrived for `sealQuietMs`. */
let isAtRest = false;

function startSealer(): Worker {
  return new Worker(new URL('./sealer-thread.ts', import.meta.url), {
    workerData: { path },
    resourceLimits: threadHeap(),
  });
}

port.on('message', (first: WriteRequest) => {
  const works = [first];
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    works.push(next.message as WriteRequest);
  }
  clearTimeout(quietTimer);
  isAtRest = false;
  const isClosing = works.some((work) => work.kind === 'close');
  if (mustWait(works) && !isClosing) {
    held.push(...works);
    sealing.begin();
  } else {
    take([...held.splice(0), ...works]);
    if (isClosing) void close();
  }
});

/**
 * Work must wait while the head is full, or while sealing is behind and a batch is large: this bounds the memory of the
 * head (I4). Small batches go on while sealing is behind, so that a caller with large ones does not hold up the others.
 * Where sealing fails nothing waits: callers get an error instead.
 */
function mustWait(works: readonly WriteRequest[]): boolean {
  if (sealing.failure !== undefined) return false;
  return held.length > 0 || datapoints.isHeadFull || (sealing.isBehind && works.some(isLarge));
}

function isLarge(work: WriteRequest): boolean {
  return work.kind === 'datapoints' && countRows(work.batch) > limits.catchUpDatapointsMax;
}

function take(works: readonly WriteRequest[]): void {
  const startMs = performance.now();
  const outcomes = commitAll(works);
  report({ outcomes, commitMs: performance.now() - startMs });
  room.committed();
  for (const work of works) if (work.kind === 'datapoints') reportReleasedBytes(work.batch.rows.byteLength);
  for (const work of works) {
    if (work.kind === 'seal') waitForSeal(work.id);
    else if (work.kind === 'edit') edits.add(work.id, work.order);
  }
  if (sealing.isDue) sealing.begin();
  if (datapoints.purgeDue) schedulePurge();
  awaitQuiet();
}

function commitAll(works: readonly WriteRequest[]): CommitOutcome[] {
  for (let attempt = 1; ; attempt++) {
    const outcomes = tryToCommit(works);
    if (!('kind' in outcomes)) return outcomes;
    const failure = outcomes;
    if (attempt < fullAttemptsMax && room.make(failure)) continue;
    if (failure.kind === 'storage') state.diskRefused(failure.message);
    return works.filter(({ kind }) => kind !== 'edit').map(({ id }) => ({ id, failure }));
  }
}

function tryToCommit(works: readonly WriteRequest[]): CommitOutcome[] | WriteFailure {
  try {
    begin.run();
    const outcomes: CommitOutcome[] = [];
    for (const work of works) {
      if (isUnit(work)) outcomes.push(execute(work));
    }
    commit.run();
    datapoints.committed();
    return outcomes;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    datapoints.rolledBack();
    return writeFailureOf(error);
  }
}

type UnitOfWork = Extract<WriteRequest, { kind: 'datapoints' | 'statements' }>;

/** A request to seal, or to edit, is answered when that has ended; a request to close by the end of the thread. */
function isUnit(work: WriteRequest): work is UnitOfWork {
  return work.kind === 'datapoints' || work.kind === 'statements';
}

function execute(work: UnitOfWork): CommitOutcome {
  if (work.kind === 'datapoints') {
    const failure = work.batch.rows.length > 0 ? whyRefused() : undefined;
    if (failure !== undefined) return { id: work.id, failure };
    return { id: work.id, firstSeq: datapoints.append(work.batch) };
  }
  if (work.fence !== undefined && isFenced(work.fence)) {
    return { id: work.id, failure: { kind: 'fenced', message: work.fence.name } };
  }
  if (work.purge) datapoints.sensorsRemoved();
  database.exec('SAVEPOINT work');
  try {
    const changes = work.statements.map(run);
    database.exec('RELEASE work');
    return { id: work.id, changes };
  } catch (error) {
    const failure = writeFailureOf(error);
    // A refusing disk fails the whole commit; a violated constraint fails this unit alone.
    if (failure.kind === 'storage') throw error;
    database.exec('ROLLBACK TO work; RELEASE work');
    return { id: work.id, failure };
  }
}

/** Why no datapoints can be taken, though other writes go on. */
function whyRefused(): WriteFailure | undefined {
  // The space of the reserve is only for writes that make room: removals and sealing.
  if (room.isInUse) return { kind: 'growth', message: 'full' };
  return datapoints.isHeadFull ? whyUnsealed() : undefined;
}

/** Why the log cannot be sealed; undefined while sealing works. */
function whyUnsealed(): WriteFailure | undefined {
  const { failure } = sealing;
  if (failure === undefined) return undefined;
  state.sealingFails();
  return { kind: 'unsealed', message: failure.message };
}

function run(statement: Statement): number {
  return Number(statements.prepare(statement.sql).run(...statement.parameters).changes);
}

function waitForSeal(id: number): void {
  sealWaiters.push({ id, seq: datapoints.lastSeq });
  answerSealed();
  if (sealWaiters.length > 0) sealing.begin();
}

function answerSealed(): void {
  const outcomes = sealWaiters.filter(({ seq }) => seq <= datapoints.sealedSeq).map(({ id }) => ({ id }));
  sealWaiters = sealWaiters.filter(({ seq }) => seq > datapoints.sealedSeq);
  if (outcomes.length > 0) report({ outcomes });
}

function onSealed(sealedSeq: number): void {
  state.sealed();
  edits.passEnded();
  report({ outcomes: [], sealedSeq });
  answerSealed();
  if (held.length > 0) take(held.splice(0));
  if (sealWaiters.length > 0 || sealing.isDue) sealing.begin();
  else awaitQuiet();
  if (datapoints.purgeDue) schedulePurge();
}

/** When nothing more arrives, the part of the log that the last pass left is sealed too. */
function awaitQuiet(): void {
  clearTimeout(quietTimer);
  quietTimer = setTimeout(sealQuietLog, limits.sealQuietMs);
}

function sealQuietLog(): void {
  isAtRest = true;
  if (datapoints.logRows >= limits.sealQuietRowsMin) sealing.begin();
}

const hourly = setInterval(() => sealing.begin(), limits.sealEveryMs);

const shrinking = setInterval(() => {
  try {
    // While the disk is full, free pages are returned to it at once, not only at rest.
    freeSpace.tend({ isAtRest: isAtRest || room.isInUse });
  } catch (error) {
    reportMaintenanceFailure(error);
  }
}, limits.freePagesEveryMs);

function schedulePurge(): void {
  if (isPurging) return;
  isPurging = true;
  setImmediate(purgeSome);
}

function purgeSome(): void {
  isPurging = false;
  // This turn was scheduled before the thread was told to end.
  if (!database.isOpen) return;
  try {
    datapoints.purgeDue = datapoints.purge();
    if (datapoints.purgeDue) schedulePurge();
  } catch (error) {
    reportMaintenanceFailure(error);
    setTimeout(() => datapoints.purgeDue && schedulePurge(), limits.sealRetryMs).unref();
  }
}

/** Reports background work that failed, and rolls back what it had begun; it is tried again later. */
function reportMaintenanceFailure(error: unknown): void {
  if (database.isTransaction) database.exec('ROLLBACK');
  reportFailure(writeFailureOf(error));
}

/** Reports a pass of sealing that failed: the log stays as it is, and reads use it. */
function reportSealingFailure(failure: WriteFailure): void {
  if (datapoints.isHeadFull) state.sealingFails();
  edits.passEnded();
  report({ outcomes: sealWaiters.map(({ id }) => ({ id, failure })) });
  sealWaiters = [];
  reportFailure(failure);
  if (held.length > 0) take(held.splice(0));
}

function reportFailure(failure: WriteFailure): void {
  // The commit is tried again with the space that this has freed, so nothing is reported.
  if (room.make(failure)) return;
  if (failure.kind === 'storage') state.diskRefused(failure.message);
  report({ outcomes: [{ id: 0, failure }] });
}

async function close(): Promise<void> {
  clearTimeout(quietTimer);
  clearInterval(hourly);
  clearInterval(shrinking);
  state.close();
  edits.close();
  await sealing.close();
  try {
    room.close();
  } catch (error) {
    // The next start recovers everything from the write-ahead log.
    reportMaintenanceFailure(error);
  }
  database.close();
  port.close();
}

function report(message: CommitReport): void {
  const fails = sealing.failure !== undefined;
  const now = { isCatchingUp: sealing.isBehind && !fails, sealingDebt: fails ? 0 : sealing.debt };
  const hasChanged = now.isCatchingUp !== reported.isCatchingUp || now.sealingDebt !== reported.sealingDebt;
  port.postMessage(hasChanged ? { ...message, ...now } : message);
  reported = now;
}

if (datapoints.purgeDue) schedulePurge();
if (sealing.isDue) sealing.begin();
awaitQuiet();
// The start of the service waits for the first commits.
collectSoonAfterStart();
