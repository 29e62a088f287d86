// Receipts of pushes under an `Idempotency-Key`, or under their body, in the transaction of their push; and claims, by which of
// several processes one stores a push. Bounded for each caller in number and bytes, and in bytes for all callers without an
// account together (I4): trimmed now and then, after so many were stored.
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { addressKeyPrefix } from '../../../domain/callers/caller.ts';
import type { PushReceipt } from '../../../domain/datapoints/datapoint-batch.ts';
import { hashOf, sensorOf } from '../../shared/log/receipt-ids.ts';
import { storageRefusal } from '../../shared/write-failure.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { Beside, LogWriter } from './log-writer.ts';

/** Milliseconds between two looks at the claim of another process. */
const claimPollMs = 50;

export interface ReceiptTimes {
  readonly sinceMs: number;
  readonly untilMs?: number | undefined;
}

interface Row {
  readonly caller: string;
  readonly bodyHash: string;
  readonly answer: string;
  readonly atMs: number;
}

interface Fresh {
  readonly count: number;
  readonly bytes: number;
}

export class Receipts {
  readonly #database: PostgresDatabase;
  readonly #writer: Pick<LogWriter, 'writer' | 'isAway' | 'settled'>;
  readonly #freshOf = new Map<string, Fresh>();
  #fresh = 0;
  #guestBytes = 0;
  #trimming: Promise<void> = Promise.resolve();
  /** Ids whose claims could not be given up. Bounded by the pushes under way when the database went away. */
  readonly #unreleased = new Set<string>();
  #releasing: Promise<void> | undefined;
  /** The attempt to give one of them up that was made last. */
  #attempt: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** Called where receipts could not be trimmed; that is tried again later. */
  onFailure: (error: Error) => void = () => {};

  /** @param parts.writer that of this process. */
  constructor(parts: {
    readonly database: PostgresDatabase;
    readonly writer: Pick<LogWriter, 'writer' | 'isAway' | 'settled'>;
  }) {
    this.#database = parts.database;
    this.#writer = parts.writer;
  }

  /** Stores receipts in the statement that appends their pushes, which ends their claims. */
  beside(receipts: readonly PushReceipt[]): Beside | undefined {
    if (receipts.length === 0) return undefined;
    // The newest of an id counts.
    const byHash = new Map(receipts.map((receipt) => [hashOf(receipt.id).toString('hex'), receipt]));
    const hashes = [...byHash.keys()];
    const rows = [...byHash.values()];
    return {
      sql: (n) => `receipts AS (INSERT INTO receipt (hash, sensor, caller, body_hash, answer, at)
        SELECT decode(one.hash, 'hex'), one.sensor, one.caller, one.body_hash, one.answer, one.at FROM added,
          unnest(CAST($${n} AS text[]), CAST($${n + 1} AS bigint[]), CAST($${n + 2} AS text[]), CAST($${n + 3} AS text[]),
            CAST($${n + 4} AS text[]), CAST($${n + 5} AS bigint[])) AS one(hash, sensor, caller, body_hash, answer, at)
        ON CONFLICT (hash) DO UPDATE SET sensor = excluded.sensor, caller = excluded.caller,
          body_hash = excluded.body_hash, answer = excluded.answer, at = excluded.at),
      unclaimed AS (DELETE FROM claim USING added, unnest(CAST($${n} AS text[])) AS one(hash)
        WHERE claim.hash = decode(one.hash, 'hex'))`,
      parameters: [
        hashes,
        rows.map(({ id }) => sensorOf(id)),
        rows.map(({ caller }) => caller),
        rows.map(({ bodyHash }) => bodyHash),
        rows.map(({ answer }) => answer),
        rows.map(({ atMs }) => atMs),
      ],
    };
  }

  /** Receipts were stored: trims them where that is due. */
  stored(receipts: readonly PushReceipt[]): void {
    for (const receipt of receipts) {
      const { id, caller, answer, atMs } = receipt;
      const bytes = Buffer.byteLength(id) + Buffer.byteLength(answer) + otherBytes;
      this.#count(caller, bytes);
      this.#fresh = (this.#fresh + 1) % limits.idempotencyTrimmedAt;
      if (this.#fresh === 0) {
        const beforeMs = receipt.sinceMs ?? atMs - limits.idempotencyHours * 3_600_000;
        this.#trim(tooOld, [beforeMs]);
      }
      if (!caller.startsWith(addressKeyPrefix)) continue;
      this.#guestBytes += bytes;
      if (this.#guestBytes < limits.idempotencyTrimmedBytes) continue;
      this.#guestBytes = 0;
      this.#trim(beyondBytesOfGuests, [limits.idempotencyGuestBytesMax]);
    }
  }

  /**
   * The receipt of an id, unless nobody has stored one: then it is claimed for this process.
   * @throws Refusal `storage` where the outcome of a commit, which may have stored it, is not known; `busy` where another process
   * has it for too long.
   */
  async claim(
    id: string,
    { sinceMs, untilMs = Number.MAX_SAFE_INTEGER }: ReceiptTimes,
  ): Promise<PushReceipt | undefined> {
    // It is claimed anew, and must not be given up behind that.
    if (this.#unreleased.delete(id)) await this.#attempt;
    try {
      return await this.#claim(id, { sinceMs, untilMs });
    } catch (error) {
      // It may be there all the same.
      await this.release(id);
      throw error;
    }
  }

  async #claim(
    id: string,
    { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  ): Promise<PushReceipt | undefined> {
    const hash = hashOf(id);
    const { settled } = this.#writer;
    for (let waitedMs = 0; waitedMs < limits.postgresOutcomeMs; waitedMs += claimPollMs) {
      if (this.#writer.isAway || this.#writer.settled > settled)
        throw storageRefusal(new Error('The outcome of a commit is not known.'));
      const [row] = await this.#database.query<Row>(findSql, [hash]);
      if (row !== undefined && row.atMs > sinceMs && row.atMs <= untilMs) return { id, ...row };
      const [claim] = await this.#database.query<{ writer: number }>(claimSql, [hash, this.#writer.writer]);
      // Between the two statements the push of another process may have been stored: its receipt is looked for once more.
      if (claim !== undefined) {
        const [late] = await this.#database.query<Row>(findSql, [hash]);
        const isNew = late === undefined || late.atMs === row?.atMs;
        if (isNew && !this.#writer.isAway && this.#writer.settled === settled) return undefined;
        await this.release(id);
      } else await delay(claimPollMs);
    }
    throw new Refusal('busy', 'The same request is being stored by another server. Send it again.', {
      retryAfterS: limits.busyRetryAfterS,
    });
  }

  /** Where that fails it is tried again: as long as this process lives, no other one can store the push. */
  async release(id: string): Promise<void> {
    try {
      await this.#release(id);
    } catch {
      this.#unreleased.add(id);
      this.#releasing ??= this.#releaseLater().finally(() => {
        this.#releasing = undefined;
      });
    }
  }

  /** Resolves when no trimming is under way. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#trimming;
  }

  async #release(id: string): Promise<void> {
    await this.#database.query('DELETE FROM claim WHERE hash = $1 AND writer = $2', [hashOf(id), this.#writer.writer]);
  }

  async #releaseLater(): Promise<void> {
    while (this.#unreleased.size > 0) {
      await delay(limits.postgresRetryMsMax, undefined, { ref: false });
      // The claims of a writer that is no more are void.
      if (this.#isClosed) return;
      for (const id of this.#unreleased) {
        const released = this.#release(id).then(
          () => true,
          () => false,
        );
        this.#attempt = released;
        if (!(await released)) break;
        this.#unreleased.delete(id);
      }
    }
  }

  #count(caller: string, bytes: number): void {
    const before = this.#freshOf.get(caller);
    const fresh = { count: (before?.count ?? 0) + 1, bytes: (before?.bytes ?? 0) + bytes };
    const isDue = fresh.bytes >= limits.idempotencyTrimmedBytes || fresh.count >= limits.idempotencyTrimmedAt;
    if (isDue) this.#freshOf.delete(caller);
    else this.#freshOf.set(caller, fresh);
    if (this.#freshOf.size > limits.idempotencyCallersCounted) this.#freshOf.clear();
    if (isDue) this.#trim(beyondOfCaller, [caller, limits.idempotencyKeysMax, limits.idempotencyBytesMax]);
  }

  /** One after the other, beside commits. */
  #trim(which: string, parameters: readonly (string | number)[]): void {
    const sql = `DELETE FROM receipt WHERE hash IN (${which})`;
    this.#trimming = this.#trimming
      .then(() => this.#database.query(sql, parameters))
      .then(
        () => {},
        (error: Error) => this.onFailure(error),
      );
  }
}

/** Ends what is remembered of arrays that were pushed to a sensor: whatever changes its datapoints includes this statement. */
export const forgetRepeatedBodies = 'DELETE FROM receipt WHERE sensor = $1';
/** The same for all sensors: nobody can say whose datapoints a damaged row had. */
export const forgetAllRepeatedBodies = 'DELETE FROM receipt WHERE sensor IS NOT NULL';

/** Approximate bytes of a receipt beside its answer: hashes, caller, time, and its entries in the indexes. */
const otherBytes = 250;
const oldAtOnce = 5_000;
const rowBytes = `(octet_length(answer) + ${otherBytes})`;
const ofGuests = `caller > '${addressKeyPrefix}' AND caller < '${addressKeyPrefix}~'`;

const findSql = 'SELECT caller, body_hash AS "bodyHash", answer, at AS "atMs" FROM receipt WHERE hash = $1';
/** A claim of a writer that is no more is void. */
const claimSql = `INSERT INTO claim (hash, writer) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET writer = excluded.writer
  WHERE claim.writer = excluded.writer OR NOT EXISTS (SELECT 1 FROM log_writer WHERE log_writer.writer = claim.writer)
  RETURNING writer`;
const tooOld = `SELECT hash FROM receipt WHERE at < $1 ORDER BY at LIMIT ${oldAtOnce}`;
const beyondOfCaller = `SELECT hash FROM (SELECT hash, row_number() OVER newest AS number, sum(${rowBytes}) OVER newest AS bytes
  FROM receipt WHERE caller = $1 WINDOW newest AS (ORDER BY at DESC, hash)) AS one WHERE number > $2 OR bytes > $3`;
const beyondBytesOfGuests = `SELECT hash FROM (SELECT hash, sum(${rowBytes}) OVER (ORDER BY at DESC, hash) AS bytes
  FROM receipt WHERE ${ofGuests}) AS one WHERE bytes > $1`;
