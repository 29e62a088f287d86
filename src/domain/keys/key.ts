// An API key, which lets a machine act for its owner, restricted to scopes and devices (contract 2).
import { noScopes, type ScopeName, type ScopeSet, scopeNames, scopesOn } from '../scopes.ts';
import type { KeyScopes, User, UserKey } from '../users/user.ts';

/** The scopes that a key may have: those of contract 3, reading metrics, and acting as admin. */
export const keyScopeNames = [...scopeNames, 'metrics:view', 'admin'] as const;
export type KeyScopeName = ScopeName | 'metrics:view' | 'admin';

/** A key to be created. */
export interface KeyDraft {
  readonly name: string;
  /** Undefined: all of its owner's scopes, without `admin`. */
  readonly scopes?: readonly KeyScopeName[] | undefined;
  /** The only devices it may access, by id; undefined: all. */
  readonly devices?: readonly string[] | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly expiresMs?: number | undefined;
}

export interface ApiKey extends KeyDraft {
  readonly id: string;
  readonly owner: UserKey;
  readonly dateCreatedMs: number;
  /** When it was last used, to the minute, in milliseconds since 1970 UTC. */
  readonly lastUsedMs?: number | undefined;
}

const allScopes: ScopeSet = scopesOn.device | scopesOn.gateway | scopesOn.project;

/** How the key restricts its owner's rights. */
export function keyScopesOf({ id, scopes, devices }: ApiKey, owner: User): KeyScopes {
  const admin = scopes?.includes('admin') === true;
  const metrics = scopes?.includes('metrics:view') === true && owner.admin;
  const named = (scopes ?? []).reduce((set: ScopeSet, name) => set | bitOf(name), noScopes);
  // A key restricted to devices may access gateways and projects only where their scopes are named.
  const unnamed = devices === undefined ? allScopes : scopesOn.device;
  // A key for metrics alone may not access any record.
  const isForRecords = scopes === undefined || scopes.some((name) => name !== 'metrics:view');
  return {
    keyId: id,
    admin,
    metrics,
    scopes: named === noScopes && isForRecords ? unnamed : named,
    devices: devices === undefined ? undefined : new Set(devices),
    whole: named === noScopes && isForRecords && devices === undefined && (admin || !owner.admin),
  };
}

function bitOf(name: KeyScopeName): ScopeSet {
  const bit = (scopeNames as readonly string[]).indexOf(name);
  return bit < 0 ? noScopes : 1 << bit;
}
