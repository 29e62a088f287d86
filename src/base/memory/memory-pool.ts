// One bound for the memory of many caches and indexes: each may be as large as its own bound says, and all together as large
// as the pool. Where they would be larger, the cache that is fullest forgets what it used longest ago (I4).

/** Something that holds memory of the pool. */
export interface PoolMember {
  /** Bytes that it holds. */
  readonly weight: number;
  /** Bytes that it may hold by its own bound. */
  readonly weightMax: number;
  /** Lets go of a little, of what can be had again; absent where nothing can. False where nothing is left. */
  shrink?(): boolean;
}

export class MemoryPool {
  readonly #bytesMax: number;
  /** Held weakly: a part of the service that has ended has no memory any more. */
  readonly #members = new Set<WeakRef<PoolMember>>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  join(member: PoolMember): void {
    this.#members.add(new WeakRef(member));
  }

  /** Bytes that all of them hold. */
  get held(): number {
    let sum = 0;
    for (const { weight } of this.#living()) sum += weight;
    return sum;
  }

  /** To be called when a member has grown: others may have to shrink. */
  makeRoom(): void {
    let held = this.held;
    while (held > this.#bytesMax) {
      const fullest = this.#fullest();
      if (fullest === undefined) return;
      const before = fullest.weight;
      if (fullest.shrink?.() !== true) return;
      held -= before - fullest.weight;
    }
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
