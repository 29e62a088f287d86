// Signs clients in by their certificates (decision 50): as the user of the common name, or by the API key that it names.
// No password is looked at; a user name beside the certificate must be that of the same user. Used by sign-in.ts.
import { Refusal } from '../base/refusal.ts';
import type { Callers } from '../domain/callers/callers.ts';
import type { Keys } from '../domain/keys/keys.ts';
import { guestUsername } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { CertifiedName } from './client-certificate.ts';
import type { SignedIn } from './sessions.ts';

/** @throws Refusal `forbidden` for the certificate of nobody, `unauthenticated` for the name of somebody else beside it. */
export async function signInByCertificate(
  { users, keys, callers }: { readonly users: Users; readonly keys: Keys; readonly callers: Callers },
  certified: CertifiedName,
  username: string,
): Promise<SignedIn> {
  const { keyName, expiresMs } = certified;
  if (username !== '' && username !== certified.username)
    throw new Refusal('unauthenticated', 'The user name is not that of the certificate.');
  // Guests have no certificates: whoever brings one is somebody.
  const mayBe = certified.username !== undefined && certified.username !== guestUsername;
  const user = mayBe ? await users.findByName(certified.username) : undefined;
  if (user === undefined) throw new Refusal('forbidden', 'The certificate names no user.');
  const byCertificate = true;
  const caller = callers.ofUser(user);
  if (keyName === undefined) return { user, caller, expiresMs, byCertificate };
  const signedIn = await keys.findByName(user.key, keyName);
  if (signedIn === undefined) throw new Refusal('forbidden', 'The certificate names no API key that is good.');
  return { ...signedIn, caller, expiresMs: Math.min(expiresMs, signedIn.expiresMs), byCertificate };
}
