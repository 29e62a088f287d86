// Tokens: signed JWTs (contract 2). Verified ones are cached until they expire, so that a client with many calls pays
// for the signature once; the cache is cleared when the keys change (token-keys.ts).
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { entryBytes, heapBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { remembered } from '../../domain/remembered.ts';
import type { User } from '../../domain/users/user.ts';
import type { TokenKey, TokenKeys, ValidTokenKeys } from './token-keys.ts';

/** The claims of a valid token; everything else about the user is looked up when the token is used. */
export interface Claims {
  readonly userId: string;
  readonly passwordVersion: number;
  /** The refresh session from which it was obtained, if any. */
  readonly sessionId: string | undefined;
  /** Seconds since 1970 UTC. */
  readonly issuedS: number;
  readonly expiresS: number;
}

const issuer = 'dundun';

export class Tokens {
  readonly #keys: TokenKeys;
  /** Runs on where the wall clock is set back, so that no token lives longer than it was given. */
  readonly #clock: Clock;
  readonly #verified = new LruCache<string, Claims>({
    weightMax: limits.tokensCachedBytesMax,
    pool: remembered,
    weigh: (claims, token) => entryBytes + textHeapBytes(token) + heapBytes(claims),
  });

  /** The keys under which all entries of `#verified` were verified. */
  #verifiedUnder: ValidTokenKeys | undefined;

  constructor(options: { readonly keys: TokenKeys; readonly clock: Clock }) {
    this.#keys = options.keys;
    this.#clock = options.clock;
  }

  /** @param sessionId the refresh session from which the token is obtained; the token ends with it. */
  async issue(user: User, lifetimeS: number, sessionId?: string): Promise<string> {
    const nowS = Math.floor(this.#clock.now() / 1000);
    const session = sessionId === undefined ? {} : { sid: sessionId };
    const { present } = await this.#keys.good();
    return new SignJWT({ preferred_username: user.username, admin: user.admin, pv: user.passwordVersion, ...session })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: present.kid })
      .setIssuer(issuer)
      .setSubject(user.id)
      .setIssuedAt(nowS)
      .setExpirationTime(nowS + lifetimeS)
      .sign(present.secret);
  }

  /** @throws Refusal `unauthenticated` for a token that is invalid, from elsewhere or expired. */
  async verify(token: string): Promise<Claims> {
    const keys = await this.#keys.good();
    if (keys !== this.#verifiedUnder) {
      this.#verified.clear();
      this.#verifiedUnder = keys;
    }
    const known = this.#verified.get(token);
    if (known !== undefined && known.expiresS * 1000 > this.#clock.now()) return this.#notLater(known);
    const payload = await this.#payloadOf(token, keys).catch((error: unknown) => {
      const expired = error instanceof errors.JWTExpired;
      throw new Refusal(
        'unauthenticated',
        expired ? 'The token has expired. Get a new one.' : 'The token is not valid. Get a new one.',
        { cause: error },
      );
    });
    const claims = {
      userId: String(payload.sub),
      passwordVersion: Number(payload['pv']),
      sessionId: typeof payload['sid'] === 'string' ? payload['sid'] : undefined,
      issuedS: Number(payload.iat),
      expiresS: Number(payload.exp),
    };
    // The keys may have changed meanwhile.
    if (keys === this.#verifiedUnder) this.#verified.set(token, claims);
    return this.#notLater(claims);
  }

  /** Refuses a token that was issued while the clock was ahead, because it would be valid for longer than intended. */
  #notLater(claims: Claims): Claims {
    if (claims.issuedS * 1000 <= this.#clock.now() + limits.clockDifferenceMsMax) return claims;
    throw new Refusal('unauthenticated', 'The token was issued while the clock was wrong. Get a new one.');
  }

  /** @throws jose's error where none of the keys has signed it. */
  async #payloadOf(token: string, keys: ValidTokenKeys): Promise<JWTPayload> {
    const [first, ...others] = keysFor(token, keys);
    if (first === undefined) throw new errors.JWSSignatureVerificationFailed();
    let result = this.#check(token, first);
    for (const key of others) {
      result = result.catch((error: unknown) => {
        if (error instanceof errors.JWSSignatureVerificationFailed) return this.#check(token, key);
        throw error;
      });
    }
    return result;
  }

  async #check(token: string, key: TokenKey): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, key.secret, {
      algorithms: ['HS256'],
      issuer,
      requiredClaims: ['sub', 'exp', 'iat'],
      currentDate: new Date(this.#clock.now()),
    });
    return payload;
  }
}

/** The key that the token names; all keys for a token without `kid`, as earlier releases issued. */
function keysFor(token: string, { all }: ValidTokenKeys): readonly TokenKey[] {
  const { kid } = decodeProtectedHeader(token);
  return kid === undefined ? all : all.filter((key) => key.kid === kid);
}
