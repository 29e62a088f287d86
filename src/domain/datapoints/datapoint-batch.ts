// Datapoints on their way into the store: columns side by side in one buffer, because an object for each of them costs
// more than storing it. Made by the writer, taken by every engine, kept as it is by the embedded one's log.
import type { SensorKey } from '../devices/sensor.ts';
import type { StoredValue } from './datapoint.ts';
import type { PlainReadings } from './ingest/plain-readings.ts';

/** That a push under an `Idempotency-Key` was stored; kept in the push's own commit. */
export interface PushReceipt {
  /** Who pushed, the method and path, and the key, as one text. */
  readonly id: string;
  /** The caller part of the id, within which the number of receipts is bounded. */
  readonly caller: string;
  /** SHA-256 of the body: the same key with another body is refused. */
  readonly bodyHash: string;
  /** What was answered, as far as it says more than that it is stored. */
  readonly answer: string;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
}

/** What an MQTT session published under a packet id, as two hashes; kept in the datapoint's own commit. */
export interface PublishFingerprint {
  /** Hash of user, client id and packet id. */
  readonly slot: number;
  /** Hash of topic and payload. */
  readonly content: number;
}

/** Datapoints to be stored in one commit, in order of arrival; with what must be kept beside them. */
export interface DatapointBatch {
  /** `rowNumbers` for each datapoint: sensor, timestamp (NaN: none), received, value (NaN: the next of `texts`). */
  readonly rows: Float64Array;
  /** The values that are no numbers, as JSON text, in order. */
  readonly texts: readonly string[];
  readonly receipts: readonly PushReceipt[];
  /** `fingerprintNumbers` for each MQTT publish: slot, content. */
  readonly publishes: Float64Array<ArrayBuffer>;
  /** When the last of these was received; NaN where there are none. */
  readonly publishedMs: number;
  /** Datapoints that no rule looks at: `quietNumbers` for each run of them, place in `rows` and count. */
  readonly quiet: readonly number[];
}

/** Numbers of one datapoint in `rows`. Times are milliseconds since 1970 UTC. */
export const rowNumbers = 4;
/** Numbers of one fingerprint in `publishes`. */
export const fingerprintNumbers = 2;
/** Numbers of one run of quiet datapoints in `quiet`. */
export const quietNumbers = 2;

/** Datapoints from which on a batch is shared between threads. */
const sharedFrom = 1_000;

/** Fills a batch whose number of datapoints is known. */
export class BatchBuilder {
  readonly #rows: Float64Array;
  readonly #texts: string[] = [];
  readonly #receipts: PushReceipt[] = [];
  readonly #publishes: number[] = [];
  #publishedMs = Number.NaN;
  readonly #quiet: number[] = [];
  #at = 0;

  constructor(datapoints: number) {
    // Large ones are shared with the thread that writes them, because copying costs more than all else there.
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

  /** Adds readings of one push that are all numbers. */
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

  /** Says that no rule looks at the datapoints added last. */
  addQuiet(count: number): void {
    const quiet = this.#quiet;
    const first = this.#at / rowNumbers - count;
    const [lastFirst = 0, lastCount = 0] = quiet.slice(-quietNumbers);
    if (quiet.length > 0 && lastFirst + lastCount === first) quiet[quiet.length - 1] = lastCount + count;
    else if (count > 0) quiet.push(first, count);
  }

  build(): DatapointBatch {
    return {
      rows: this.#rows,
      texts: this.#texts,
      receipts: this.#receipts,
      publishes: Float64Array.from(this.#publishes),
      publishedMs: this.#publishedMs,
      quiet: this.#quiet,
    };
  }
}

/** Datapoints in a batch. */
export function countRows({ rows }: Pick<DatapointBatch, 'rows'>): number {
  return rows.length / rowNumbers;
}
