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

export class MemoryPool {
  readonly #bytesMax: number;
  /** Weak references: a part of the service that was closed no longer counts. */
  readonly #members = new Set<WeakRef<PoolMember>>();

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

  /** Call it when a member has grown: others may have to shrink. */
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
