// Brings stored sessions up to the present that have come from another process, or from a run before: what was committed since
// messages were last kept for them is read from the log once more and kept for them alone, while others follow it as it comes. In
// the end nothing is handed on for a moment, so that nothing is missed, and nothing kept twice (I3). Several sessions are brought up
// together. Notes now and then up to where messages are kept for all sessions, so that whoever has them next knows.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../../base/log.ts';
import { isTransient, Refusal } from '../../../../base/refusal.ts';
import { limits } from '../../../../config/limits.ts';
import type { JoinedWrites, MessageSource, StoredPacket } from '../../../../domain/ports/mqtt-sessions.ts';
import type { SessionHandover } from '../mqtt-tables.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import type { MqttOutgoing } from './mqtt-outgoing.ts';
import type { StoredSession } from './mqtt-session.ts';
import type { SessionIndex } from './session-index.ts';

/** The last row that was read for those of a round; and the last that their former processes had handed on. */
interface Progress {
  row: number;
  readonly atLeast: number;
}

/** A message for sessions that have missed it, each with the QoS of its subscription. */
interface Missed {
  readonly packet: StoredPacket;
  readonly takers: ReadonlyMap<StoredSession, number>;
}

/** So few rows are read while nothing is handed on; looks for more before that, at most. */
const rowsAtRest = 20;
const looksMax = 20;

export class SessionCatchUp {
  readonly #handover: SessionHandover;
  readonly #index: SessionIndex;
  readonly #outgoing: Pick<MqttOutgoing, 'enqueueFor'>;
  readonly #writes: MqttWrites;
  readonly #log: Log | undefined;
  /** Sessions that the next round takes, with those of the round that runs: bounded by the stored ones. */
  #waiting: StoredSession[] = [];
  #next: Promise<void> | undefined;
  readonly #arriving = new WeakMap<StoredSession, Promise<void>>();
  #running: Promise<void> = Promise.resolve();
  /** Those of the round that runs; and what its last rows have for them. */
  #ofRound: ReadonlySet<StoredSession> = new Set();
  #found: Missed[] = [];
  #notedRow: number | undefined;
  /** Whether sessions of the run before are not up to the present: what is noted of them stays. */
  #isStarting = false;
  #timer: NodeJS.Timeout | undefined;
  #noting: Promise<void> = Promise.resolve();
  #isClosed = false;
  source: MessageSource = { handedOn: async () => {}, keepMissed: async () => {} };

  constructor(parts: {
    readonly handover: SessionHandover;
    readonly index: SessionIndex;
    readonly outgoing: Pick<MqttOutgoing, 'enqueueFor'>;
    readonly writes: MqttWrites;
    readonly log: Log | undefined;
  }) {
    this.#handover = parts.handover;
    this.#index = parts.index;
    this.#outgoing = parts.outgoing;
    this.#writes = parts.writes;
    this.#log = parts.log;
  }

  /** From now on what is committed is handed on: takes up what the sessions of this process have missed before. */
  begin(): void {
    const { keptRow, ownRows, lastRow } = this.#handover;
    const missed: StoredSession[] = [];
    for (const session of this.#index.list(undefined)) {
      const row = ownRows.get(session.key) ?? keptRow;
      // What is being handed on counts as well.
      if (row === undefined || row >= lastRow) continue;
      this.#index.fallBehind(session, row);
      missed.push(session);
    }
    if (missed.length > 0) {
      this.#isStarting = true;
      void this.#bring(missed).then(() => {
        this.#isStarting = false;
      });
    }
    this.#noteLater();
  }

  /** Brings a session of the index up to the present: behind `row` nothing was kept for it. `present` says when it is. */
  bring(session: StoredSession, row: number): void {
    this.#index.fallBehind(session, row);
    void this.#bring([session]);
  }

  /** Resolves when the session is up to the present, and all is stored. */
  async present(session: StoredSession): Promise<void> {
    await this.#arriving.get(session);
  }

  /**
   * Runs `take` when all that was handed on is in the queues of sessions, and nothing more is. It is given the last row of the log that was.
   * @throws Error where that takes too long: others wait for the log.
   */
  async atRest<T>(take: (row: number) => T | Promise<T>): Promise<T> {
    // Most of it is waited for while others are handed on.
    await this.source.handedOn();
    return this.#handover.atRest(async (row) => {
      await this.source.handedOn(limits.handedOnAtRestMsMax);
      return take(row);
    });
  }

  /** Keeps a message of the commit at this row for the sessions that have missed it. */
  enqueue(packet: StoredPacket, row: number): void {
    const takers = this.#index.behind.takersOf(packet);
    for (const session of takers.keys())
      if (!this.#ofRound.has(session) || (session.behindRow ?? row) >= row) takers.delete(session);
    if (takers.size > 0) this.#found.push({ packet, takers });
  }

  /** Nothing is handed on any more when `stop` has been called: notes up to where that was. */
  async end(stop: () => void): Promise<void> {
    this.close();
    let row: number | undefined;
    let isLate = false;
    const stopped = this.#noting.then(() =>
      this.atRest((last) => {
        if (isLate) return;
        row = last;
        stop();
      }),
    );
    // The database may be away.
    await Promise.race([stopped.catch(() => {}), delay(limits.drainMsMax, undefined, { ref: false })]);
    isLate = true;
    if (row === undefined) stop();
    else if (!this.#isStarting) await this.#note(row).catch(() => {});
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isClosed = true;
  }

  #bring(sessions: readonly StoredSession[]): Promise<void> {
    this.#waiting.push(...sessions);
    this.#next ??= this.#running.then(() => {
      const taken = this.#waiting;
      this.#waiting = [];
      this.#running = this.#round(taken);
      this.#next = undefined;
      return this.#running;
    });
    for (const session of sessions) this.#arriving.set(session, this.#next);
    return this.#next;
  }

  /** Tried again where the database is away: what was kept by then is not kept again. */
  async #round(sessions: readonly StoredSession[]): Promise<void> {
    this.#ofRound = new Set(sessions);
    const rows = sessions.map(({ behindRow = 0 }) => behindRow);
    const progress = { row: rows.reduce((a, b) => Math.min(a, b)), atLeast: rows.reduce((a, b) => Math.max(a, b)) };
    while (!this.#isClosed && !(await this.#isDone(this.#bringUp(sessions, progress))))
      await delay(limits.postgresRetryMsMin, undefined, { ref: false });
    const present = sessions.filter(({ ended }) => !ended).map(({ key }) => key);
    while (!this.#isClosed && !(await this.#isDone(this.#handover.keptAsAll(present))))
      await delay(limits.postgresRetryMsMin, undefined, { ref: false });
  }

  async #bringUp(sessions: readonly StoredSession[], progress: Progress): Promise<void> {
    // Their former process may have followed the log farther than this one.
    if (this.#handover.lastRow < progress.atLeast) await this.#handover.follow();
    if (this.#handover.lastRow < progress.atLeast) throw new Error('The log is not followed as far.');
    // Most of it is read while others are handed on.
    for (let n = 0; n < looksMax && progress.row < this.#handover.lastRow - rowsAtRest; n += 1)
      await this.#readUpTo(this.#handover.lastRow, progress);
    await this.atRest(async (row) => {
      await this.#readUpTo(row, progress);
      if (!this.#isClosed) for (const session of sessions) this.#index.catchUp(session);
    });
  }

  /** A batch is stored before the next is read: they come in the order of the log, and no more of it is in memory. */
  async #readUpTo(end: number, progress: Progress): Promise<void> {
    while (progress.row < end && !this.#isClosed) {
      const { commits, upTo, gone } = await this.#handover.readMissed(progress.row, end);
      this.#found = [];
      if (commits.length > 0) await this.source.keepMissed(commits);
      // Who lets a session go from now on finds what is kept of this batch on its way to the disk.
      const stored = this.#store(this.#found);
      for (const session of this.#ofRound)
        if (session.behindRow !== undefined && session.behindRow < upTo) session.behindRow = upTo;
      progress.row = upTo;
      if (gone > 0) this.#log?.warn({ rows: gone }, 'MQTT sessions have missed what is not in the log any more');
      await stored;
    }
  }

  /** All of them, or none and again, for all takers that are not full. */
  async #store(found: readonly Missed[]): Promise<void> {
    while (found.length > 0 && !this.#isClosed) {
      const joined: JoinedWrites = { isJoined: true };
      const all = found.map(({ packet, takers }) => {
        const present = new Map([...takers].filter(([session]) => !session.ended));
        return this.#outgoing.enqueueFor(present, packet, 'routed', { joined, isKept: true });
      });
      const failed = (await Promise.allSettled(all)).find((one) => one.status === 'rejected');
      if (failed === undefined) return;
      if (!(failed.reason instanceof Refusal && isTransient(failed.reason))) {
        this.#log?.warn(
          { err: failed.reason, messages: found.length },
          'messages that MQTT sessions have missed could not be kept',
        );
        return;
      }
      await delay(limits.postgresRetryMsMin, undefined, { ref: false });
    }
  }

  #noteLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#noting = this.#noteNow().finally(() => this.#noteLater());
    }, limits.keptRowNotedEveryMs).unref();
  }

  /** Others are handed on meanwhile: what is kept beyond the row does no harm. */
  async #noteNow(): Promise<void> {
    if (this.#isStarting) return;
    try {
      let handedOn: Promise<void> | undefined;
      const row = await this.#handover.atRest(async (last) => {
        if (last !== this.#notedRow) handedOn = this.source.handedOn();
        return last;
      });
      if (handedOn === undefined) return;
      await handedOn;
      await this.#note(row);
    } catch (error) {
      this.#log?.debug({ err: error }, 'up to where messages are kept could not be noted; it is tried again');
    }
  }

  async #note(row: number): Promise<void> {
    // Behind all that is on its way to be stored.
    await this.#writes.finish([]);
    const { lost } = this.#writes;
    if ((this.#isClosed || this.#writes.isLast) && lost > 0) return;
    await this.#handover.noteKept(row);
    this.#notedRow = row;
    // It was lost before what is noted.
    this.#writes.lost -= lost;
  }

  #isDone(work: Promise<void>): Promise<boolean> {
    return work.then(
      () => true,
      (error: unknown) => {
        this.#log?.debug({ err: error }, 'what MQTT sessions have missed could not be read; it is tried again');
        return false;
      },
    );
  }
}
