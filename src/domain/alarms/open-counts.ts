// The open alarms of one kind, by what they are about, and how many of them each user has.
import type { UserKey } from '../users/user.ts';

export interface OpenEntry {
  readonly keeper: UserKey | undefined;
  readonly sinceMs: number;
}

export class OpenCounts<Key> {
  readonly #open = new Map<Key, OpenEntry>();
  readonly #counts = new Map<UserKey, number>();

  add(key: Key, keeper: UserKey | undefined, sinceMs: number): void {
    this.delete(key);
    this.#open.set(key, { keeper, sinceMs });
    if (keeper !== undefined) this.#counts.set(keeper, this.countOf(keeper) + 1);
  }

  delete(key: Key): void {
    const keeper = this.#open.get(key)?.keeper;
    if (!this.#open.delete(key) || keeper === undefined) return;
    const left = this.countOf(keeper) - 1;
    if (left > 0) this.#counts.set(keeper, left);
    else this.#counts.delete(keeper);
  }

  get(key: Key): OpenEntry | undefined {
    return this.#open.get(key);
  }

  has(key: Key): boolean {
    return this.#open.has(key);
  }

  countOf(keeper: UserKey): number {
    return this.#counts.get(keeper) ?? 0;
  }

  entries(): Iterable<readonly [Key, OpenEntry]> {
    return this.#open.entries();
  }

  clear(): void {
    this.#open.clear();
    this.#counts.clear();
  }
}
