// Receipts of pushes under an `Idempotency-Key`, or under their body, in the transaction of their push. Bounded for each caller in number and
// bytes, and in bytes for all callers without an account together, because they can come from any number of addresses:
// receipts are charged to nobody's quota (I4). Called by datapoint-writer.ts, in the writer thread.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { addressKeyPrefix } from '../../../domain/callers/caller.ts';
import { type PushReceipt, repeatIdPrefix } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { Statement } from '../database/database-writer.ts';

/** Receipts stored for a caller since they were last trimmed. */
interface Fresh {
  readonly count: number;
  readonly bytes: number;
}

/** The counter that says when the newest receipt was stored of those that a move has brought (receipt-ids.ts). */
export const movedReceipts = 'moved_receipts';

export class Receipts {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  #fresh = 0;
  readonly #freshOf = new Map<string, Fresh>();
  /** Approximate bytes of the receipts of all guests; undefined until they are first counted. */
  #guestBytes: number | undefined;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#insert = database.prepare(
      'INSERT OR REPLACE INTO receipt (id, caller, body_hash, answer, at) VALUES (?, ?, ?, ?, ?)',
    );
  }

  remember(receipt: PushReceipt): void {
    const { id, caller, bodyHash, answer, atMs } = receipt;
    this.#insert.run(id, caller, bodyHash, answer, atMs);
    const bytes = Buffer.byteLength(id) + Buffer.byteLength(answer) + otherBytes;
    this.#trimCaller(caller, bytes);
    this.#fresh = (this.#fresh + 1) % limits.idempotencyTrimmedAt;
    if (this.#fresh === 0) this.#forget(tooOld, receipt.sinceMs ?? atMs - limits.idempotencyHours * 3_600_000);
    if (caller.startsWith(addressKeyPrefix)) this.#trimGuests(bytes);
  }

  #trimCaller(caller: string, bytes: number): void {
    const before = this.#freshOf.get(caller);
    const fresh = { count: (before?.count ?? 0) + 1, bytes: (before?.bytes ?? 0) + bytes };
    const isLarge = fresh.bytes >= limits.idempotencyTrimmedBytes;
    const isDue = isLarge || fresh.count >= limits.idempotencyTrimmedAt;
    if (isDue) this.#freshOf.delete(caller);
    else this.#freshOf.set(caller, fresh);
    if (this.#freshOf.size > limits.idempotencyCallersCounted) this.#freshOf.clear();
    if (isDue) this.#forget(beyondNumber, caller, limits.idempotencyKeysMax);
    // Usual receipts reach their number first, so that bytes are rarely summed up.
    if (isLarge) this.#forget(beyondBytes, caller, limits.idempotencyBytesMax);
  }

  #trimGuests(bytes: number): void {
    this.#guestBytes = this.#guestBytes === undefined ? this.#countGuests() : this.#guestBytes + bytes;
    while (this.#guestBytes > limits.idempotencyGuestBytesMax && this.#forget(oldestOfGuests) > 0);
  }

  /** @returns how many were forgotten. */
  #forget(which: string, ...parameters: (string | number)[]): number {
    const gone = this.#database.prepare(
      `DELETE FROM receipt WHERE id IN (${which}) RETURNING caller, ${rowBytes} AS bytes`,
    );
    const rows = gone.all(...parameters);
    for (const { caller, bytes } of rows) {
      const isGuest = this.#guestBytes !== undefined && String(caller).startsWith(addressKeyPrefix);
      if (isGuest) this.#guestBytes = (this.#guestBytes ?? 0) - Number(bytes);
    }
    return rows.length;
  }

  #countGuests(): number {
    const { bytes } =
      this.#database.prepare(`SELECT sum(${rowBytes}) AS bytes FROM receipt WHERE ${ofGuests}`).get() ?? {};
    return Number(bytes ?? 0);
  }
}

/**
 * Deletes the remembered bodies of arrays pushed to a sensor. Every commit that deletes datapoints of the sensor must
 * include it, so that a client that sends them again has them stored.
 */
export function forgetRepeatedBodies(sensor: SensorKey): Statement {
  const prefix = repeatIdPrefix(sensor);
  return { sql: 'DELETE FROM receipt WHERE id >= ? AND id < ?', parameters: [prefix, `${prefix}\u{10ffff}`] };
}

/**
 * Deletes the remembered bodies of all arrays. For what was damaged: nobody can say whose datapoints a damaged row had,
 * and a client that sends them again must have them stored. Ids of receipts of an `Idempotency-Key` begin with no line feed.
 */
export const forgetAllRepeatedBodies: Statement = {
  sql: 'DELETE FROM receipt WHERE id >= ? AND id < ?',
  parameters: ['\n', '\v'],
};

/** Approximate bytes of a receipt beside id and answer: hash, caller, time, and its entries in the indexes. */
const otherBytes = 250;
/** Most receipts that one statement deletes, so that no commit takes long: of those too old, and of guests' oldest. */
const oldAtOnce = 5_000;
const guestsAtOnce = 100;

const rowBytes = `(octet_length(id) + octet_length(answer) + ${otherBytes})`;
const ofGuests = `caller > '${addressKeyPrefix}' AND caller < '${addressKeyPrefix}~'`;
const tooOld = `SELECT id FROM receipt WHERE at < ? ORDER BY at LIMIT ${oldAtOnce}`;
const beyondNumber = 'SELECT id FROM receipt WHERE caller = ? ORDER BY at DESC LIMIT -1 OFFSET ?';
const beyondBytes = `SELECT id FROM (SELECT id, sum(${rowBytes}) OVER (ORDER BY at DESC, id) AS bytes FROM receipt WHERE caller = ?)
  WHERE bytes > ?`;
/** Uses the index of times, so that the oldest are found without reading all receipts. */
const oldestOfGuests = `SELECT id FROM receipt INDEXED BY receipt_at WHERE ${ofGuests} ORDER BY at LIMIT ${guestsAtOnce}`;
