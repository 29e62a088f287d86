// Computes fingerprints of publishes: a hash of 128 bits over topic, part and payload (MurmurHash3_x86_128, Austin
// Appleby, public domain). It need not withstand an attacker: a session is compared with itself alone, so that whoever
// makes two of their own publishes collide loses one of their own.
import { createHash } from 'node:crypto';
import type { ContentHash, PublishFingerprint } from '../../domain/datapoints/publish-fingerprint.ts';
import type { RememberedSession } from './remembered-sessions.ts';

/** A class, because one is made for each publish, and all then have the same hidden class. */
export class Fingerprint implements PublishFingerprint {
  readonly session: RememberedSession;
  readonly packetId: number;
  readonly h0: number;
  readonly h1: number;
  readonly h2: number;
  readonly h3: number;
  /** Its entry in the table; -1 where it has none. */
  entry = -1;
  changed: readonly RememberedSession[] | undefined = undefined;

  /** Takes the hash that was computed last. */
  constructor(session: RememberedSession, packetId: number) {
    this.session = session;
    this.packetId = packetId;
    this.h0 = hashed0;
    this.h1 = hashed1;
    this.h2 = hashed2;
    this.h3 = hashed3;
  }
}

/** Identifies a session of a user among theirs: 48 bits. */
export function sessionNumber(userId: string, clientId: string): number {
  return createHash('sha256').update(`${userId}\0${clientId}`).digest().readUIntBE(0, 6);
}

/** @param topic without the leading slash, so that both forms give the same. */
export function topicHash(topic: string): ContentHash {
  const bytes = Buffer.from(topic);
  hash(bytes, 0, bytes.length, { h0: 0, h1: 0, h2: 0, h3: 0 }, 0);
  return { h0: hashed0, h1: hashed1, h2: hashed2, h3: hashed3 };
}

/**
 * The fingerprint of a publish. `part` is the key of the sensor or actuator: one that was removed and created again
 * differs.
 */
export function publishFingerprint(
  session: RememberedSession,
  packetId: number,
  topic: ContentHash,
  content: { readonly part: number; readonly bytes: Uint8Array; readonly start: number; readonly end: number },
): Fingerprint {
  const { part, bytes, start, end } = content;
  hash(bytes, start, end, topic, part);
  return new Fingerprint(session, packetId);
}

// What `hash` has computed: an object for each would cost as much as the hash of a short payload.
let hashed0 = 0;
let hashed1 = 0;
let hashed2 = 0;
let hashed3 = 0;

const c1 = 0x239b961b;
const c2 = 0xab0e9789;
const c3 = 0x38b34ae5;
const c4 = 0xa1e38b93;

function hash(bytes: Uint8Array, start: number, end: number, seed: ContentHash, part: number): void {
  let h0 = seed.h0 ^ Math.imul(part, c1);
  let h1 = seed.h1 ^ (part > 0xffff_ffff ? Math.floor(part / 2 ** 32) : 0);
  let { h2, h3 } = seed;
  let at = start;
  for (; at + 16 <= end; at += 16) {
    h0 ^= scramble(wordAt(bytes, at), c1, 15, c2);
    h0 = (Math.imul(rotated(h0, 19) + h1, 5) + 0x561ccd1b) | 0;
    h1 ^= scramble(wordAt(bytes, at + 4), c2, 16, c3);
    h1 = (Math.imul(rotated(h1, 17) + h2, 5) + 0x0bcaa747) | 0;
    h2 ^= scramble(wordAt(bytes, at + 8), c3, 17, c4);
    h2 = (Math.imul(rotated(h2, 15) + h3, 5) + 0x96cd1c35) | 0;
    h3 ^= scramble(wordAt(bytes, at + 12), c4, 18, c1);
    h3 = (Math.imul(rotated(h3, 13) + h0, 5) + 0x32ac3b17) | 0;
  }
  h0 ^= scramble(lastWordAt(bytes, at, end), c1, 15, c2);
  h1 ^= scramble(lastWordAt(bytes, at + 4, end), c2, 16, c3);
  h2 ^= scramble(lastWordAt(bytes, at + 8, end), c3, 17, c4);
  h3 ^= scramble(lastWordAt(bytes, at + 12, end), c4, 18, c1);
  finish(h0, h1, h2, h3, end - start);
}

function finish(h0: number, h1: number, h2: number, h3: number, length: number): void {
  const sum = (h0 ^ length) + (h1 ^ length) + (h2 ^ length) + (h3 ^ length);
  const a = mixed(sum | 0);
  const b = mixed(((h1 ^ length) + sum) | 0);
  const c = mixed(((h2 ^ length) + sum) | 0);
  const d = mixed(((h3 ^ length) + sum) | 0);
  const all = (a + b + c + d) | 0;
  hashed0 = all;
  hashed1 = (b + all) | 0;
  hashed2 = (c + all) | 0;
  hashed3 = (d + all) | 0;
}

function scramble(word: number, multiplier: number, bits: number, second: number): number {
  return Math.imul(rotated(Math.imul(word, multiplier), bits), second);
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function mixed(word: number): number {
  let h = word;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

/** As `wordAt`, with zeros behind the end. */
function lastWordAt(bytes: Uint8Array, at: number, end: number): number {
  let word = 0;
  for (let n = Math.min(end, at + 4) - 1; n >= at; n--) word = (word << 8) | (bytes[n] as number);
  return word;
}
