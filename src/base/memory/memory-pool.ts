// One bound for the memory of many caches and indexes: each may reach its own bound, but all together only the
// pool's. Beyond it, the fullest cache drops its least recently used entry (I4).

/** A cache or index in the pool. */
export interface PoolMember {
  /** Bytes it holds. */
  readonly weight: number;
  /** Its own bound, in bytes. */
  readonly weightMax: number;
  /**
   * Drops one entry that can be loaded again; returns false when nothing is left to drop. Absent where nothing can be
   * dropped.
   */
  shrink?(): boolean;
}

/** Reports of growth after which the members are asked what they hold, even if the reported sum is within the bound. */
const growthsUnaskedMax = 64;

export class MemoryPool {
  readonly #boundOf: () => number;
  /** Weak references: a part of the service that was closed no longer counts. */
  readonly #members = new Set<WeakRef<PoolMember>>();
  /** Upper bound of what the members hold: their sum when they were last asked, plus the growth reported since. */
  #heldMax = Number.POSITIVE_INFINITY;
  #growthsUnasked = 0;

  /** @param boundOf the bytes that all members may hold, asked each time: it depends on a setting. */
  constructor(boundOf: () => number) {
    this.#boundOf = boundOf;
  }

  join(member: PoolMember): void {
    this.#members.add(new WeakRef(member));
  }

  /** Bytes held by all members. */
  get held(): number {
    let sum = 0;
    for (const { weight } of this.#living()) sum += weight;
    return sum;
  }

  /**
   * Must be called when a member has grown: others may have to shrink.
   * @param grownBytes at least the bytes by which it grew. Asking all members takes longer than most growth, so they
   * are asked only when the reported sum passes the bound, and now and then, because a member may grow without a
   * report.
   */
  makeRoom(grownBytes = Number.POSITIVE_INFINITY): void {
    this.#heldMax += grownBytes;
    this.#growthsUnasked += 1;
    if (this.#heldMax <= this.#boundOf() && this.#growthsUnasked < growthsUnaskedMax) return;
    this.#growthsUnasked = 0;
    this.#heldMax = this.#dropBeyondBound();
  }

  /** @returns the bytes held afterwards. */
  #dropBeyondBound(): number {
    let held = this.held;
    while (held > this.#boundOf()) {
      const fullest = this.#fullest();
      if (fullest === undefined) return held;
      const before = fullest.weight;
      if (fullest.shrink?.() !== true) return held;
      held -= before - fullest.weight;
    }
    return held;
  }

  #fullest(): PoolMember | undefined {
    let fullest: PoolMember | undefined;
    let most = 0;
    for (const member of this.#living()) {
      const part = member.weight / member.weightMax;
      if (member.shrink === undefined || part <= most) continue;
      fullest = member;
      most = part;
    }
    return fullest;
  }

  *#living(): Generator<PoolMember> {
    for (const reference of this.#members) {
      const member = reference.deref();
      if (member === undefined) this.#members.delete(reference);
      else yield member;
    }
  }
}
