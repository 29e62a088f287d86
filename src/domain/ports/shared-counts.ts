// Counts against bounds that all processes share: what a caller tries at one process counts at the others. Other bounds need
// none. Paid messages a day, quotas and the number of keys are counted in the registry, in the commit of what they bound.
// Memory, connections, live streams, password hashes at a time, guests' shares and the messages that an author makes in a
// minute are bounded in each process.

/** What is counted. Keys are short, and tell nothing of names or passwords. */
export type CountKind = 'failed-logins' | 'registrations' | 'registrations-by-address';

export interface CountKey {
  readonly kind: CountKind;
  readonly key: string;
}

export interface Count {
  readonly count: number;
  /** When the first was counted, and the last, in milliseconds since 1970 UTC. */
  readonly sinceMs: number;
  readonly lastMs: number;
}

/** A count with its bound: so many in a window that begins with the first. */
export interface BoundedCount extends CountKey {
  readonly max: number;
  readonly windowMs: number;
}

export interface SharedCounts {
  find(key: CountKey): Promise<Count | undefined>;
  /** Counts one more; begins at one where the last was more than `forgetAfterMs` ago. */
  add(key: CountKey, options: { readonly forgetAfterMs: number }): Promise<void>;
  /**
   * Counts one more on each, or on none where one is full.
   * @returns the first that is full; undefined: all were counted.
   */
  take(counts: readonly BoundedCount[]): Promise<Count | undefined>;
  remove(key: CountKey): Promise<void>;
}
