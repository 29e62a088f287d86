// Who asks: from the Authorization header to an actor. No header: guest. Anything but a good token: 401, on every
// route (contract 2).
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../base/refusal.ts';
import { type Actor, actorOf, type User } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { Claims, Tokens } from './tokens.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; set before any handler of the API runs. */
    actor: Actor;
  }
}

export class Authentication {
  readonly #users: Users;
  readonly #tokens: Tokens;
  readonly #guest: Actor;

  constructor(parts: { readonly users: Users; readonly tokens: Tokens; readonly guest: Actor }) {
    this.#users = parts.users;
    this.#tokens = parts.tokens;
    this.#guest = parts.guest;
  }

  /** Makes every request below this instance know its actor. */
  register(app: FastifyInstance): void {
    app.decorateRequest('actor');
    app.addHook('onRequest', (request, _reply, done) => {
      const header = request.headers.authorization;
      const known = header === undefined ? this.#guest : this.#peek(header);
      if (known !== undefined) {
        request.actor = known;
        done();
        return;
      }
      this.#authenticate(request, header as string).then(() => done(), done);
    });
  }

  /** The actor of a token that was verified before, of a user who is in memory. */
  #peek(header: string): Actor | undefined {
    const token = bearerToken(header);
    const claims = token && this.#tokens.peek(token);
    const user = claims && this.#users.peekById(claims.userId);
    return user && isCurrent(user, claims as Claims) ? actorOf(user) : undefined;
  }

  async #authenticate(request: FastifyRequest, header: string): Promise<void> {
    const token = bearerToken(header);
    if (token === undefined) throw new Refusal('unauthenticated', 'Send the token as `Authorization: Bearer <token>`.');
    const claims = await this.#tokens.verify(token);
    const user = await this.#users.findById(claims.userId);
    if (user === undefined || !isCurrent(user, claims)) {
      throw new Refusal(
        'unauthenticated',
        'The token is no longer good: the user is gone or has a new password. Get a new one.',
      );
    }
    request.actor = actorOf(user);
  }
}

function isCurrent(user: User, claims: Claims): boolean {
  return user.passwordVersion === claims.passwordVersion;
}

/** Deployed clients put quotes around the token: they took the JSON string for the token. */
function bearerToken(header: string): string | undefined {
  return /^Bearer +"?([^\s"]+)"?$/i.exec(header)?.[1];
}
