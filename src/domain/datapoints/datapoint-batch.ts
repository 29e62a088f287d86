// Datapoints on their way into the store, in one buffer, because an object for each would cost more than storing it.
// Made by the writer, taken by every engine; the embedded engine's log stores the buffer as it is.
import type { SensorKey } from '../devices/sensor.ts';
import type { StoredValue } from './datapoint.ts';
import type { PlainReadings } from './ingest/plain-readings.ts';

/** Records that a push under an `Idempotency-Key` was stored; stored in the push's own commit. */
export interface PushReceipt {
  /** Who pushed, the method and path, and the key, as one text. */
  readonly id: string;
  /** The caller within the id; the number of receipts is bounded for each. */
  readonly caller: string;
  /** SHA-256 of the body: the same key with another body is refused. */
  readonly bodyHash: string;
  /** The answer, where it says more than that the push was stored. */
  readonly answer: string;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
}

/** Identifies an MQTT publish by two hashes; stored in the datapoint's own commit. */
export interface PublishFingerprint {
  /** Hash of user, client id and packet id. */
  readonly slot: number;
  /** Hash of topic and payload. */
  readonly content: number;
}

/**
 * Datapoints to be stored in one commit, in order of arrival, with the receipts and fingerprints that belong to them.
 */
export interface DatapointBatch {
  /**
   * `rowNumbers` numbers for each datapoint: sensor, timestamp (NaN: none), received, value (NaN: the next of `texts`).
   */
  readonly rows: Float64Array;
  /** JSON texts of the values that are not numbers, in order. */
  readonly texts: readonly string[];
  readonly receipts: readonly PushReceipt[];
  /** `fingerprintNumbers` numbers for each MQTT publish: slot, content. */
  readonly publishes: Float64Array<ArrayBuffer>;
  /** When the last of these was received; NaN where there are none. */
  readonly publishedMs: number;
  /** Ranges of datapoints for which no rule is evaluated: `rangeNumbers` numbers each, index in `rows` and count. */
  readonly rulesSkipped: readonly number[];
}

/** Numbers of one datapoint in `rows`. Times are milliseconds since 1970 UTC. */
export const rowNumbers = 4;
/** Numbers of one fingerprint in `publishes`. */
export const fingerprintNumbers = 2;
/** Numbers of one range in `rulesSkipped`. */
export const rangeNumbers = 2;

/** Batches with at least so many datapoints use shared memory. */
const sharedFrom = 1_000;

/** Fills a batch of a known number of datapoints. */
export class BatchBuilder {
  readonly #rows: Float64Array;
  readonly #texts: string[] = [];
  readonly #receipts: PushReceipt[] = [];
  readonly #publishes: number[] = [];
  #publishedMs = Number.NaN;
  readonly #rulesSkipped: number[] = [];
  #at = 0;

  constructor(datapoints: number) {
    // Large batches are shared with the writer thread, because copying them would cost more than anything else here.
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

  addReceipt(receipt: PushReceipt): void {
    this.#receipts.push(receipt);
  }

  addPublish({ slot, content }: PublishFingerprint, receivedMs: number): void {
    this.#publishes.push(slot, content);
    this.#publishedMs = receivedMs;
  }

  /** Marks the datapoints added last: no rule is evaluated for them. */
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
      publishes: Float64Array.from(this.#publishes),
      publishedMs: this.#publishedMs,
      rulesSkipped: this.#rulesSkipped,
    };
  }
}

/** Number of datapoints in a batch. */
export function countRows({ rows }: Pick<DatapointBatch, 'rows'>): number {
  return rows.length / rowNumbers;
}
