// 405 with `Allow`: every path that has a route answers the methods it does not take (contract 1).
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { answerWrongMethod } from './errors.ts';

const methods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Watches routes being added; the function given back adds the refusals for what is missing. */
export function watchMethods(app: FastifyInstance): () => void {
  const taken = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    const known = taken.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) known.add(method);
    taken.set(route.url, known);
  });
  return () => {
    for (const [url, known] of [...taken]) {
      const missing = methods.filter((method) => !known.has(method));
      // A path that ends in a wildcard (a folder of files) has no methods of its own.
      if (url.includes('*') || missing.length === 0) continue;
      const allowed = [...known, 'OPTIONS'].join(', ');
      app.route({
        method: missing as HTTPMethods[],
        url,
        schema: { hide: true } as never,
        config: { isOpen: true },
        exposeHeadRoute: false,
        // The refusal comes before the body is looked at.
        onRequest: (request, reply) => answerWrongMethod(request, reply, allowed),
        handler: (request, reply) => answerWrongMethod(request, reply, allowed),
      });
    }
  };
}
