// The certificates of clients over TLS (decision 50). The handshake has judged them: of an authority that is set, in its
// time, not revoked. Read here once for each connection, by listeners.ts; sign-in.ts asks whose it is.
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { isStorableText } from '../base/text/json.ts';
import { hasCharsMax } from '../base/text/text-length.ts';
import { limits } from '../config/limits.ts';
import type { Client } from './session/client.ts';

/** What a certificate says. */
export interface CertifiedName {
  /** Undefined where its common name can be nobody's. */
  readonly username: string | undefined;
  /** The name of the user's API key, where it says one. */
  readonly keyName: string | undefined;
  /** When it is good no more, in milliseconds since 1970 UTC. */
  readonly expiresMs: number;
}

const names = new WeakMap<Duplex, CertifiedName>();

/** What the certificate of the client says; undefined: it brought none. */
export function certifiedNameOf(client: Client): CertifiedName | undefined {
  return names.get(client.conn);
}

/** Notes the certificate of a connection. `invalid`: it brought one that is not to be trusted. */
export function noteCertificate(socket: TLSSocket): 'none' | 'invalid' | 'noted' {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'none';
  if (!socket.authorized) return 'invalid';
  const { CN: name } = certificate.toLegacyObject().subject ?? {};
  const expiresMs = Date.parse(certificate.validTo);
  names.set(socket, { ...partsOf(name), expiresMs });
  return 'noted';
}

/** `<username>` or `<username>/<name of a key>`; usernames have no slash. Several common names are nobody's. */
function partsOf(name: unknown): Pick<CertifiedName, 'username' | 'keyName'> {
  const nobody = { username: undefined, keyName: undefined };
  const charsMax = limits.knownUsernameCharsMax + 1 + limits.nameCharsMax;
  if (typeof name !== 'string' || name === '' || !hasCharsMax(name, charsMax) || !isStorableText(name)) return nobody;
  const slash = name.indexOf('/');
  return slash < 0
    ? { username: name, keyName: undefined }
    : { username: name.slice(0, slash), keyName: name.slice(slash + 1) };
}
