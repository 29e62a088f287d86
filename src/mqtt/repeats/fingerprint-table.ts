// The table of remembered publishes: the last of each session under each packet id. 8-way associative, in typed arrays: a
// publish may be in any of 8 entries, and where all are taken it replaces one of the user with the most, and among theirs
// one of the session with the most: so nobody can use up what others need (I4).
import type { RememberedSession } from './remembered-sessions.ts';

/** The fingerprint of a publish: session, packet id and a hash of 128 bits in four words. */
interface TableFingerprint {
  readonly session: RememberedSession;
  readonly packetId: number;
  readonly h0: number;
  readonly h1: number;
  readonly h2: number;
  readonly h3: number;
}

const ways = 8;
const hashWords = 4;
/** The bit of a publish's number that says that its commit has not ended. */
const underWay = 0x8000_0000;
const numberMask = 0x7fff_ffff;

/** Bytes of an entry. */
export const entryBytes = 4 + 2 + 4 + hashWords * 4;

export class FingerprintTable {
  /** Number of sets in the table minus one; a power of two minus one. */
  readonly #mask: number;
  /** By entry: the slot of its session; 0 where it is empty. */
  readonly #slots: Uint32Array;
  readonly #packetIds: Uint16Array;
  readonly #hashes: Int32Array;
  /**
   * By entry: the number of the publish among those of its slot. An entry with a lower number than the session's `first`
   * is free: so a session is forgotten without a look at the table.
   */
  readonly #numbers: Uint32Array;
  /** By slot. */
  readonly #sessions: (RememberedSession | undefined)[] = [undefined];
  /** Slots that no session has, and the last number used with each. */
  readonly #freeSlots: { readonly slot: number; readonly last: number }[] = [];
  #count = 0;

  /** @param max entries, rounded up to a power of two. */
  constructor(max: number) {
    const sets = 2 ** Math.ceil(Math.log2(Math.max(1, max / ways)));
    this.#mask = sets - 1;
    this.#slots = new Uint32Array(sets * ways);
    this.#packetIds = new Uint16Array(sets * ways);
    this.#hashes = new Int32Array(sets * ways * hashWords);
    this.#numbers = new Uint32Array(sets * ways);
  }

  /** Publishes remembered. */
  get count(): number {
    return this.#count;
  }

  /** The entry of a session's last publish under a packet id; -1 where there is none. */
  find({ slot, tableOffset, first }: RememberedSession, packetId: number): number {
    if (slot === 0) return -1;
    const start = this.#startOf(tableOffset, packetId);
    for (let at = start; at < start + ways; at++) {
      if (this.#slots[at] !== slot || this.#packetIds[at] !== packetId) continue;
      if (((this.#numbers[at] as number) & numberMask) >= first) return at;
    }
    return -1;
  }

  /** The entry of a publish that is the same; -1 where there is none. */
  findSame(fingerprint: TableFingerprint): number {
    const at = this.find(fingerprint.session, fingerprint.packetId);
    return at >= 0 && this.#hasHash(at, fingerprint) ? at : -1;
  }

  /** Whether an entry that `put` returned still has this publish, and its commit has not ended. */
  isUnderWayWith(at: number, fingerprint: TableFingerprint): boolean {
    if (at < 0 || this.#slots[at] !== fingerprint.session.slot || !this.isUnderWay(at)) return false;
    return this.#packetIds[at] === fingerprint.packetId && this.#hasHash(at, fingerprint);
  }

  isUnderWay(at: number): boolean {
    return (this.#numbers[at] as number) >= underWay;
  }

  /** The commit of an entry's publish has ended. */
  setStored(at: number): void {
    this.#numbers[at] = (this.#numbers[at] as number) & numberMask;
  }

  /**
   * Takes the place of the session's last publish under the packet id.
   * @returns the entry; -1 where there is no room, and the publish is not remembered.
   */
  put(fingerprint: TableFingerprint, { isStored }: { readonly isStored: boolean }): number {
    const { session, packetId } = fingerprint;
    if (session.slot === 0 || session.last === numberMask) this.#give(session);
    let at = this.find(session, packetId);
    if (at < 0) {
      at = this.#entryFor(session, packetId);
      if (at < 0) return at;
      if (this.#slots[at] !== 0) this.remove(at);
      this.#add(session, 1);
    }
    session.last += 1;
    this.#slots[at] = session.slot;
    this.#packetIds[at] = packetId;
    this.#numbers[at] = isStored ? session.last : session.last | underWay;
    const from = at * hashWords;
    this.#hashes[from] = fingerprint.h0;
    this.#hashes[from + 1] = fingerprint.h1;
    this.#hashes[from + 2] = fingerprint.h2;
    this.#hashes[from + 3] = fingerprint.h3;
    const { holder } = session;
    if (holder.count > holder.countMax && session.count > holder.sessionPart) this.#cut(session);
    return at;
  }

  /** Empties an entry. */
  remove(at: number): void {
    const session = this.#sessions[this.#slots[at] as number];
    if (session !== undefined && ((this.#numbers[at] as number) & numberMask) >= session.first) this.#add(session, -1);
    this.#slots[at] = 0;
  }

  /** Forgets all publishes of a session. */
  forget(session: RememberedSession): void {
    const { slot, last } = session;
    if (slot === 0) return;
    this.#add(session, -session.count);
    this.#sessions[slot] = undefined;
    // Beyond half of the numbers a slot is used no more: numbers must not come again.
    if (last < numberMask / 2) this.#freeSlots.push({ slot, last });
    session.slot = 0;
  }

  #hasHash(at: number, { h0, h1, h2, h3 }: TableFingerprint): boolean {
    const hashes = this.#hashes;
    const from = at * hashWords;
    return hashes[from] === h0 && hashes[from + 1] === h1 && hashes[from + 2] === h2 && hashes[from + 3] === h3;
  }

  #give(session: RememberedSession): void {
    this.forget(session);
    const free = this.#freeSlots.pop() ?? { slot: this.#sessions.length, last: 0 };
    session.slot = free.slot;
    session.last = free.last;
    session.first = free.last + 1;
    this.#sessions[free.slot] = session;
  }

  /** Keeps only a session's newest publishes: half as many as its part of the user's quota allows. */
  #cut(session: RememberedSession): void {
    const kept = Math.ceil(session.holder.sessionPart / 2);
    session.first = Math.max(session.first, session.last - kept + 1);
    this.#add(session, kept - session.count);
  }

  #add(session: RememberedSession, count: number): void {
    session.count += count;
    session.holder.count += count;
    this.#count += count;
  }

  /** A free entry for a publish, or the one that it replaces; -1 where it may replace none. */
  #entryFor(session: RememberedSession, packetId: number): number {
    const start = this.#startOf(session.tableOffset, packetId);
    let found = -1;
    let owner: RememberedSession | undefined;
    for (let at = start; at < start + ways; at++) {
      const other = this.#sessions[this.#slots[at] as number];
      const publish = this.#numbers[at] as number;
      if (other === undefined || (publish & numberMask) < other.first) return at;
      if (publish >= underWay) continue;
      if (owner !== undefined && !this.#goesBefore(at, other, found, owner)) continue;
      found = at;
      owner = other;
    }
    return owner !== undefined && mayTake(session, owner) ? found : -1;
  }

  /**
   * True if entry `at` is replaced before entry `other`: first the user with more entries, then the session with more,
   * then the older publish.
   */
  #goesBefore(at: number, session: RememberedSession, other: number, owner: RememberedSession): boolean {
    if (session.holder !== owner.holder) return session.holder.count > owner.holder.count;
    if (session !== owner) return session.count > owner.count;
    return (this.#numbers[at] as number) < (this.#numbers[other] as number);
  }

  /**
   * The first of the eight entries where a publish may be. Consecutive packet ids fall into consecutive sets, so the sets
   * fill evenly.
   */
  #startOf(tableOffset: number, packetId: number): number {
    return ((tableOffset + packetId) & this.#mask) * ways;
  }
}

/** Whether a session may take an entry of another. A user, or a session, with far more may not take from who has little. */
function mayTake(session: RememberedSession, owner: RememberedSession): boolean {
  if (session.holder !== owner.holder) return session.holder.count <= 2 * owner.holder.count;
  return session === owner || session.count <= 2 * owner.count;
}
