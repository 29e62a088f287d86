// The front door where no dashboard is built: a browser is led to the reference. And what one is told at the door of
// MQTT, which is for WebSockets alone.
import type { FastifyInstance } from 'fastify';
import { answerUpgradeRequired } from '../server/errors.ts';

const hidden = { hide: true } as never;

export function registerHome(app: FastifyInstance, { hasDashboard }: { readonly hasDashboard: boolean }): void {
  if (!hasDashboard) app.get('/', { schema: hidden }, (_request, reply) => reply.redirect('/docs', 302));
  app.get('/mqtt', { schema: hidden }, answerUpgradeRequired);
}
