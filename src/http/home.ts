// The front door: where a browser lands.
import type { FastifyInstance } from 'fastify';

export function registerHome(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true } as never }, (_request, reply) => reply.redirect('/docs', 302));
}
