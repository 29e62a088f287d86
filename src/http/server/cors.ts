// Cross-origin calls from browsers (contract 1). Not a plugin, because this costs nothing without an Origin header, as
// with every device; credentials are never allowed.
import type { FastifyInstance } from 'fastify';
import { answerUnknownPath } from './errors.ts';

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
// Browser clients in the field send the response header Access-Control-Allow-Origin with their requests.
const requestHeaders =
  'Authorization, Content-Type, Accept, Prefer, Idempotency-Key, Last-Event-ID, Access-Control-Allow-Origin';
const responseHeaders =
  'Link, Location, X-Total-Count, X-Silent-Servers, Retry-After, Preference-Applied, WWW-Authenticate, Deprecation, Sunset';
const preflightAgeS = '86400';

/** Allows pages of these origins (`*`: all) to call the service, and answers their preflights without a sign-in. */
export function registerCors(app: FastifyInstance, origins: readonly string[]): void {
  const all = origins.includes('*');
  const allowed = new Set(origins);
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers;
    if (origin === undefined) {
      done();
      return;
    }
    if (!all) reply.header('vary', 'Origin');
    if (all || allowed.has(origin)) {
      reply.header('access-control-allow-origin', all ? '*' : origin);
      reply.header('access-control-expose-headers', responseHeaders);
    }
    done();
  });
  app.options('/*', { config: { isOpen: true }, schema: { hide: true } as never }, (request, reply) => {
    const { origin } = request.headers;
    const methodsThere = app.methodsAt(request.url);
    if (methodsThere !== undefined) reply.header('allow', methodsThere);
    if (origin !== undefined && (all || allowed.has(origin))) {
      reply.header('access-control-allow-methods', methods);
      reply.header('access-control-allow-headers', requestHeaders);
      reply.header('access-control-max-age', preflightAgeS);
    } else if (methodsThere === undefined) {
      answerUnknownPath(request, reply);
      return reply;
    }
    return reply.code(204).send();
  });
}
