// Tells whoever follows alarms live, in this process and in others, that some have changed; what has changed they read from
// the store. Many changes within a moment are told once.
import type { Announcer } from '../ports/coordination.ts';

export class AlarmChanges {
  readonly #coordination: Announcer;
  readonly #listeners = new Set<() => void>();
  #isTelling = false;

  constructor(parts: { readonly coordination: Announcer }) {
    this.#coordination = parts.coordination;
  }

  /** Adds a listener; the returned function removes it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Call when a change is stored. */
  changed(): void {
    this.follow();
    if (this.#isTelling) return;
    this.#isTelling = true;
    // A process that is not reached reads what it missed with its next heartbeat.
    const told = this.#coordination.announce({ kind: 'alarms-changed' }).catch(() => {});
    void told.then(() => {
      this.#isTelling = false;
    });
  }

  /** Alarms were changed by another process. */
  follow(): void {
    for (const listener of this.#listeners) listener();
  }
}
