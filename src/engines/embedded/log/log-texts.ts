// How many characters the texts in the log have, so that what is held in memory of them is bounded as numbers are. Kept by
// the writer thread: counted when it starts, then added up with each commit, and taken off when a pass of sealing ends.
import type { DatabaseSync } from 'node:sqlite';

interface Part {
  /** Of what came up to this seq and after the part before. */
  readonly upTo: number;
  readonly chars: number;
}

export class LogTexts {
  /** What came before each pass of sealing that has begun and not come to its end. */
  #begun: Part[];
  #fresh: number;
  #uncommitted = 0;

  constructor(database: DatabaseSync) {
    const upTo = Number(database.prepare('SELECT max(up_to) AS upTo FROM sealing').get()?.['upTo'] ?? 0);
    // As many bytes as characters, or a few more; SQLite knows them without reading the texts.
    const count = database.prepare(
      'SELECT total(octet_length(texts)) AS chars FROM log WHERE first_seq BETWEEN ? AND ?',
    );
    const chars = (from: number, to: number) => Number(count.get(from, to)?.['chars']);
    this.#begun = upTo > 0 ? [{ upTo, chars: chars(0, upTo) }] : [];
    this.#fresh = chars(upTo + 1, Number.MAX_SAFE_INTEGER);
  }

  /** All of them. */
  get chars(): number {
    return this.#begun.reduce((sum, { chars }) => sum + chars, this.#fresh);
  }

  /** Of those that came since the last pass of sealing began. */
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

  /** A pass begins over what is in the log up to here. */
  passBegins(upTo: number): void {
    if (this.#fresh === 0) return;
    this.#begun.push({ upTo, chars: this.#fresh });
    this.#fresh = 0;
  }

  sealed(upTo: number): void {
    this.#begun = this.#begun.filter((part) => part.upTo > upTo);
  }
}
