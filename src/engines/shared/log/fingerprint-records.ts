// Records of fingerprints of MQTT publishes as bytes of a row (publish-fingerprint.ts has their form).
import { limits } from '../../../config/limits.ts';
import { readFingerprints } from '../../../domain/datapoints/publish-fingerprint.ts';

const wordBytes = Uint32Array.BYTES_PER_ELEMENT;

/** The column of a row: the bytes of the words. */
export function toBytes({ buffer, byteOffset, byteLength }: Uint32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** What is wrong with a column; undefined where nothing is. */
export function faultInColumn(column: unknown): string | undefined {
  if (!(column instanceof Uint8Array) || column.length % wordBytes !== 0) return 'has half a fingerprint';
  const isWhole = readFingerprints(toWords(column), { onSession: () => {}, onPublish: () => {} });
  return isWhole ? undefined : 'has a fingerprint that cannot be read';
}

/** A copy where the offset is not aligned; a word that is cut off is left out. */
export function toWords(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, length } = bytes.byteOffset % wordBytes === 0 ? bytes : bytes.slice();
  return new Uint32Array(buffer, byteOffset, Math.floor(length / wordBytes));
}

/** Joins records into rows of `duplicateRowBytes`, about. */
export class JoinedRecords {
  readonly #store: (records: Uint8Array) => void;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(store: (records: Uint8Array) => void) {
    this.#store = store;
  }

  add(records: Uint8Array): void {
    // Words that are cut off would shift those behind them.
    const whole = records.subarray(0, records.length - (records.length % wordBytes));
    this.#parts.push(whole);
    this.#bytes += whole.length;
    if (this.#bytes >= limits.duplicateRowBytes) this.end();
  }

  end(): void {
    if (this.#bytes > 0) this.#store(Buffer.concat(this.#parts));
    this.#parts = [];
    this.#bytes = 0;
  }
}
