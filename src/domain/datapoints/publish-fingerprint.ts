// Fingerprints of MQTT publishes as they are stored in the commit of their datapoints, so that repeats (DUP) are known
// after a crash (contract 8). Stored as words of 32 bits: a record of a session, then one record for each of its
// publishes. Engines store and return the words; only mqtt/repeats knows which of them are still needed.
import type { UserKey } from '../users/user.ts';

/** Whose publishes are remembered: a user and a client id. */
export interface PublishSession {
  readonly user: UserKey;
  /** A hash of user and client id, 48 bits. */
  readonly number: number;
  /** When its client went away, in milliseconds since 1970 UTC; undefined while it is connected. */
  readonly goneMs: number | undefined;
}

/** A hash of 128 bits over topic and payload, as four integers of 32 bits. */
export interface ContentHash {
  readonly h0: number;
  readonly h1: number;
  readonly h2: number;
  readonly h3: number;
}

/** Identifies the last publish of a session under a packet id. */
export interface PublishFingerprint extends ContentHash {
  readonly session: PublishSession;
  readonly packetId: number;
  /** Sessions whose clients have come or gone since; stored with it. */
  readonly changed?: readonly PublishSession[] | undefined;
}

/** What a record begins with, in the upper byte of its first word; a publish is 0, and its packet id the rest. */
const connectedKind = 1;
const goneKind = 2;
const kindShift = 24;
/** Words of the records. */
export const publishWords = 5;
export const sessionWords = 3;
const goneSessionWords = 5;

/** The records of the publishes of a commit. */
export function encodeFingerprints(fingerprints: readonly PublishFingerprint[]): Uint32Array<ArrayBuffer> {
  // Counted first: one array of the right size costs less than those that would grow to it.
  let words = 0;
  let before: PublishSession | undefined;
  for (const { session, changed } of fingerprints) {
    if (changed !== undefined) words += changed.length * goneSessionWords + goneSessionWords;
    else if (session !== before) words += session.goneMs === undefined ? sessionWords : goneSessionWords;
    before = session;
    words += publishWords;
  }
  const encoder = new FingerprintEncoder(words);
  for (const fingerprint of fingerprints) encoder.add(fingerprint);
  return encoder.build();
}

/** Encodes fingerprints one by one. */
export class FingerprintEncoder {
  #words: Uint32Array<ArrayBuffer>;
  #length = 0;
  #session: PublishSession | undefined;

  /** @param words how many are expected. */
  constructor(words = 0) {
    this.#words = new Uint32Array(words);
  }

  add(fingerprint: PublishFingerprint): void {
    const { session, packetId, h0, h1, h2, h3, changed } = fingerprint;
    if (changed !== undefined) for (const other of changed) this.addSession(other);
    if (session !== this.#session) this.addSession(session);
    this.addPublish(packetId, h0, h1, h2, h3);
  }

  /** Begins the publishes of a session; without any it says only whether its client is there. */
  addSession(session: PublishSession): void {
    const { user, number, goneMs } = session;
    this.#session = session;
    const at = this.#reserve(goneMs === undefined ? sessionWords : goneSessionWords);
    const words = this.#words;
    const kind = goneMs === undefined ? connectedKind : goneKind;
    words[at] = (kind << kindShift) | Math.floor(number / 2 ** 32);
    words[at + 1] = number;
    words[at + 2] = user;
    this.#length = at + sessionWords;
    if (goneMs === undefined) return;
    words[at + 3] = Math.floor(goneMs / 2 ** 32);
    words[at + 4] = goneMs;
    this.#length = at + goneSessionWords;
  }

  /** Adds a publish of the session that was added last. */
  addPublish(packetId: number, h0: number, h1: number, h2: number, h3: number): void {
    const at = this.#reserve(publishWords);
    const words = this.#words;
    words[at] = packetId;
    words[at + 1] = h0;
    words[at + 2] = h1;
    words[at + 3] = h2;
    words[at + 4] = h3;
    this.#length = at + publishWords;
  }

  /** The records, in memory of their own: they are copied to another thread. */
  build(): Uint32Array<ArrayBuffer> {
    return this.#length === this.#words.length ? this.#words : this.#words.slice(0, this.#length);
  }

  #reserve(words: number): number {
    const end = this.#length + words;
    if (end > this.#words.length) {
      const larger = new Uint32Array(2 * end);
      larger.set(this.#words);
      this.#words = larger;
    }
    return this.#length;
  }
}

/** Called by `readFingerprints`; numbers instead of objects, because there may be a million at start. */
export interface FingerprintReader {
  /** The publishes that follow are of this session. */
  onSession(user: UserKey, number: number, goneMs: number | undefined): void;
  onPublish(packetId: number, h0: number, h1: number, h2: number, h3: number): void;
}

/** Decodes records in their order; false where they are damaged: then those before the damage have been read. */
export function readFingerprints(words: Uint32Array, reader: FingerprintReader): boolean {
  let hasSession = false;
  for (let at = 0; at < words.length; ) {
    const first = words[at] as number;
    const kind = first >>> kindShift;
    const length = kind === 0 ? publishWords : kind === goneKind ? goneSessionWords : sessionWords;
    if (at + length > words.length || kind > goneKind || (kind === 0 && !hasSession)) return false;
    const [h0, h1] = [words[at + 1] as number, words[at + 2] as number];
    const [h2, h3] = kind === connectedKind ? [0, 0] : [words[at + 3] as number, words[at + 4] as number];
    if (kind === 0) {
      reader.onPublish(first & 0xffff, h0 | 0, h1 | 0, h2 | 0, h3 | 0);
    } else {
      hasSession = true;
      const goneMs = kind === goneKind ? h2 * 2 ** 32 + h3 : undefined;
      reader.onSession(h1 as UserKey, (first & 0xffff) * 2 ** 32 + h0, goneMs);
    }
    at += length;
  }
  return true;
}
