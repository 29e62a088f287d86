// Whether the reference (/docs) and its document (/openapi.json) are open to everybody, or follow guest access
// (DUNDUN_DOCS_ACCESS). Where they do and guests are turned away, a token or key opens them, and username and password by
// HTTP Basic, which browsers ask a person for. Called by http-server.ts before these routes are made.
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
    // What one caller was shown is not kept for the next one.
    reply.header('cache-control', 'private, no-cache');
    const { authorization } = request.headers;
    if (authorization === undefined)
      throw new Refusal('unauthenticated', 'The reference of this service is for those who sign in.');
    if (/^Basic /i.test(authorization)) await parts.logins.verify({ ...basicLogin(request), address: request.ip });
    else await parts.authentication.require(request, authorization);
  });
}
