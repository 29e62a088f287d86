// `/` without a built dashboard: redirects browsers to the reference. And the answer to plain requests for MQTT's path,
// which is for WebSockets only.
import type { FastifyInstance } from 'fastify';
import { answerUpgradeRequired } from '../server/errors.ts';

const hidden = { hide: true } as never;

export function registerHome(app: FastifyInstance, { hasDashboard }: { readonly hasDashboard: boolean }): void {
  if (!hasDashboard) app.get('/', { schema: hidden }, (_request, reply) => reply.redirect('/docs', 302));
  app.get('/mqtt', { schema: hidden }, answerUpgradeRequired);
}
