// Counts against bounds that all processes share: an attempt at one process counts at the others, too. Other bounds
// do not need this. Paid messages a day, quotas and the number of keys are counted in the registry, in the commit of
// what they bound; only what a user pushes is counted in memory and stored every few seconds, when each process also
// learns what the others have stored. What a user's MQTT sessions and retained messages take together is counted by
// the engine (mqtt-sessions.ts). Memory, connections, live streams, password hashes at a time, guests' shares, shares
// of strangers on public devices, what may wait for one MQTT session, and the messages that an author makes in a
// minute are bounded in each process; refused calls in a row are counted there.

/** What is counted. Keys are short and reveal neither names nor passwords. */
export type CountKind =
  | 'failed-logins'
  | 'registrations'
  | 'registrations-by-address'
  | 'account-mails'
  | 'account-mails-by-address'
  | 'renames'
  | 'renames-by-user';

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

/** A count with its bound: at most `max` in a window that begins with the first. */
export interface BoundedCount extends CountKey {
  readonly max: number;
  readonly windowMs: number;
}

export interface SharedCounts {
  find(key: CountKey): Promise<Count | undefined>;
  /** Adds one. Starts again from zero if the last one was more than `forgetAfterMs` ago. */
  add(key: CountKey, options: { readonly forgetAfterMs: number }): Promise<void>;
  /**
   * Adds one to each count, or to none where one has reached its bound.
   * @returns the first count that has reached its bound; undefined: all were counted.
   */
  take(counts: readonly BoundedCount[]): Promise<Count | undefined>;
  remove(key: CountKey): Promise<void>;
}
