// Whether the reference (/docs, /openapi.json) is open to everybody or follows guest access (DUNDUN_DOCS_ACCESS). If it
// does and guests are refused, it needs a token, an API key, or username and password by HTTP Basic, for which browsers
// ask. Called by http-server.ts before these routes are added.
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../base/refusal.ts';
import type { Permissions } from '../../domain/permissions/permission.ts';
import type { Logins } from '../../domain/users/logins.ts';
import type { Authentication } from '../sign-in/auth.ts';
import { basicLogin } from '../sign-in/logins.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for the reference and its document. */
    isReference?: boolean;
  }
}

/** Refuses requests for the reference with 401 where guests are refused and nobody has signed in. */
export function guardDocs(
  app: FastifyInstance,
  parts: {
    readonly isGuarded: boolean;
    readonly permissions: Permissions;
    readonly logins: Logins;
    readonly authentication: Authentication;
  },
): void {
  if (!parts.isGuarded) return;
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config?.isReference !== true || !parts.permissions.refusesGuests) return;
    // A shared cache must not serve it to the next caller.
    reply.header('cache-control', 'private, no-cache');
    const { authorization } = request.headers;
    if (authorization === undefined)
      throw new Refusal('unauthenticated', 'The reference of this service is for those who sign in.');
    if (/^Basic /i.test(authorization)) await parts.logins.verify({ ...basicLogin(request), address: request.ip });
    else await parts.authentication.require(request, authorization);
  });
}
