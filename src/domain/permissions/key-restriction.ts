// Restricts a user's rights to those of an API key: a part of the permission function (I6), for every kind of record.
// Called by permission.ts alone, so that every protocol passes it.

import { noScopes, type RecordKind, type ScopeSet, scopesOn } from '../scopes.ts';
import type { Actor } from '../users/user.ts';

/** The scopes that remain of those held on a record; all of them without an API key. */
export function restrictedToKey(
  { keyScopes }: Actor,
  record: { readonly kind: RecordKind; readonly id: string },
  held: ScopeSet,
): ScopeSet {
  if (keyScopes === undefined) return held;
  if (record.kind === 'device' && keyScopes.devices?.has(record.id) === false) return noScopes;
  return held & keyScopes.scopes;
}

/** The same for a list: the scopes that remain, and the only ids that count. */
export function audienceOfKey(
  { keyScopes }: Actor,
  wanted: ScopeSet,
): { readonly wanted: ScopeSet; readonly only?: readonly string[] } {
  if (keyScopes === undefined) return { wanted };
  const left = wanted & keyScopes.scopes;
  const isOfDevices = (wanted & scopesOn.device) !== 0;
  return isOfDevices && keyScopes.devices !== undefined
    ? { wanted: left, only: [...keyScopes.devices] }
    : { wanted: left };
}
