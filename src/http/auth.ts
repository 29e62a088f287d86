// Who asks: from the Authorization header to an actor. No header: guest. Anything but a good token: 401, on every
// route (contract 2).
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { LruCache } from '../base/lru-cache.ts';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import { isKeyText, type Keys } from '../domain/keys/keys.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import { type Actor, actorOf, type User } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { Claims, Tokens } from './tokens.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where HTTP Basic is taken: the route reads the header itself. */
    takesBasic?: boolean;
    /** True for the doors through which one comes in; they are open where callers without a token are turned away. */
    isOpen?: boolean;
  }
  interface FastifyRequest {
    /** Who asks; set before any handler of the API runs. */
    actor: Actor;
    /** Who asks, as they are by now: for answers that last. @throws Refusal `unauthenticated` */
    actorNow(): Promise<Actor>;
  }
}

/** Who stands behind an Authorization header, for as long as a user's record counts as fresh. */
interface Known {
  readonly actor: Actor;
  readonly expiresMs: number;
  readonly freshUntilMs: number;
  /** The count of changes of users and keys at which this was true. */
  readonly changes: number;
}

/** Under which a connection remembers the header it sent last, and who stands behind it. */
const lastSeen = Symbol('last seen');

type Connection = Socket & { [lastSeen]?: { readonly header: string; readonly known: Known } };

export class Authentication {
  readonly #users: Users;
  readonly #tokens: Tokens;
  readonly #keys: Keys;
  readonly #guest: Actor;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #known = new LruCache<string, Known>({ weightMax: limits.tokensCachedMax });

  constructor(parts: {
    readonly users: Users;
    readonly tokens: Tokens;
    readonly keys: Keys;
    readonly guest: Actor;
    readonly permissions: Permissions;
    readonly clock: Clock;
  }) {
    this.#users = parts.users;
    this.#tokens = parts.tokens;
    this.#keys = parts.keys;
    this.#guest = parts.guest;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
  }

  /** Makes every request to the API know its actor, before anything else is said about it. */
  register(app: FastifyInstance): void {
    app.decorateRequest('actor');
    const actorNow = (request: FastifyRequest) => this.#actorNow(request);
    app.decorateRequest('actorNow', function (this: FastifyRequest) {
      return actorNow(this);
    });
    app.addHook('onRequest', (request, _reply, done) => {
      // A path may be written with escapes; the route it leads to may not.
      if (!needsActor.test(request.url) && !needsActor.test(request.routeOptions.url ?? '')) {
        done();
        return;
      }
      const header = tokenHeaderOf(request);
      const known = this.peek(request.raw.socket, header);
      // Before anything else is said: who may not come in is not told either which records there are.
      if (header === undefined && !isOpen(request)) this.#permissions.requireGuestAllowed(this.#guest);
      if (known !== undefined) {
        request.actor = known;
        done();
        return;
      }
      this.#authenticate(request, header as string).then(() => done(), done);
    });
  }

  async #actorNow(request: FastifyRequest): Promise<Actor> {
    const header = request.headers.authorization;
    if (header === undefined) return this.#guest;
    const known = this.peek(request.raw.socket, header);
    if (known !== undefined) return known;
    await this.#authenticate(request, header);
    return request.actor;
  }

  /** The actor of a header seen a moment ago, and of none; the usual case, and cheap. */
  peek(connection: Connection, header: string | undefined): Actor | undefined {
    if (header === undefined) return this.#guest;
    const last = connection[lastSeen];
    // To compare with the header before costs a tenth of looking it up among all.
    if (last !== undefined && last.header === header && this.#isGood(last.known)) return last.known.actor;
    const known = this.#known.get(header);
    if (known === undefined || !this.#isGood(known)) return undefined;
    connection[lastSeen] = { header, known };
    return known.actor;
  }

  #isGood({ freshUntilMs, expiresMs, changes }: Known): boolean {
    const nowMs = this.#clock.now();
    return nowMs < freshUntilMs && nowMs < expiresMs && changes === this.#changes;
  }

  /** Moves with every change of a user or a key. */
  get #changes(): number {
    return this.#users.changes + this.#keys.changes;
  }

  async #authenticate(request: FastifyRequest, header: string): Promise<void> {
    const token = bearerToken(header);
    if (token === undefined) throw new Refusal('unauthenticated', 'Send the token as `Authorization: Bearer <token>`.');
    const changes = this.#changes;
    const { actor, expiresMs } = isKeyText(token) ? await this.#byKey(token) : await this.#byToken(token);
    request.actor = actor;
    this.#known.set(header, { actor, expiresMs, freshUntilMs: this.#clock.now() + limits.userFreshMs, changes });
  }

  async #byKey(text: string): Promise<{ readonly actor: Actor; readonly expiresMs: number }> {
    const { user, limits: keyLimits, expiresMs } = await this.#keys.verify(text);
    return { actor: actorOf(user, keyLimits), expiresMs };
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
    return { actor: actorOf(user), expiresMs: claims.expiresS * 1000 };
  }
}

/** The Authorization header, unless it is for the route to read. */
function tokenHeaderOf(request: FastifyRequest): string | undefined {
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

/** The API, and the heartbeat of gateways, which is also at the root. */
const needsActor = /^\/(api|gateways)\//;

/** Deployed clients put quotes around the token: they took the JSON string for the token. */
function bearerToken(header: string): string | undefined {
  return /^Bearer +"?([^\s"]+)"?$/i.exec(header)?.[1];
}
