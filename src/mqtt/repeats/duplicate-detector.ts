// Tells a repeated PUBLISH from a new one (contract 8). A repeat has DUP set, and its packet id, topic and payload equal
// those of the session's last publish under that packet id. What is remembered is stored in the datapoint's own commit,
// so that it survives a crash, and is bounded for each user (fingerprint-table.ts). In doubt a publish is new.
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import {
  FingerprintEncoder,
  publishWords,
  readFingerprints,
  sessionWords,
} from '../../domain/datapoints/publish-fingerprint.ts';
import type { CommitLog } from '../../domain/ports/commit-log.ts';
import type { UserKey } from '../../domain/users/user.ts';
import { type Fingerprint, sessionNumber } from './fingerprint.ts';
import { entryBytes, FingerprintTable } from './fingerprint-table.ts';
import { isExpired, type Moment, type RememberedSession, RememberedSessions } from './remembered-sessions.ts';

interface DuplicateWaiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type StoredFingerprints = Pick<CommitLog, 'listFingerprints' | 'trimFingerprints' | 'onPublished'>;

export interface DuplicateDetectorParts {
  readonly clock: Clock;
  readonly stored: StoredFingerprints;
  /** Bytes that a user's sessions may take. The fingerprints of their publishes are bounded by the same number. */
  readonly sessionBytesMaxOf: (user: UserKey) => number;
}

export class DuplicateDetector {
  readonly #parts: DuplicateDetectorParts;
  readonly #table = new FingerprintTable(limits.duplicateMemoryMax);
  readonly #sessions = new RememberedSessions((session) => this.#table.forget(session));
  /** Repeats that wait for the commit of the first. Bounded by the packets accepted at once. */
  readonly #waiters = new Map<string, DuplicateWaiter[]>();
  /** Sessions whose clients have come or gone, which is stored with the next publishes. Bounded as sessions are. */
  readonly #changed = new Set<RememberedSession>();
  /** Publishes stored since the fingerprints on disk were last trimmed. */
  #untrimmed = 0;
  #isTrimming = false;

  constructor(parts: DuplicateDetectorParts) {
    this.#parts = parts;
  }

  /** A client connects. `leave` must be called with the result when its connection has closed. */
  arrive(user: { readonly key: UserKey; readonly id: string }, clientId: string): RememberedSession {
    const session = this.#sessions.arrive(user.key, sessionNumber(user.id, clientId), this.#parts.clock.elapsedMs());
    session.holder.countMax = Math.floor(this.#parts.sessionBytesMaxOf(user.key) / entryBytes);
    if (session.count > 0) this.#changed.add(session);
    return session;
  }

  /** The connection of a client has closed: its publishes are remembered for an hour. */
  leave(session: RememberedSession): void {
    this.#sessions.leave(session, this.#now());
    if (session.count > 0) this.#changed.add(session);
  }

  /** The session to which a message counts that came by a connection which `arrive` was called for. */
  current(session: RememberedSession): RememberedSession {
    return session.isDropped ? this.#sessions.current(session, this.#now()) : session;
  }

  /** Forgets a user who was removed. */
  forgetUser(user: UserKey): void {
    this.#sessions.dropUser(user);
  }

  /** The commit of the publish that this one repeats, which may have ended. Undefined: this one is new. */
  find(fingerprint: Fingerprint): Promise<void> | undefined {
    const at = this.#table.findSame(fingerprint);
    if (at < 0) return undefined;
    if (!this.#table.isUnderWay(at)) return Promise.resolve();
    return new Promise((resolve, reject) => this.#wait(fingerprint, { resolve, reject }));
  }

  /** The commit of a publish begins. */
  begin(fingerprint: Fingerprint): void {
    fingerprint.entry = this.#table.put(fingerprint, { isStored: false });
  }

  /** Call it with a publish that will be stored with a datapoint: what else is to be stored goes with it. */
  carryChanges(fingerprint: Fingerprint): void {
    if (this.#changed.size === 0) return;
    const changed: RememberedSession[] = [];
    for (const session of this.#changed) {
      changed.push(session);
      this.#changed.delete(session);
      if (changed.length === limits.duplicateChangesMax) break;
    }
    fingerprint.changed = changed;
  }

  /** The commit of a publish has ended; with `failure` it was not stored. */
  end(fingerprint: Fingerprint, failure?: unknown): void {
    const { entry } = fingerprint;
    // Another publish may have replaced it in the table.
    if (this.#table.isUnderWayWith(entry, fingerprint)) {
      if (failure === undefined) this.#table.setStored(entry);
      else this.#table.remove(entry);
    }
    if (this.#waiters.size > 0) this.#wake(fingerprint, failure);
    if (failure !== undefined) {
      for (const session of fingerprint.changed ?? []) this.#changed.add(session);
      return;
    }
    this.#untrimmed += 1;
    if (this.#untrimmed >= limits.duplicateTrimmedAt) void this.trim();
  }

  /** A packet id was used for something else: its last publish cannot be repeated any more. */
  forget(session: RememberedSession, packetId: number): void {
    const at = this.#table.find(session, packetId);
    if (at >= 0) this.#table.remove(at);
  }

  /**
   * Loads the fingerprints that were stored before the start. The hour of sessions whose clients were connected when the
   * service ended begins now, because the service went away, and not they.
   */
  async restore(): Promise<void> {
    const sessions = this.#sessions;
    let session: RememberedSession | undefined;
    const reader = {
      onSession: (user: UserKey, number: number, goneMs: number | undefined) => {
        session = sessions.open(user, number);
        session.goneMs = goneMs;
      },
      onPublish: (packetId: number, h0: number, h1: number, h2: number, h3: number) => {
        if (session !== undefined) this.#table.put({ session, packetId, h0, h1, h2, h3 }, { isStored: true });
      },
    };
    this.#parts.stored.onPublished = (records) => this.learn(records);
    // A damaged block is read up to the damage.
    for (const words of await this.#parts.stored.listFingerprints()) readFingerprints(words, reader);
    const { ms: nowMs, elapsedMs } = this.#now();
    const goneMsOf = ({ goneMs = nowMs }: RememberedSession) => Math.min(goneMs, nowMs);
    for (const gone of [...sessions.all()].sort((a, b) => goneMsOf(a) - goneMsOf(b))) {
      const ms = goneMsOf(gone);
      sessions.setGone(gone, { ms, elapsedMs: elapsedMs - (nowMs - ms) });
      if (isExpired(gone, elapsedMs)) sessions.drop(gone);
    }
    while (sessions.weight > sessions.weightMax && sessions.shrink());
    void this.trim();
  }

  /**
   * Remembers publishes that another process has committed: their client may come here and repeat them. The hour of its session
   * begins anew with each, as if it had gone.
   */
  learn(records: Uint32Array): void {
    const now = this.#now();
    const learned = new Set<RememberedSession>();
    let session: RememberedSession | undefined;
    readFingerprints(records, {
      onSession: (user, number) => {
        session = this.#sessions.open(user, number);
        learned.add(session);
      },
      onPublish: (packetId, h0, h1, h2, h3) => {
        if (session?.isDropped === false) this.#table.put({ session, packetId, h0, h1, h2, h3 }, { isStored: true });
      },
    });
    for (const one of learned) if (!one.isDropped && one.connections === 0) this.#sessions.setGone(one, now);
  }

  /** Deletes fingerprints from the disk that are no longer remembered, once they take more than those that are. */
  async trim(): Promise<void> {
    if (this.#isTrimming) return;
    this.#isTrimming = true;
    this.#untrimmed = 0;
    const words = publishWords * this.#table.count + sessionWords * this.#sessions.size;
    const bytesMax = limits.duplicateDiskBytesMin + 2 * 4 * words;
    // Each fingerprint is kept once: the engine adds the kept ones at the end, and later publishes are in the log anyway.
    const kept: KeptRecords = { entries: new Uint8Array(limits.duplicateMemoryMax), gone: new Set() };
    try {
      await this.#parts.stored.trimFingerprints({ bytesMax, retain: (stored) => this.#retained(stored, kept) });
    } catch {
      // The disk refuses, or the service is stopping: tried again with later publishes.
    } finally {
      this.#isTrimming = false;
    }
  }

  /** Returns the stored records that are still remembered, without those that this trim has returned before. */
  #retained(words: Uint32Array, kept: KeptRecords): Uint32Array {
    const encoder = new FingerprintEncoder(words.length);
    let session: RememberedSession | undefined;
    let isAdded = false;
    readFingerprints(words, {
      onSession: (user, number, goneMs) => {
        session = this.#sessions.find(user, number);
        isAdded = false;
        if (session === undefined || session.count === 0 || goneMs === undefined || kept.gone.has(session)) return;
        kept.gone.add(session);
        // It may be the only record of when its client went.
        encoder.addSession(session);
        isAdded = true;
      },
      onPublish: (packetId, h0, h1, h2, h3) => {
        if (session === undefined) return;
        const at = this.#table.findSame({ session, packetId, h0, h1, h2, h3 });
        if (at < 0 || kept.entries[at] === 1) return;
        kept.entries[at] = 1;
        if (!isAdded) encoder.addSession(session);
        isAdded = true;
        encoder.addPublish(packetId, h0, h1, h2, h3);
      },
    });
    return encoder.build();
  }

  #now(): Moment {
    const { clock } = this.#parts;
    return { ms: clock.now(), elapsedMs: clock.elapsedMs() };
  }

  #wait(fingerprint: Fingerprint, waiter: DuplicateWaiter): void {
    const key = keyOf(fingerprint);
    const waiters = this.#waiters.get(key);
    if (waiters === undefined) this.#waiters.set(key, [waiter]);
    else waiters.push(waiter);
  }

  #wake(fingerprint: Fingerprint, failure: unknown): void {
    const key = keyOf(fingerprint);
    const waiters = this.#waiters.get(key);
    if (waiters === undefined) return;
    this.#waiters.delete(key);
    for (const { resolve, reject } of waiters) {
      if (failure === undefined) resolve();
      else reject(failure);
    }
  }
}

/** What a trim has retained: entries of the table, and sessions with the time when their client went. */
interface KeptRecords {
  readonly entries: Uint8Array;
  readonly gone: Set<RememberedSession>;
}

function keyOf({ session, packetId, h0, h1, h2, h3 }: Fingerprint): string {
  return [session.user, session.number, packetId, h0, h1, h2, h3].join(' ');
}
