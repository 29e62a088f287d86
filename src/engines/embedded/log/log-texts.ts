// Counts the characters of texts in the log, so that the head's memory for texts is bounded like that for numbers. Kept
// by the writer thread: computed at start, increased by each commit, decreased when a pass of sealing ends.
import type { DatabaseSync } from 'node:sqlite';

interface Part {
  /** The last seq of the part; it begins where the part before ends. */
  readonly upTo: number;
  readonly chars: number;
}

export class LogTexts {
  /** One part for each pass of sealing that has begun and not ended. */
  #begun: Part[];
  #fresh: number;
  #uncommitted = 0;

  constructor(database: DatabaseSync) {
    const upTo = Number(database.prepare('SELECT max(up_to) AS upTo FROM sealing').get()?.['upTo'] ?? 0);
    // UTF-8 bytes: at least as many as characters. SQLite knows the length without reading the text.
    const count = database.prepare(
      'SELECT total(octet_length(texts)) AS chars FROM log WHERE first_seq BETWEEN ? AND ?',
    );
    const chars = (from: number, to: number) => Number(count.get(from, to)?.['chars']);
    this.#begun = upTo > 0 ? [{ upTo, chars: chars(0, upTo) }] : [];
    this.#fresh = chars(upTo + 1, Number.MAX_SAFE_INTEGER);
  }

  /** Characters of all texts in the log. */
  get chars(): number {
    return this.#begun.reduce((sum, { chars }) => sum + chars, this.#fresh);
  }

  /** Characters of texts logged since the last pass of sealing began. */
  get freshChars(): number {
    return this.#fresh;
  }

  add(texts: readonly string[]): void {
    for (const text of texts) this.#uncommitted += text.length;
  }

  committed(): void {
    this.#fresh += this.#uncommitted;
    this.#uncommitted = 0;
  }

  rolledBack(): void {
    this.#uncommitted = 0;
  }

  /** A pass of sealing begins; it covers the log up to this seq. */
  passBegins(upTo: number): void {
    if (this.#fresh === 0) return;
    this.#begun.push({ upTo, chars: this.#fresh });
    this.#fresh = 0;
  }

  sealed(upTo: number): void {
    this.#begun = this.#begun.filter((part) => part.upTo > upTo);
  }
}
