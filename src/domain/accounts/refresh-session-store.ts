// The store of refresh sessions, as the domain needs it; engines implement it.
import type { UserKey } from '../users/user.ts';

/** The fields that each use of a session changes. */
export interface RefreshSessionUse {
  /** Hash of the present secret. */
  readonly hash: string;
  /** Hash of the secret before it. */
  readonly previous: string | undefined;
  /** When the session was last used, in milliseconds since 1970 UTC, like the next two fields. */
  readonly lastUsedMs: number;
  /** When the session ends unless it is used before. */
  readonly expiresMs: number;
  /** When the session ends even if it is used. */
  readonly endsMs: number;
  /** The browser's User-Agent; undefined where it sends none. */
  readonly agent: string | undefined;
  readonly address: string | undefined;
}

export interface RefreshSession extends RefreshSessionUse {
  readonly id: string;
  /** Hash of the constant part of the secret. */
  readonly family: string;
  readonly user: UserKey;
  readonly passwordVersion: number;
  readonly createdMs: number;
}

export interface RefreshSessionStore {
  find(family: string): Promise<RefreshSession | undefined>;
  findById(id: string): Promise<RefreshSession | undefined>;
  /** The user's sessions that have not ended at `nowMs`, the last used first. */
  list(user: UserKey, nowMs: number): Promise<RefreshSession[]>;
  /** Adds a session; removes the user's oldest ones beyond `max`, and all that expired before `nowMs`. */
  create(session: RefreshSession, bounds: { readonly max: number; readonly nowMs: number }): Promise<void>;
  /** Stores a use, unless another use was stored before it. */
  rotate(family: string, use: RefreshSessionUse): Promise<void>;
  remove(family: string): Promise<void>;
  removeAll(user: UserKey): Promise<void>;
}
