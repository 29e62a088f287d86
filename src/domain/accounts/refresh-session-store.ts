// What sessions of web pages need remembered.
import type { UserKey } from '../users/user.ts';

/** What each use of a session changes. */
export interface RefreshSessionUse {
  /** Of the secret as it is now. */
  readonly hash: string;
  /** Of the secret before that. */
  readonly previous: string | undefined;
  /** Milliseconds since 1970 UTC, as are the two that follow. */
  readonly lastUsedMs: number;
  /** When it ends unless it is used before. */
  readonly expiresMs: number;
  /** When it ends however much it is used. */
  readonly endsMs: number;
  /** What the browser says it is; undefined where it says nothing. */
  readonly agent: string | undefined;
  readonly address: string | undefined;
}

export interface RefreshSession extends RefreshSessionUse {
  readonly id: string;
  /** Hash of the part of the secret that stays. */
  readonly family: string;
  readonly user: UserKey;
  readonly passwordVersion: number;
  readonly createdMs: number;
}

export interface RefreshSessionStore {
  find(family: string): Promise<RefreshSession | undefined>;
  findById(id: string): Promise<RefreshSession | undefined>;
  /** Those of a user that are not over at `nowMs`, the one used last first. */
  list(user: UserKey, nowMs: number): Promise<RefreshSession[]>;
  /** Adds one, and removes the user's oldest beyond `max` and all that expired before `nowMs`. */
  create(session: RefreshSession, bounds: { readonly max: number; readonly nowMs: number }): Promise<void>;
  /** Notes a use, unless another one came before it. */
  rotate(family: string, use: RefreshSessionUse): Promise<void>;
  remove(family: string): Promise<void>;
  removeAll(user: UserKey): Promise<void>;
}
