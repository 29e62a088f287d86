// Tokens: signed JWTs (contract 2). Verified tokens are remembered until they expire, so that a client that uses one
// token for many calls pays for its signature once.
import { errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../base/clock.ts';
import { LruCache } from '../base/lru-cache.ts';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { User } from '../domain/users/user.ts';

/** What a good token says; the rest is looked up as it is now. */
export interface Claims {
  readonly userId: string;
  readonly passwordVersion: number;
  /** Seconds since 1970 UTC. */
  readonly expiresS: number;
}

const issuer = 'dundun';

export class Tokens {
  readonly #key: Uint8Array;
  readonly #clock: Clock;
  readonly #verified = new LruCache<string, Claims>({ weightMax: limits.tokensCachedMax });

  constructor(options: { readonly key: Uint8Array; readonly clock: Clock }) {
    this.#key = options.key;
    this.#clock = options.clock;
  }

  async issue(user: User, lifetimeS: number): Promise<string> {
    const nowS = Math.floor(this.#clock.now() / 1000);
    return new SignJWT({ preferred_username: user.username, admin: user.admin, pv: user.passwordVersion })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(user.id)
      .setIssuedAt(nowS)
      .setExpirationTime(nowS + lifetimeS)
      .sign(this.#key);
  }

  /** What the token says if it was verified before and is still good. */
  peek(token: string): Claims | undefined {
    const claims = this.#verified.get(token);
    return claims !== undefined && claims.expiresS * 1000 > this.#clock.now() ? claims : undefined;
  }

  /** @throws Refusal `unauthenticated` for a token that is bad, foreign or expired. */
  async verify(token: string): Promise<Claims> {
    const known = this.peek(token);
    if (known !== undefined) return known;
    const { payload } = await jwtVerify(token, this.#key, {
      algorithms: ['HS256'],
      issuer,
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(this.#clock.now()),
    }).catch((error: unknown) => {
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
      expiresS: Number(payload.exp),
    };
    this.#verified.set(token, claims);
    return claims;
  }
}
