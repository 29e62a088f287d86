// The front door: where a browser lands; and what it is told at the door of MQTT, which is for WebSockets alone.
import type { FastifyInstance } from 'fastify';
import { answerUpgradeRequired } from './errors.ts';

export function registerHome(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true } as never }, (_request, reply) => reply.redirect('/docs', 302));
  app.get('/mqtt', { schema: { hide: true } as never }, answerUpgradeRequired);
}
