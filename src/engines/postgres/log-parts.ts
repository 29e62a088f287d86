// Opens the log with its series: starts a writer, which fences those before it, reads what is not sealed into the head, and begins
// to seal.
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { threadHeap } from '../../base/threads/thread-heap.ts';
import { nextLoopTurn } from '../../base/time/next-loop-turn.ts';
import { limits } from '../../config/limits.ts';
import type { CommitLog } from '../../domain/ports/commit-log.ts';
import type { Fence } from '../../domain/ports/coordination.ts';
import type { EngineFigures } from '../../domain/ports/engine.ts';
import type { Series } from '../../domain/ports/series.ts';
import { Head } from '../shared/head/head.ts';
import { HeadLastSeen } from '../shared/head/head-last-seen.ts';
import { toWords } from '../shared/log/fingerprint-records.ts';
import { SeriesEdits } from '../shared/sealing/series-edits.ts';
import { ReaderThread } from '../shared/threads/reader-thread-client.ts';
import type { Membership } from './coordination/membership.ts';
import type { PostgresStanding } from './coordination/standing.ts';
import type { PostgresDatabase } from './database/postgres-database.ts';
import { Appender } from './log/appender.ts';
import { PostgresCommitLog } from './log/commit-log.ts';
import { Confirmation } from './log/confirmation.ts';
import { HeardTable } from './log/heard-table.ts';
import { LogFollower } from './log/log-follower.ts';
import { LogFollowing } from './log/log-following.ts';
import { loadLog } from './log/log-loading.ts';
import { LogPolling } from './log/log-polling.ts';
import type { Query } from './log/log-reader.ts';
import { LogRings } from './log/log-rings.ts';
import { LogState } from './log/log-state.ts';
import { LogWriter } from './log/log-writer.ts';
import { MissedRows } from './log/missed-rows.ts';
import { Receipts } from './log/receipts.ts';
import { refusalOfWork } from './log/store.ts';
import type { HandedOnLog } from './mqtt/session-handover.ts';
import { LastValueDevices } from './reads/last-value-devices.ts';
import { PostgresSeries } from './reads/series.ts';
import { completeRemovals, DatapointEdits } from './sealing/datapoint-edits.ts';
import { EditTurn, SealingDuty } from './sealing/node-lease.ts';
import { Purge } from './sealing/purge.ts';
import { SealControl } from './sealing/seal-control.ts';
import { succession } from './sealing/succession.ts';
import type { OpenedStandby } from './standby.ts';
import type { ReaderData } from './threads/reader-thread.ts';
import { StoreThread } from './threads/store-thread-client.ts';

export interface LogOptions {
  readonly url: string;
  readonly database: PostgresDatabase;
  readonly membership: Membership;
  readonly standing: PostgresStanding;
  /** False where the lease was taken with a greater epoch. */
  readonly isNewest: (fence: Fence) => boolean;
  readonly standby: OpenedStandby | undefined;
}

/** Figures of the log and its reads. */
export type LogFigures = Pick<
  EngineFigures,
  'refusesBecause' | 'refusedWrites' | 'logDatapoints' | 'reads' | 'standby'
>;

/** What is called when something happens; set by the engine. */
interface LogObserver {
  onDamaged: (what: string) => void;
  onFailure: (error: Error, options: { readonly fatal: boolean }) => void;
  onCommit: (durationMs: number) => void;
}

export interface LogParts {
  readonly commitLog: CommitLog;
  readonly series: Series;
  readonly figures: LogFigures;
  readonly handedOn: HandedOnLog;
  /** Sentences on damage that was found at this start. */
  readonly damage: readonly string[];
  readonly observer: LogObserver;
  /** Seals all of the log now. */
  seal(): Promise<void>;
  /** Bytes that what is not sealed takes when it is, at most, about. */
  readonly unsealedBytes: number;
  /** Called after sensors were removed: their datapoints are deleted. */
  purge(): void;
  /** Finds the devices of a filter on last values. */
  readonly lastValues: LastValueDevices;
  /** Brings the table `heard` up to date, before a search that uses it. */
  beforeLastSeen(): Promise<void>;
  /** Another server has hinted at new rows. */
  wake(): void;
  close(): Promise<void>;
}

export async function openLog(options: LogOptions): Promise<LogParts> {
  const { database, membership, standing, standby } = options;
  const observer: LogObserver = { onDamaged: () => {}, onFailure: () => {}, onCommit: () => {} };
  const begun = await begin(options);
  const { head, heard, state, store, writer, receipts, duty, damage } = begun;
  const joined = joinParts(options, begun, observer);
  const { appender, sealing, purge, follower, commitLog, following, polling, turn, confirmation } = joined;
  standing.following = following;
  const series = new PostgresSeries({
    ...{ database, head, follower, store },
    longReads: new ReaderThread(() => startReader(options)),
    standby: standby?.source,
    edits: new SeriesEdits({ head, writer: new DatapointEdits({ state, appender, sealing, store }) }),
    beforeRead: () => standing.makeSure(),
  });
  sealing.start();
  purge.begin();
  membership.followed = () => ({ row: state.lastRow, position: state.lastSeq });
  membership.onRenewed = succession({
    ...{ membership, duty, purge, sealing, onFailure: (error) => observer.onFailure(error, { fatal: false }) },
    completeRemovals: () => completeRemovals(database, store),
  });
  polling.wake();
  return {
    ...{ commitLog, series, damage, observer, handedOn: handedOnOf(begun, joined) },
    figures: figuresOf({ state, writer, appender, sealing, series, standby }),
    seal: () =>
      sealing.seal().catch((error) => {
        throw refusalOfWork(error);
      }),
    get unsealedBytes() {
      return head.rows * limits.sealedRowBytes + head.textChars * limits.sealedCharBytes;
    },
    purge: () => purge.begin(),
    lastValues: new LastValueDevices({ database, state }),
    beforeLastSeen: () => heard.update(),
    wake: () => polling.wake(),
    close: async () => {
      // A database that does not answer is not waited for: what it has of the last commit is not acknowledged.
      await Promise.race([appender.close(), delay(limits.postgresConnectMs, undefined, { ref: false })]);
      following.close();
      await Promise.all([polling.close(), turn.close(), sealing.close(), purge.close(), store.close()]);
      await confirmation.flush().catch(() => {});
      await duty.give();
      await series.close();
      await standby?.close();
      await receipts.close();
      await writer.close();
      await appender.close();
    },
  };
}

type Begun = Awaited<ReturnType<typeof begin>>;

/** Starts a writer, and reads what is not sealed; completes what a stop has cut off, where this server is to do it. */
async function begin({ url, database, membership }: LogOptions) {
  const node = membership.id;
  const head = new Head();
  const lastSeen = new HeadLastSeen(head);
  const writer = new LogWriter(database);
  const state = new LogState({ head, writer: () => writer.writer, beforeSealed: () => lastSeen.beforeSealed() });
  const { distribution } = database;
  const store = new StoreThread(url, { chunkVersion: () => membership.formats.of('chunk'), distribution });
  const duty = new SealingDuty({ database, node });
  // Rows of writers before this one are complete from then on.
  await writer.start(node);
  const damage = await loadLog(database, state);
  await database.query(
    'DELETE FROM claim WHERE NOT EXISTS (SELECT 1 FROM log_writer WHERE log_writer.writer = claim.writer)',
  );
  if (await duty.take()) damage.push(...(await completeRemovals(database, store)));
  return {
    ...{ head, writer, state, store, duty, damage },
    heard: new HeardTable({ database, lastSeen }),
    receipts: new Receipts({ database, writer }),
    query: ((sql, parameters) => database.query(sql, parameters)) as Query,
  };
}

/** The parts that call one another: what appends, follows and seals. */
function joinParts({ database, membership, isNewest }: LogOptions, begun: Begun, observer: LogObserver) {
  const { writer, state, store, duty, receipts, query } = begun;
  const node = membership.id;
  const isOurs = () => duty.isOurs;
  const isAlone = () => membership.isAlone;
  const failed = (error: Error) => observer.onFailure(error, { fatal: false });
  const failedForGood = (error: Error) => observer.onFailure(error, { fatal: true });
  const onDamaged = (what: string) => observer.onDamaged(what);
  const follower = new LogFollower({ query, index: state.index, edits: state.edits });
  const purge = new Purge({ database, store, state, isOurs, onFailure: failed });
  const confirmation = new Confirmation({ database, state });
  const rings = new LogRings({ database, node });
  const resume = () => {
    appender.resume();
    purge.passEnded();
  };
  const following: LogFollowing = new LogFollowing({
    ...{ query, node, state, writer: () => writer.writer, isSealing: isOurs, onDamaged, onGap: failedForGood },
    makeSure: () => membership.makeSure(),
    deliver: (pushes) => commitLog.onFollowed(pushes),
    relay: (messages) => commitLog.onRelayed(messages),
    publish: (records) => commitLog.onPublished(toWords(Uint8Array.from(records))),
    onChanged: () => {
      sealing.committed();
      resume();
    },
  });
  const turn = new EditTurn({ database, node, catchUp: () => following.catchUp() });
  const polling = new LogPolling({ database, isAlone, follow: () => following.follow() });
  const sealing: SealControl = new SealControl({
    ...{ store, log: state, isOurs, onDamaged, onFailure: failed, onEnded: resume },
    inTurn: (work) => turn.during(work),
    countSensors: async () => (await database.query<{ n: number }>('SELECT count(*) AS n FROM sensor'))[0]?.n ?? 0,
    afterPass: async () => {
      await confirmation.flush().catch(() => {});
      await rings.tend(state.neededRow);
    },
  });
  const appender: Appender = new Appender({
    ...{ state, writer, receipts, sealing },
    others: {
      isForOthers: () => membership.isForOthers,
      ...{ before: (number, add) => following.before(number, add), hint: () => polling.hint() },
      version: () => membership.formats.of('log'),
    },
  });
  rings.onFailure = failed;
  receipts.onFailure = failed;
  appender.onFenced = failedForGood;
  appender.onCommit = (durationMs) => observer.onCommit(durationMs);
  const exclusively = sealing.exclusively.bind(sealing);
  const commitLog: PostgresCommitLog = new PostgresCommitLog({
    ...{ database, state, appender, follower, receipts, confirmation, isNewest, exclusively },
    caughtUp: async () => (isAlone() ? undefined : following.caughtUp()),
  });
  return { appender, sealing, purge, follower, commitLog, following, polling, turn, confirmation };
}

function handedOnOf(
  { state, query }: Begun,
  { appender, commitLog, following }: ReturnType<typeof joinParts>,
): HandedOnLog {
  const missed = new MissedRows(query);
  return {
    get lastRow() {
      return state.lastRow;
    },
    caughtUp: () => commitLog.caughtUp(),
    atRest: (work) =>
      following.atRest(async (row) => {
        // What this process has committed is handed on within this turn of the event loop, or found only now.
        await nextLoopTurn();
        await appender.told;
        return work(row);
      }),
    read: (behind, upTo) => missed.read(behind, upTo),
  };
}

function startReader({ url, database, standby }: LogOptions): Worker {
  const outcomes = standby?.listen();
  const ofStandby = standby && outcomes && { place: standby.place, outcomes };
  return new Worker(new URL('./threads/reader-thread.ts', import.meta.url), {
    workerData: { url, distribution: database.distribution.memory, standby: ofStandby } satisfies ReaderData,
    transferList: outcomes === undefined ? [] : [outcomes],
    resourceLimits: threadHeap(),
  });
}

function figuresOf({
  state,
  writer,
  appender,
  sealing,
  series,
  standby,
}: {
  readonly state: LogState;
  readonly writer: LogWriter;
  readonly appender: Appender;
  readonly sealing: SealControl;
  readonly series: PostgresSeries;
  readonly standby: OpenedStandby | undefined;
}): LogFigures {
  return {
    get refusesBecause() {
      if (writer.refusesBecause !== undefined) return writer.refusesBecause;
      const isFull = sealing.failure !== undefined && state.isHeadFull;
      return isFull ? 'no more datapoints are taken until those there are can be compressed' : undefined;
    },
    get refusedWrites() {
      return appender.refused;
    },
    get logDatapoints() {
      return state.rows;
    },
    reads: series.reads,
    standby: standby?.watch,
  };
}
