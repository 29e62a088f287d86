// The forms of what servers store for one another, each with a number: rows of the log, chunks, announcements, stored MQTT sessions. A server
// tells which numbers it reads (its row of `node`); the table `stored_format` says which ones the database may have, and is raised only
// when every living server reads the newer one (coordination/upgrade.ts). So nobody meets what it cannot read, and who could must not
// start (readable.ts).
import { chunkVersions } from '../../shared/codec/chunk-codec.ts';

export interface FormatRange {
  oldest: number;
  newest: number;
}

/**
 * What this release reads; it writes each of them, too. A change of the bytes that an earlier release would not read gets the next
 * number, and is written only where `WrittenFormats` gives it.
 */
export const formats = {
  /** A row of the log with its sections (log-row.ts, packed-batch.ts, push-section.ts, relay-section.ts, fingerprints). */
  log: { oldest: 1, newest: 1 },
  /** A chunk (chunk-codec.ts). */
  chunk: chunkVersions,
  /** The text of an announcement (announcement-text.ts), with its kinds. */
  announcement: { oldest: 1, newest: 1 },
  /** What a stored MQTT session has beside its columns: options of filters, and the rest of messages. */
  session: { oldest: 1, newest: 1 },
} satisfies Record<string, FormatRange>;

export type FormatKind = keyof typeof formats;
export const formatKinds = Object.keys(formats) as FormatKind[];

/** A row of `stored_format`: what the database may have. */
export interface StoredFormat extends FormatRange {
  readonly kind: string;
}

export const storedFormatsSql = 'SELECT kind, oldest, newest FROM stored_format ORDER BY kind';

/** In which form this process writes; it is learned, and only grows. */
export class WrittenFormats {
  readonly #newest = new Map<string, number>();

  constructor(stored: readonly StoredFormat[] = []) {
    this.learn(stored);
  }

  learn(stored: readonly StoredFormat[]): void {
    for (const { kind, newest } of stored) this.#newest.set(kind, Math.max(newest, this.#newest.get(kind) ?? 0));
  }

  /** The newest that every server on the database reads. */
  of(kind: FormatKind): number {
    return this.#newest.get(kind) ?? formats[kind].oldest;
  }

  /** Whether all is written in the newest form that this release has. */
  get areNewest(): boolean {
    return formatKinds.every((kind) => this.of(kind) >= formats[kind].newest);
  }
}
