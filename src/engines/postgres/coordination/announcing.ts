// What this process announces to the others of a database. All that is announced while others are being stored goes into one unit
// of the registry, and one look tells who has waited long enough: many changes at once cost about what one costs, whoever makes them.
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal, type RefusalCode } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Announcement } from '../../../domain/ports/announcement.ts';
import { stoppingRefusal } from '../../shared/write-failure.ts';
import { WrittenFormats } from '../database/formats.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { RegistryWriter } from '../registry/registry-writer.ts';
import { textOf } from './announcement-text.ts';

interface AnnouncingParts {
  readonly database: PostgresDatabase;
  readonly writer: Pick<RegistryWriter, 'run'>;
  /** The row of this process in `node`; a command has none. */
  readonly node: string;
  /** In which form it announces; the oldest where it is not said. */
  readonly written?: WrittenFormats;
  /** Declares servers dead that give no sign of life: nobody waits for them. */
  readonly bury?: () => Promise<unknown>;
}

interface Waiting {
  readonly announcement: Announcement;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** When it is not waited for any longer, by the monotonic clock. */
  readonly endMs: number;
}

/** NOTIFY on it is a hint that there are new announcements. */
export const channel = 'dundun_announcement';
/** Milliseconds until the first look whether others have applied an announcement. */
const pollMsMin = 1;

export class Announcing {
  readonly #parts: AnnouncingParts;
  readonly #signal: AbortSignal;
  /** Not stored yet. Each belongs to a change under way, and is bounded with these. */
  #waiting: Waiting[] = [];
  #adding: Promise<void> | undefined;
  /** Stored, and not applied by all others; by number. */
  readonly #pending = new Map<number, Waiting>();
  #looking: Promise<void> | undefined;
  #burying: Promise<unknown> | undefined;
  #waitMs = pollMsMin;
  #wake: () => void = () => {};

  constructor(parts: AnnouncingParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /**
   * Resolves when every other living process has applied it.
   * @throws Refusal of the process that refused it; `storage` where it is not known in time that all have applied it.
   */
  announce(announcement: Announcement): Promise<void> {
    return new Promise((resolve, reject) => {
      const endMs = performance.now() + limits.announcementMsMax;
      this.#waiting.push({ announcement, resolve, reject, endMs });
      this.#adding ??= this.#addAll();
    });
  }

  async #addAll(): Promise<void> {
    // What comes in this turn goes into the same unit.
    await nextTurn();
    while (this.#waiting.length > 0) await this.#store(this.#waiting.splice(0, limits.announcementsAtOnce));
    this.#adding = undefined;
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    let seqs: readonly number[];
    try {
      seqs = await this.#insert(batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const [n, one] of batch.entries()) {
      const seq = seqs[n];
      // Where there is nobody to hear it there is nothing to wait for.
      if (seq === undefined) one.resolve();
      else this.#pending.set(seq, one);
    }
    if (seqs.length === 0) return;
    await this.#parts.database.query(`SELECT pg_notify('${channel}', '')`).catch(() => {});
    this.#waitMs = pollMsMin;
    this.#wake();
    if (this.#pending.size > 0) this.#looking ??= this.#look();
  }

  /** @returns their numbers, in this order; none where there is nobody to hear them. */
  async #insert(batch: readonly Waiting[]): Promise<readonly number[]> {
    const { writer, node, written = new WrittenFormats() } = this.#parts;
    const bodies = batch.map(({ announcement }) => textOf(announcement));
    const { rows } = await writer.run((connection) =>
      connection.query<{ seq: number }>(addSql, [node, bodies, written.of('announcement')]),
    );
    return rows.map(({ seq }) => seq).sort((one, other) => one - other);
  }

  /** Looks until nobody waits any more. */
  async #look(): Promise<void> {
    let buryMs = performance.now() + limits.nodeRenewMs;
    while (this.#pending.size > 0) {
      const asked = [...this.#pending.keys()];
      const found = await this.#ask(asked);
      if (found !== undefined) this.#settle(asked, found);
      if (this.#pending.size === 0) break;
      if (performance.now() > buryMs) {
        buryMs = performance.now() + limits.nodeRenewMs;
        this.#bury();
      }
      await this.#pause();
    }
    this.#looking = undefined;
  }

  /** One that fails is made once more: a connection may have been lost. */
  async #ask(asked: readonly number[]): Promise<Followed | undefined> {
    const { database, node } = this.#parts;
    const ask = () => database.query<Followed>(followedSql, [node, asked]);
    try {
      const [found] = await ask().catch(ask);
      return found;
    } catch (error) {
      this.#end(asked, ({ reject }) => reject(error));
      return undefined;
    }
  }

  /** Answers those that all others have applied, and those whose time is up. */
  #settle(asked: readonly number[], found: Followed): void {
    const followed = found.followed ?? Number.POSITIVE_INFINITY;
    const refusals = new Map(found.refusals ?? []);
    const nowMs = performance.now();
    const isStopping = this.#signal.aborted;
    const ended = asked.filter(
      (seq) => seq <= followed || isStopping || nowMs > (this.#pending.get(seq) as Waiting).endMs,
    );
    this.#end(ended, ({ resolve, reject }, seq) => {
      const refusal = refusals.get(seq);
      if (seq > followed) reject(isStopping ? stoppingRefusal() : notFollowed());
      else if (refusal !== undefined) reject(refusalOf(refusal));
      else resolve();
    });
  }

  /** Beside the looks, which go on; one at a time. */
  #bury(): void {
    this.#burying ??= (this.#parts.bury?.() ?? Promise.resolve())
      .catch(() => {})
      .finally(() => {
        this.#burying = undefined;
      });
  }

  #end(seqs: readonly number[], answer: (one: Waiting, seq: number) => void): void {
    if (seqs.length === 0) return;
    for (const seq of seqs) {
      const one = this.#pending.get(seq) as Waiting;
      this.#pending.delete(seq);
      answer(one, seq);
    }
    // Whoever has not applied it yet still must.
    void this.#parts.database.query(removeSql, [seqs]).catch(() => {});
  }

  /** Longer each time, until more is announced. */
  async #pause(): Promise<void> {
    const waitMs = this.#waitMs;
    this.#waitMs = Math.min(2 * waitMs, limits.announcementPollMs);
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([woken, delay(waitMs, undefined, { ref: false })]);
  }
}

interface Followed {
  /** Up to which number all others have applied them; null where there are none. */
  readonly followed: number | null;
  readonly refusals: readonly (readonly [seq: number, refusal: string])[] | null;
}

/** Where there is somebody to hear it: who joins later reads what is stored already. */
const addSql = `INSERT INTO announcement (node, body, format)
  SELECT CAST($1 AS text), body, CAST($3 AS integer) FROM unnest(CAST($2 AS text[])) WITH ORDINALITY AS given (body, at)
  WHERE EXISTS (SELECT 1 FROM node WHERE id <> $1) ORDER BY at RETURNING seq`;
const followedSql = `SELECT (SELECT min(followed) FROM node WHERE id <> $1) AS followed,
  (SELECT json_agg(json_build_array(seq, refusal)) FROM announcement
    WHERE seq = ANY(CAST($2 AS bigint[])) AND refusal IS NOT NULL) AS refusals`;
/** Who has not applied it still will. */
const removeSql = `DELETE FROM announcement WHERE seq = ANY(CAST($1 AS bigint[]))
  AND NOT EXISTS (SELECT 1 FROM node WHERE id <> announcement.node AND followed < announcement.seq)`;

function refusalOf(text: string): Error {
  const { code, message } = JSON.parse(text) as { readonly code: RefusalCode; readonly message: string };
  return new Refusal(code, message);
}

function notFollowed(): Error {
  return new Refusal(
    'storage',
    'The change is stored, but another server has not said in time that it knows of it. Look before you send the request again.',
    { retryAfterS: limits.storageRetryAfterS },
  );
}
