// Tells a repeated PUBLISH from a new one (contract 8). A repeat has DUP set, and packet id, topic and payload all
// equal what the session last published under that packet id. The memory is bounded, holds for a named window, and is
// written in the datapoint's own commit, so that it survives a crash. In doubt: not a repeat.
import { createHash } from 'node:crypto';
import type { PublishFingerprint } from '../domain/datapoints/datapoint-batch.ts';
import type { StoredFingerprint } from '../domain/ports/commit-log.ts';

/** Publishes of one place in the table: a slot can stand in any of them, and the oldest gives way. */
const ways = 8;
const underWay = Number.POSITIVE_INFINITY;

interface DuplicateWaiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class DuplicateDetector {
  readonly #windowMs: number;
  /** Places of the table less one; a power of two less one. */
  readonly #mask: number;
  readonly #slots: Float64Array;
  readonly #contents: Float64Array;
  /** When each was stored; `underWay` while its commit is. */
  readonly #times: Float64Array;
  /** Repeats of publishes whose commit is under way, by slot. Bounded by the packets taken in at once. */
  readonly #waiters = new Map<number, DuplicateWaiter[]>();

  constructor(options: { readonly max: number; readonly windowMs: number }) {
    this.#windowMs = options.windowMs;
    const places = 2 ** Math.ceil(Math.log2(Math.max(1, options.max / ways)));
    this.#mask = places - 1;
    this.#slots = new Float64Array(places * ways).fill(Number.NaN);
    this.#contents = new Float64Array(places * ways);
    this.#times = new Float64Array(places * ways).fill(Number.NEGATIVE_INFINITY);
  }

  /** Takes over what was remembered before the start. */
  restore(publishes: Iterable<StoredFingerprint>): void {
    for (const publish of publishes) this.#put(publish, publish.atMs);
  }

  /** The commit of the publish that this one repeats: done already, or under way. Undefined: it is new. */
  find(fingerprint: PublishFingerprint, nowMs: number): Promise<void> | undefined {
    const at = this.#find(fingerprint.slot);
    if (at < 0 || this.#contents[at] !== fingerprint.content) return undefined;
    const timeMs = this.#times[at] as number;
    if (timeMs === underWay) return new Promise((resolve, reject) => this.#wait(fingerprint.slot, { resolve, reject }));
    return nowMs - timeMs <= this.#windowMs ? Promise.resolve() : undefined;
  }

  /** Notes that the commit of a publish is under way. */
  begin(fingerprint: PublishFingerprint): void {
    this.#put(fingerprint, underWay);
  }

  /** Notes what became of it: stored, or not for this reason. */
  end(fingerprint: PublishFingerprint, nowMs: number, failure?: unknown): void {
    const at = this.#find(fingerprint.slot);
    // Another publish may have taken its place.
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

  /** The first of the eight places where a slot can stand. */
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

/** A number for a session (36 bits), to be joined with packet ids. */
export function sessionNumber(userId: string, clientId: string): number {
  return createHash('sha256').update(`${userId}\0${clientId}`).digest().readUIntBE(0, 6) % 2 ** 36;
}

/** The part of a topic in what names a publish; made once for many messages. */
export interface TopicSeeds {
  readonly first: number;
  readonly second: number;
}

/** @param topic without the leading slash, so that both forms are one. */
export function seedsOf(topic: string): TopicSeeds {
  const bytes = Buffer.from(topic);
  return mix(bytes, 0, bytes.length, 0x811c9dc5 ^ bytes.length, 0x2545f491);
}

/**
 * Names what a session published under a packet id: two numbers that doubles hold exactly, the second 52 bits over
 * topic, part and payload. `part` numbers the sensor or actuator: one that was removed and made again is another.
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

/** Two sums over the bytes that do not follow from each other, so that one alone does not decide. */
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
