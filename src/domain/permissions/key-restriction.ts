// Restricts a user's rights to those of an API key, as a part of the permission function (I6), for every kind of
// record. Called by permission.ts alone, so that no protocol can bypass it.

import { noScopes, type RecordKind, type ScopeSet, scopesOn } from '../scopes.ts';
import type { Actor } from '../users/user.ts';

/** A record to which a key may be restricted. */
interface KeyedRecord {
  readonly kind: RecordKind;
  readonly id: string;
  readonly formerIds?: readonly { readonly id: string }[];
}

/** The scopes held on a record that the API key leaves; all of them without a key. */
export function restrictedToKey({ keyScopes }: Actor, record: KeyedRecord, held: ScopeSet): ScopeSet {
  if (keyScopes === undefined) return held;
  if (record.kind === 'device' && keyScopes.devices !== undefined && !names(keyScopes.devices, record)) return noScopes;
  return held & keyScopes.scopes;
}

/**
 * Whether a key of these devices reaches the record: by its id, or by a former id that no other device has taken. Keys of users
 * other than the owner keep naming the former id, and so does the key of a connection that was opened before the rename.
 */
function names(devices: ReadonlySet<string>, { id, formerIds }: KeyedRecord): boolean {
  return devices.has(id) || formerIds?.some((former) => devices.has(former.id)) === true;
}

/** The same for lists: the scopes that remain of those wanted, and the only ids that count. */
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
