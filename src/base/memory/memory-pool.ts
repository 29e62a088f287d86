// One bound for the memory of many caches and indexes: each may reach its own bound, and all together the pool's.
// Beyond that the fullest cache drops its least recently used entry (I4).

/** A cache or index in the pool. */
export interface PoolMember {
  /** Bytes it holds. */
  readonly weight: number;
  /** Its own bound, in bytes. */
  readonly weightMax: number;
  /** Drops a little that can be loaded again; absent where nothing can be dropped. False where nothing is left. */
  shrink?(): boolean;
}

/** Growths that members may report before they are asked again what they hold. */
const growthsUnaskedMax = 64;

export class MemoryPool {
  readonly #bytesMax: number;
  /** Weak references: a part of the service that was closed no longer counts. */
  readonly #members = new Set<WeakRef<PoolMember>>();
  /** At most what the members held when they were last asked, and what they said since that they grew by. */
  #heldMax = Number.POSITIVE_INFINITY;
  #growthsUnasked = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
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
   * Call it when a member has grown: others may have to shrink.
   * @param grownBytes at least what it grew by. The members are asked only when the sum of this might pass the bound, and
   *   now and then, because a member may grow without a call: asking takes longer than most of what makes one grow.
   */
  makeRoom(grownBytes = Number.POSITIVE_INFINITY): void {
    this.#heldMax += grownBytes;
    this.#growthsUnasked += 1;
    if (this.#heldMax <= this.#bytesMax && this.#growthsUnasked < growthsUnaskedMax) return;
    this.#growthsUnasked = 0;
    this.#heldMax = this.#dropBeyondBound();
  }

  /** @returns what is held then. */
  #dropBeyondBound(): number {
    let held = this.held;
    while (held > this.#bytesMax) {
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
