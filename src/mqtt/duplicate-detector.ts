// Tells a repeated PUBLISH from a new one (contract 8). A repeat has DUP set, and its packet id, topic and payload
// equal those of the session's last publish under that packet id. The memory is bounded in size and time, and stored in
// the datapoint's own commit, so that it survives a crash. In doubt a publish is new.
import { createHash } from 'node:crypto';
import type { PublishFingerprint } from '../domain/datapoints/datapoint-batch.ts';
import type { StoredFingerprint } from '../domain/ports/commit-log.ts';

/** The table is 8-way associative: a fingerprint may be in any of 8 entries, and replaces the oldest. */
const ways = 8;
const underWay = Number.POSITIVE_INFINITY;

interface DuplicateWaiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class DuplicateDetector {
  readonly #windowMs: number;
  /** Number of sets in the table minus one; a power of two minus one. */
  readonly #mask: number;
  readonly #slots: Float64Array;
  readonly #contents: Float64Array;
  /** When each was stored; `underWay` until its commit has ended. */
  readonly #times: Float64Array;
  /** By slot: repeats that wait for the commit of the first. Bounded by the packets accepted at once. */
  readonly #waiters = new Map<number, DuplicateWaiter[]>();

  constructor(options: { readonly max: number; readonly windowMs: number }) {
    this.#windowMs = options.windowMs;
    const places = 2 ** Math.ceil(Math.log2(Math.max(1, options.max / ways)));
    this.#mask = places - 1;
    this.#slots = new Float64Array(places * ways).fill(Number.NaN);
    this.#contents = new Float64Array(places * ways);
    this.#times = new Float64Array(places * ways).fill(Number.NEGATIVE_INFINITY);
  }

  /** Loads the fingerprints stored before the start. */
  restore(publishes: Iterable<StoredFingerprint>): void {
    for (const publish of publishes) this.#put(publish, publish.atMs);
  }

  /** The commit of the publish that this one repeats, which may have ended. Undefined: this one is new. */
  find(fingerprint: PublishFingerprint, nowMs: number): Promise<void> | undefined {
    const at = this.#find(fingerprint.slot);
    if (at < 0 || this.#contents[at] !== fingerprint.content) return undefined;
    const timeMs = this.#times[at] as number;
    if (timeMs === underWay) return new Promise((resolve, reject) => this.#wait(fingerprint.slot, { resolve, reject }));
    return nowMs - timeMs <= this.#windowMs ? Promise.resolve() : undefined;
  }

  /** The commit of a publish begins. */
  begin(fingerprint: PublishFingerprint): void {
    this.#put(fingerprint, underWay);
  }

  /** The commit of a publish has ended; with `failure` it was not stored. */
  end(fingerprint: PublishFingerprint, nowMs: number, failure?: unknown): void {
    const at = this.#find(fingerprint.slot);
    // Another publish may have replaced it in the table.
    if (at < 0 || this.#contents[at] !== fingerprint.content || this.#times[at] !== underWay) return;
    if (failure === undefined) this.#times[at] = nowMs;
    else this.#clear(at);
    if (this.#waiters.size > 0) this.#wake(fingerprint.slot, failure);
  }

  #put(fingerprint: PublishFingerprint, timeMs: number): void {
    const known = this.#find(fingerprint.slot);
    const at = known >= 0 ? known : this.#oldest(fingerprint.slot);
    this.#slots[at] = fingerprint.slot;
    this.#contents[at] = fingerprint.content;
    this.#times[at] = timeMs;
  }

  #clear(at: number): void {
    this.#slots[at] = Number.NaN;
    this.#times[at] = Number.NEGATIVE_INFINITY;
  }

  #find(slot: number): number {
    const first = this.#place(slot);
    for (let at = first; at < first + ways; at++) if (this.#slots[at] === slot) return at;
    return -1;
  }

  #oldest(slot: number): number {
    const first = this.#place(slot);
    let oldest = first;
    for (let at = first + 1; at < first + ways; at++) {
      if ((this.#times[at] as number) < (this.#times[oldest] as number)) oldest = at;
    }
    return oldest;
  }

  /** The first of the eight entries where a slot may be. */
  #place(slot: number): number {
    const low = slot >>> 0;
    let hash = Math.imul(low ^ Math.imul(Math.floor(slot / 2 ** 32), 0x9e3779b1), 0x85ebca6b);
    hash ^= hash >>> 15;
    return ((Math.imul(hash, 0xc2b2ae35) >>> 7) & this.#mask) * ways;
  }

  #wait(slot: number, waiter: DuplicateWaiter): void {
    const waiters = this.#waiters.get(slot);
    if (waiters === undefined) this.#waiters.set(slot, [waiter]);
    else waiters.push(waiter);
  }

  #wake(slot: number, failure: unknown): void {
    const waiters = this.#waiters.get(slot);
    if (waiters === undefined) return;
    this.#waiters.delete(slot);
    for (const { resolve, reject } of waiters) {
      if (failure === undefined) resolve();
      else reject(failure);
    }
  }
}

/** Identifies a session by 36 bits, to be combined with a packet id. */
export function sessionNumber(userId: string, clientId: string): number {
  return createHash('sha256').update(`${userId}\0${clientId}`).digest().readUIntBE(0, 6) % 2 ** 36;
}

/** The part of a fingerprint that depends on the topic; computed once for many messages. */
export interface TopicSeeds {
  readonly first: number;
  readonly second: number;
}

/** @param topic without the leading slash, so that both forms give the same. */
export function seedsOf(topic: string): TopicSeeds {
  const bytes = Buffer.from(topic);
  return mix(bytes, 0, bytes.length, 0x811c9dc5 ^ bytes.length, 0x2545f491);
}

/**
 * The fingerprint of a publish: two integers that doubles hold exactly, the second with 52 bits over topic, part and
 * payload. `part` is the key of the sensor or actuator: one that was removed and created again differs.
 */
export function publishFingerprint(
  session: number,
  packetId: number,
  seeds: TopicSeeds,
  content: { readonly part: number; readonly bytes: Uint8Array; readonly start: number; readonly end: number },
): PublishFingerprint {
  const { part, bytes, start, end } = content;
  const { first, second } = mix(bytes, start, end, seeds.first ^ Math.imul(part, 0x9e3779b1), seeds.second);
  return { slot: session * 65_536 + packetId, content: (first >>> 0) * 0x100000 + (second >>> 12) };
}

/** Two independent checksums over the bytes. */
function mix(bytes: Uint8Array, start: number, end: number, first: number, second: number): TopicSeeds {
  let a = first;
  let b = second;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b + byte, 0x85ebca6b) ^ (b >>> 13);
  }
  return { first: a, second: b };
}
