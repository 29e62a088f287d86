// Datapoints on their way into the store, in one buffer, because an object for each would cost more than storing it.
// Made by the writer, taken by every engine. The embedded engine's log stores the numbers packed, or as they are.
import type { SensorKey } from '../devices/sensor.ts';
import type { StoredValue } from './datapoint.ts';
import type { PlainReadings } from './ingest/plain-readings.ts';
import { encodeFingerprints, type PublishFingerprint } from './publish-fingerprint.ts';

/**
 * The ids of receipts of pushes to a sensor without an `Idempotency-Key` begin with this, and no others: no caller's key
 * begins with a line feed. So the store ends what it remembers of a sensor's pushes when it deletes datapoints of it.
 */
export function repeatIdPrefix(sensor: SensorKey): string {
  return `\n${sensor}\n`;
}

/** Records that a push was stored under an `Idempotency-Key`, or under its body; stored in the push's own commit. */
export interface PushReceipt {
  /** Caller, method and path, and the key or the hash of the body, as one text (idempotency-guard.ts). */
  readonly id: string;
  /** Whose receipts it is counted among, because their number is bounded for each caller: keys, and bodies apart. */
  readonly caller: string;
  /** SHA-256 of the body: the same key with another body is refused. Empty where the body is the key. */
  readonly bodyHash: string;
  /** The answer; empty where it says only that the push was stored. */
  readonly answer: string;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
  /**
   * Receipts from before this are too old when it is stored, and may go; not stored. Undefined: `idempotencyHours`
   * before `atMs`.
   */
  readonly sinceMs?: number;
}

/**
 * Datapoints to be stored in one commit, in order of arrival, with the receipts and fingerprints that belong to them.
 */
export interface DatapointBatch {
  /**
   * `rowNumbers` numbers for each datapoint: sensor key, timestamp (NaN: none), time of receiving, value (NaN: the
   * next of `texts`).
   */
  readonly rows: Float64Array;
  /** JSON texts of the values that are not numbers, in order. */
  readonly texts: readonly string[];
  readonly receipts: readonly PushReceipt[];
  /** Records of MQTT publishes (publish-fingerprint.ts). */
  readonly publishes: Uint32Array<ArrayBuffer>;
  /**
   * Ranges of datapoints for which no rule is evaluated: `rangeNumbers` numbers each, the first datapoint and their
   * count.
   */
  readonly rulesSkipped: readonly number[];
}

/** Numbers of one datapoint in `rows`. Times are milliseconds since 1970 UTC. */
export const rowNumbers = 4;
/** Numbers of one range in `rulesSkipped`. */
export const rangeNumbers = 2;

const noPublishes = new Uint32Array(0);

/** Batches with at least so many datapoints are in shared memory. */
const sharedFrom = 1_000;

/** Fills a batch of a known number of datapoints. */
export class BatchBuilder {
  readonly #rows: Float64Array;
  readonly #texts: string[] = [];
  readonly #receipts: PushReceipt[] = [];
  readonly #publishes: PublishFingerprint[] = [];
  readonly #rulesSkipped: number[] = [];
  #at = 0;

  constructor(datapoints: number) {
    // Large batches are shared with the writer thread, because a copy would cost more than everything else here.
    const bytes = datapoints * rowNumbers * Float64Array.BYTES_PER_ELEMENT;
    this.#rows = new Float64Array(datapoints >= sharedFrom ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes));
  }

  add(sensor: SensorKey, timestampMs: number, receivedMs: number, value: StoredValue): void {
    const rows = this.#rows;
    const at = this.#at;
    rows[at] = sensor;
    rows[at + 1] = timestampMs;
    rows[at + 2] = receivedMs;
    if (typeof value === 'number') rows[at + 3] = value;
    else {
      rows[at + 3] = Number.NaN;
      this.#texts.push(value);
    }
    this.#at = at + rowNumbers;
  }

  /** Adds readings that are all numbers. */
  addPlain(sensor: SensorKey, receivedMs: number, { values, timestamps }: PlainReadings): void {
    const rows = this.#rows;
    let at = this.#at;
    for (let index = 0; index < values.length; index++) {
      rows[at] = sensor;
      rows[at + 1] = timestamps[index] as number;
      rows[at + 2] = receivedMs;
      rows[at + 3] = values[index] as number;
      at += rowNumbers;
    }
    this.#at = at;
  }

  /** Adds the receipt of a push in this batch. */
  addReceipt(receipt: PushReceipt): void {
    this.#receipts.push(receipt);
  }

  addPublish(fingerprint: PublishFingerprint): void {
    this.#publishes.push(fingerprint);
  }

  /** Marks the `count` datapoints added last: no rule is evaluated for them. */
  addRulesSkipped(count: number): void {
    const rulesSkipped = this.#rulesSkipped;
    const first = this.#at / rowNumbers - count;
    const [lastFirst = 0, lastCount = 0] = rulesSkipped.slice(-rangeNumbers);
    if (rulesSkipped.length > 0 && lastFirst + lastCount === first)
      rulesSkipped[rulesSkipped.length - 1] = lastCount + count;
    else if (count > 0) rulesSkipped.push(first, count);
  }

  build(): DatapointBatch {
    return {
      rows: this.#rows,
      texts: this.#texts,
      receipts: this.#receipts,
      publishes: this.#publishes.length === 0 ? noPublishes : encodeFingerprints(this.#publishes),
      rulesSkipped: this.#rulesSkipped,
    };
  }
}

/** Number of datapoints in a batch. */
export function countRows({ rows }: Pick<DatapointBatch, 'rows'>): number {
  return rows.length / rowNumbers;
}
