// Reads the rows that other servers append, in the order of the log, and hands on what they hold: into the head, and to delivery, rules
// and live streams of this process. What this process appends is put behind them in its turn, so that everybody has everything in
// one order (I3). A batch of rows is in memory at a time (I4).
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../../config/limits.ts';
import type { ClientMessage, FollowedPush } from '../../../domain/ports/commit-log.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { stoppingRefusal, unknownOutcome } from '../../shared/write-failure.ts';
import { contentOf, type Query, StepSize, UnreadableRow, withBytes } from './log-reader.ts';
import type { LogRowContent, NumberedPlace } from './log-row.ts';
import type { LogState, StoredPass } from './log-state.ts';
import { followedPushes } from './push-section.ts';
import { decodeRelays } from './relay-section.ts';

export interface FollowedRow extends NumberedPlace {
  readonly ring: number;
  readonly position: number;
  readonly count: number;
  readonly bytes: Buffer;
}

/** What a row has for this process. */
interface Followed {
  readonly pushes: readonly FollowedPush[];
  readonly messages: readonly ClientMessage[];
}

interface DecodedRow extends Followed {
  readonly row: FollowedRow;
  /** undefined where the row is damaged. */
  readonly content?: LogRowContent;
  /** A sentence, where something is wrong with the row. */
  readonly damage?: string;
}

interface Progress {
  readonly number: number | null;
  readonly upTo: number | null;
  readonly upToRow: number | null;
  readonly isWhole: number | null;
  readonly end: number;
  readonly confirmed: number | null;
}

interface FollowingParts {
  readonly query: Query;
  /** The row of this process in `node`: without it nothing is read any more. */
  readonly node: string;
  readonly state: LogState;
  /** Number of this process's writer: its rows are put in by `before`. */
  readonly writer: () => number;
  /** Resolves when nobody can have declared this process dead by now. @throws Error where that is not known */
  readonly makeSure: () => Promise<void>;
  /** Hands on what other servers have committed; resolves when the feed has it. */
  readonly deliver: (pushes: readonly FollowedPush[]) => Promise<void>;
  /** The same of messages between clients. */
  readonly relay: (messages: readonly ClientMessage[]) => Promise<void>;
  /** Called with records of publishes that other servers have committed. */
  readonly publish: (records: Uint8Array) => void;
  /** Whether this process seals: nobody else does then. */
  readonly isSealing: () => boolean;
  /** Called when rows were added, or others have sealed. */
  readonly onChanged: () => void;
  readonly onDamaged: (what: string) => void;
  /** Called when rows are gone that this process has not read, or it cannot read one, because a later release has written it. */
  readonly onGap: (error: Error) => void;
}

/** Bytes of a row as they are taken to be until its size is known: so that few are read at first. */
export const followedRowBytes = 200 * 1024;
/** Milliseconds between two looks for the end of a commit of this process. */
const ownPollMs = 2;

export class LogFollowing {
  readonly #parts: FollowingParts;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #step = new StepSize(followedRowBytes);
  #asked: Promise<void> | undefined;
  #isClosed = false;
  /** A row whose bytes were not there. */
  #withoutBytes: number | undefined;
  /** When a read that found the end of the log began, by the monotonic clock. */
  #freshMs = performance.now();

  constructor(parts: FollowingParts) {
    this.#parts = parts;
  }

  /** When this process last knew all there was, by the monotonic clock, which runs on while the process is stopped. */
  get freshMs(): number {
    return this.#freshMs;
  }

  /**
   * Runs `add`, which puts in a row of this process, when all rows before it are in.
   * @throws Refusal `storage` where the service stops: it is stored, but may be removed by a row before it.
   */
  before<T>(number: number, add: () => T): Promise<T> {
    return this.#inTurn(async () => {
      for (;;) {
        if (this.#parts.state.lastRow + 1 >= number) return add();
        if (this.#isClosed) throw unknownOutcome(new Error('The service is stopping.'));
        try {
          await this.#read(number - 1);
          if (this.#parts.state.lastRow + 1 < number) await delay(ownPollMs);
        } catch {
          // The database is away: what is committed stays so, and is put in when it is back.
          await delay(limits.postgresRetryMsMin, undefined, { ref: false });
        }
      }
    });
  }

  /**
   * Runs `work` while nothing is handed on. It is given the number of the last row that was: own ones reach the feed a moment later.
   * All else that commits or follows waits for it.
   */
  atRest<T>(work: (row: number) => Promise<T>): Promise<T> {
    return this.#inTurn(() => work(this.#parts.state.lastRow));
  }

  /** Reads all there is, up to a commit of this process that is under way. @throws Refusal `storage` */
  async follow(): Promise<void> {
    const startMs = performance.now();
    await this.#inTurn(async () => {
      const { state, isSealing } = this.#parts;
      if (!isSealing()) await this.#learnProgress();
      const before = state.lastRow;
      await this.#read(Number.MAX_SAFE_INTEGER);
      if (state.lastRow > before) this.#parts.onChanged();
    });
    this.#freshMs = startMs;
  }

  /** Reads all there was at the call. Shared by all who ask before it begins. @throws Refusal `storage`, `busy` */
  caughtUp(): Promise<void> {
    this.#asked ??= this.#turn.then(() => {
      this.#asked = undefined;
      return this.#readUpToEnd();
    });
    return this.#asked;
  }

  async #readUpToEnd(): Promise<void> {
    const { query, state } = this.#parts;
    const [row] = await query<{ end: number }>('SELECT number AS end FROM log_end', []);
    await this.#readUpTo(row?.end ?? state.lastRow);
  }

  /**
   * Reads all there was at the call, and how far it is sealed: called by whoever has the turn of all servers to seal or to edit.
   * @throws Refusal `storage`, `busy`
   */
  async catchUp(): Promise<void> {
    await this.#readUpTo(await this.#inTurn(() => this.#learnProgress()));
  }

  async #readUpTo(end: number): Promise<void> {
    while (this.#parts.state.lastRow < end) {
      if (this.#isClosed) throw stoppingRefusal();
      await this.#inTurn(() => this.#read(end));
      if (this.#parts.state.lastRow < end) await delay(ownPollMs);
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  /** @returns the number of the last row of the log. */
  async #learnProgress(): Promise<number> {
    const { query, state, onChanged } = this.#parts;
    const rows = await query<Progress>(progressSql, []);
    const passes = rows.filter((row): row is Progress & StoredPass => row.number !== null);
    const whole = passes.findLast(({ isWhole }) => isWhole === 1);
    const isNew = whole !== undefined && whole.number > state.passNumber;
    state.learn({
      whole,
      begun: passes.find(({ isWhole }) => isWhole === 0),
      confirmed: rows[0]?.confirmed ?? undefined,
    });
    if (isNew) onChanged();
    return rows[0]?.end ?? 0;
  }

  /** Reads rows up to a number, or to a row of this process. */
  async #read(upTo: number): Promise<void> {
    const { query, node, state, writer, onGap } = this.#parts;
    while (state.lastRow < upTo) {
      const wanted = Math.min(this.#step.rows, upTo - state.lastRow);
      const rows = await query<FollowedRow>(nextSql, [state.lastRow, upTo, wanted, node]);
      const own = rows.findIndex((row) => row.writer === writer());
      const others = await withBytes(query, own < 0 ? rows : rows.slice(0, own));
      const [first] = others;
      if (first !== undefined && first.number !== state.lastRow + 1) {
        const error = new Error(
          `Rows ${state.lastRow + 1} to ${first.number - 1} of the log are gone, and were not read.`,
        );
        onGap(error);
        throw error;
      }
      this.#assertBytes(others);
      if (others.length > 0) await this.#take(others);
      if (own >= 0 || rows.length < wanted) return;
    }
  }

  /**
   * Bytes that lie apart go with their table, once this process is not there any more: it is looked again whether it is. Those that are
   * missing then, a worker has lost: the row is damaged.
   */
  #assertBytes(rows: readonly FollowedRow[]): void {
    const missing = rows.find(({ bytes }) => bytes.length === 0)?.number;
    const isNew = missing !== undefined && missing !== this.#withoutBytes;
    this.#withoutBytes = missing;
    if (isNew) throw new Error(`The bytes of row ${missing} of the log are not there.`);
  }

  async #take(rows: readonly FollowedRow[]): Promise<void> {
    const { state, deliver, relay } = this.#parts;
    const steps: (() => Promise<void>)[] = [];
    let pushes: FollowedPush[] = [];
    let bytes = 0;
    const flush = () => {
      const some = pushes;
      if (some.length > 0) steps.push(() => deliver(some));
      pushes = [];
    };
    const { decoded, unreadable } = decodeAll(rows);
    for (const one of decoded) {
      bytes += one.row.bytes.length;
      this.#put(one);
      pushes.push(...one.pushes);
      if (one.messages.length === 0) continue;
      flush();
      steps.push(() => relay(one.messages));
    }
    flush();
    state.sealedAhead();
    this.#step.came(rows.length, bytes);
    for (const step of steps) await this.#handOn(step);
    if (unreadable === undefined) return;
    this.#parts.onGap(unreadable);
    throw unreadable;
  }

  #put({ row, content, damage }: DecodedRow): void {
    const { state, onDamaged, publish } = this.#parts;
    const firstSeq = state.add(row, row.count, row.position);
    if (row.count === 0) state.noteWithout(row.bytes.length);
    if (content !== undefined) {
      if (content.rows.length > 0) state.addDatapoints(content, firstSeq);
      state.applyEntry(content, firstSeq);
      if (damage === undefined && content.fingerprints !== undefined) publish(content.fingerprints);
    }
    if (damage === undefined) return;
    onDamaged(`Row ${row.seq} of writer ${row.writer} of the log is damaged. ${damage} Its datapoints cannot be read.`);
  }

  /**
   * They are in the head: whatever fails, they must be handed on before anything that comes later. But not by a process that may be
   * taken for dead: it does not know who may have them.
   */
  async #handOn(step: () => Promise<void>): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#parts.makeSure();
        await step();
        return;
      } catch {
        await delay(limits.postgresRetryMsMin, undefined, { ref: false });
      }
    }
  }
}

/** Rows up to one that this release does not read: that one, and those behind it, must not be passed over. */
function decodeAll(rows: readonly FollowedRow[]): {
  readonly decoded: readonly DecodedRow[];
  readonly unreadable?: UnreadableRow;
} {
  const decoded: DecodedRow[] = [];
  for (const row of rows) {
    try {
      decoded.push(decodeFollowed(row));
    } catch (error) {
      if (!(error instanceof UnreadableRow)) throw error;
      return { decoded, unreadable: error };
    }
  }
  return { decoded };
}

/** @throws UnreadableRow */
export function decodeFollowed(row: FollowedRow): DecodedRow {
  const nothing = { row, pushes: [], messages: [] };
  const content = contentOf(row, row);
  if (typeof content === 'string') return { ...nothing, damage: content };
  try {
    const messages = content.relays === undefined ? [] : decodeRelays(content.relays);
    return { row, content, pushes: followedPushes(content, row.position), messages };
  } catch (error) {
    if (error instanceof UnknownVersion) throw new UnreadableRow(row, error);
    if (!(error instanceof CorruptChunk)) throw error;
    return { ...nothing, content, damage: error.message };
  }
}

const nextSql = `SELECT ring, number, writer, seq, position, count, bytes FROM log WHERE number > $1 AND number <= $2
  AND EXISTS (SELECT 1 FROM node WHERE id = $4) ORDER BY number LIMIT $3`;
const progressSql = `SELECT log_end.number AS end, (SELECT value FROM counter WHERE name = 'followed_seq') AS confirmed,
    seal_pass.number, up_to AS "upTo", up_to_row AS "upToRow", is_whole AS "isWhole"
  FROM log_end LEFT JOIN seal_pass ON true ORDER BY seal_pass.number`;
