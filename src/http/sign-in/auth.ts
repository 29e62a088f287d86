// Authentication: from the Authorization header to an actor. No header: guest. An invalid token: 401, on every route
// (contract 2).
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { entryBytes, heapBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import type { TrustedProxies } from '../../base/network/trusted-proxies.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { RefreshSessions } from '../../domain/accounts/refresh-sessions.ts';
import type { Callers } from '../../domain/callers/callers.ts';
import { isKeyText, type Keys } from '../../domain/keys/keys.ts';
import type { Permissions } from '../../domain/permissions/permission.ts';
import type { Standing } from '../../domain/ports/coordination.ts';
import { remembered } from '../../domain/remembered.ts';
import { type Actor, actorOf, type User } from '../../domain/users/user.ts';
import type { Users } from '../../domain/users/users.ts';
import type { Claims, Tokens } from './tokens.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where HTTP Basic is accepted: the route reads the header itself. */
    takesBasic?: boolean;
    /** True for routes of signing in, which stay open where guests are refused. */
    isOpen?: boolean;
    /** True where a token is asked for: a token that is sent along, which may be over, is not looked at. */
    ignoresToken?: boolean;
  }
  interface FastifyRequest {
    /** The actor; set before any handler of the API runs. */
    actor: Actor;
    /** The actor with present rights, for long answers. @throws Refusal `unauthenticated` */
    actorNow(): Promise<Actor>;
  }
}

/** The actor of an Authorization header, cached while the user's record counts as fresh. */
interface CachedActor {
  readonly actor: Actor;
  /** By the monotonic clock: until when the user's record counts as fresh, and no later than the token or key expires. */
  readonly goodUntilMs: number;
  /** True from when a fresh one is looked up. */
  isRenewing: boolean;
  /** The value of `#changes` when the look-up began; another value makes the entry invalid. */
  readonly changes: number;
}

/** Key under which a connection caches its last header and actor. */
const lastSeen = Symbol('last seen');

/** Longer headers are parsed with each request, so that connections do not hold them. */
const forwardedForCharsKept = 256;

/** Key under which a connection caches its guest and X-Forwarded-For. */
const lastGuest = Symbol('last guest');

type AuthenticatedSocket = Socket & {
  [lastSeen]?: { readonly header: string; readonly known: CachedActor };
  [lastGuest]?: { readonly forwardedFor: string | undefined; readonly actor: Actor };
};

export class Authentication {
  readonly #users: Users;
  readonly #tokens: Tokens;
  readonly #keys: Keys;
  readonly #refreshSessions: RefreshSessions;
  readonly #callers: Callers;
  readonly #proxies: TrustedProxies;
  readonly #guest: User;
  readonly #permissions: Permissions;
  readonly #standing: Standing;
  readonly #clock: Clock;
  readonly #known = new LruCache<string, CachedActor>({
    weightMax: limits.tokensCachedBytesMax,
    pool: remembered,
    weigh: ({ actor }, header) => 4 * entryBytes + textHeapBytes(header) + heapBytes(actor.keyScopes),
  });

  constructor(parts: {
    readonly users: Users;
    readonly tokens: Tokens;
    readonly keys: Keys;
    readonly refreshSessions: RefreshSessions;
    readonly callers: Callers;
    readonly proxies: TrustedProxies;
    readonly guest: User;
    readonly permissions: Permissions;
    readonly standing: Standing;
    /** The clock by which tokens and keys expire. */
    readonly clock: Clock;
  }) {
    this.#users = parts.users;
    this.#tokens = parts.tokens;
    this.#keys = parts.keys;
    this.#refreshSessions = parts.refreshSessions;
    this.#callers = parts.callers;
    this.#proxies = parts.proxies;
    this.#guest = parts.guest;
    this.#permissions = parts.permissions;
    this.#standing = parts.standing;
    this.#clock = parts.clock;
  }

  /** Sets the actor of every request to the API, before anything else is answered. */
  register(app: FastifyInstance): void {
    app.decorateRequest('actor');
    const actorNow = (request: FastifyRequest) => this.#actorNow(request);
    app.decorateRequest('actorNow', function (this: FastifyRequest) {
      return actorNow(this);
    });
    app.addHook('onRequest', (request, _reply, done) => {
      // A request's path may contain escapes; the route's pattern does not.
      if (!needsActor.test(request.url) && !needsActor.test(request.routeOptions.url ?? '')) {
        done();
        return;
      }
      if (this.isSure) this.#identify(request, done);
      else this.#standing.makeSure().then(() => this.#identify(request, done), done);
    });
  }

  /** Whether what is in memory of users and records holds: nobody is let in by it otherwise. */
  get isSure(): boolean {
    return this.#standing.isSure;
  }

  #identify(request: FastifyRequest, done: (error?: Error) => void): void {
    const header = tokenHeaderOf(request);
    if (header === undefined) {
      request.actor = this.guestOf(request.raw.socket, forwardedForOf(request));
      // First of all: refused callers must not learn which records exist.
      done(isOpen(request) ? undefined : this.#refusalOfGuest(request.actor));
      return;
    }
    const known = this.peek(request.raw.socket, header);
    if (known !== undefined) {
      request.actor = known;
      done();
      return;
    }
    this.#authenticate(request, header).then(() => done(), done);
  }

  #refusalOfGuest(actor: Actor): Error | undefined {
    try {
      this.#permissions.requireGuestAllowed(actor);
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  /** @throws Refusal `unauthenticated` for an invalid token or key. */
  async require(request: FastifyRequest, header: string): Promise<void> {
    if (!this.isSure) await this.#standing.makeSure();
    if (this.peek(request.raw.socket, header) === undefined) await this.#authenticate(request, header);
  }

  async #actorNow(request: FastifyRequest): Promise<Actor> {
    if (!this.isSure) await this.#standing.makeSure();
    const header = request.headers.authorization;
    if (header === undefined) return this.guestOf(request.raw.socket, forwardedForOf(request));
    const known = this.peek(request.raw.socket, header);
    if (known !== undefined) return known;
    await this.#authenticate(request, header);
    return request.actor;
  }

  /** Guest with the client's address, which behind a proxy may differ for each request of a connection. */
  guestOf(connection: AuthenticatedSocket, forwardedFor: string | undefined): Actor {
    const last = connection[lastGuest];
    if (last !== undefined && last.forwardedFor === forwardedFor) return last.actor;
    const address = this.#proxies.clientOf(connection.remoteAddress, forwardedFor);
    const actor = actorOf(this.#guest, this.#callers.ofAddress(address));
    if ((forwardedFor?.length ?? 0) <= forwardedForCharsKept) connection[lastGuest] = { forwardedFor, actor };
    return actor;
  }

  /** The actor of a header that was verified a moment ago: the usual case, without awaiting. */
  peek(connection: AuthenticatedSocket, header: string): Actor | undefined {
    const last = connection[lastSeen];
    // Comparing with the connection's last header costs a tenth of the cache look-up.
    const nowMs = this.#clock.elapsedMs();
    let known = last?.header === header ? last.known : undefined;
    if (known === undefined || !this.#isGood(known, nowMs)) {
      known = this.#known.get(header);
      if (known === undefined || !this.#isGood(known, nowMs)) return undefined;
      connection[lastSeen] = { header, known };
    }
    if (known.goodUntilMs - nowMs < limits.userRenewMs && !known.isRenewing) this.#renew(header, known);
    return known.actor;
  }

  #isGood({ goodUntilMs, changes }: CachedActor, nowMs: number): boolean {
    return nowMs < goodUntilMs && changes === this.#changes;
  }

  /**
   * Looks the actor up again shortly before the cached one is out of date, so that a client that keeps sending never
   * waits for a look-up. Ignores failures: the first request after that time looks up again and is refused.
   */
  #renew(header: string, known: CachedActor): void {
    known.isRenewing = true;
    this.#find(header).catch(() => {});
  }

  /** Increases with every change of a user, a key or a session. */
  get #changes(): number {
    return this.#users.changes + this.#keys.changes + this.#refreshSessions.changes;
  }

  async #authenticate(request: FastifyRequest, header: string): Promise<void> {
    request.actor = await this.#find(header);
  }

  /** @throws Refusal `unauthenticated` */
  async #find(header: string): Promise<Actor> {
    // Checked before the header is parsed or cached.
    const token = header.length > limits.tokenCharsMax ? undefined : bearerToken(header);
    if (token === undefined) throw new Refusal('unauthenticated', 'Send the token as `Authorization: Bearer <token>`.');
    const changes = this.#changes;
    const { actor, expiresMs } = isKeyText(token) ? await this.#byKey(token) : await this.#byToken(token);
    const goodMs = Math.min(limits.userFreshMs, expiresMs - this.#clock.now());
    const goodUntilMs = this.#clock.elapsedMs() + goodMs;
    this.#known.set(header, { actor, goodUntilMs, isRenewing: false, changes });
    return actor;
  }

  async #byKey(text: string): Promise<{ readonly actor: Actor; readonly expiresMs: number }> {
    const { user, keyScopes, expiresMs } = await this.#keys.verify(text);
    return { actor: this.#users.actorOf(user, keyScopes), expiresMs };
  }

  async #byToken(token: string): Promise<{ readonly actor: Actor; readonly expiresMs: number }> {
    const claims = await this.#tokens.verify(token);
    const user = await this.#users.findById(claims.userId);
    if (user === undefined || !isCurrent(user, claims)) {
      throw new Refusal(
        'unauthenticated',
        'The token is no longer good: the user is gone or has a new password. Get a new one.',
      );
    }
    const { sessionId } = claims;
    if (sessionId !== undefined && !(await this.#refreshSessions.isOn(sessionId))) {
      throw new Refusal('unauthenticated', 'The session of this token is over. Sign in with username and password.');
    }
    const actor = this.#users.actorOf(user);
    return { actor: sessionId === undefined ? actor : { ...actor, sessionId }, expiresMs: claims.expiresS * 1000 };
  }
}

/** X-Forwarded-For; several headers of this name are joined by Node.js. */
function forwardedForOf(request: FastifyRequest): string | undefined {
  return request.headers['x-forwarded-for'] as string | undefined;
}

/** The Authorization header, unless the route reads it itself. */
function tokenHeaderOf(request: FastifyRequest): string | undefined {
  if (request.routeOptions.config?.ignoresToken === true) return undefined;
  const header = request.headers.authorization;
  const isBasic = header !== undefined && /^Basic /i.test(header);
  return isBasic && request.routeOptions.config?.takesBasic === true ? undefined : header;
}

function isOpen(request: FastifyRequest): boolean {
  return request.is404 || request.routeOptions.config?.isOpen === true;
}

function isCurrent(user: User, claims: Claims): boolean {
  return user.passwordVersion === claims.passwordVersion;
}

/** The API, the heartbeat of gateways at the root, and metrics. */
const needsActor = /^\/(?:(?:api|gateways)\/|metrics(?:[/?]|$))/;

/** Some deployed clients put quotes around the token, taking the JSON string for it. */
function bearerToken(header: string): string | undefined {
  return /^Bearer +"?([^\s"]+)"?$/i.exec(header)?.[1];
}
