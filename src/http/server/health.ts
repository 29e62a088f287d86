// Health checks, and metrics for Prometheus.
import type { FastifyInstance } from 'fastify';
import type { Registry as MetricsRegistry } from 'prom-client';
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import type { Permissions } from '../../domain/permissions/permission.ts';
import type { Standing } from '../../domain/ports/coordination.ts';
import { refusals } from './routes.ts';

const StatusSchema = Type.Object(
  { status: Type.String({ description: '`ok` when all is well, else what is not.', examples: ['ok'] }) },
  { title: 'Status', description: 'How the service is.' },
);

export function registerHealth(
  app: FastifyInstance,
  parts: {
    readonly metrics: MetricsRegistry;
    readonly permissions: Permissions;
    /** Why no work is accepted; undefined while it is. */
    readonly unreadyBecause: () => string | undefined;
    readonly standing: Standing;
    /** A condition that restricts the service without stopping it; undefined: none. */
    readonly restriction: () => string | undefined;
  },
): void {
  const tags = ['Service'];
  app.get(
    '/health/live',
    {
      schema: {
        tags,
        operationId: 'getLiveness',
        summary: 'Ask whether the process lives',
        response: { 200: StatusSchema },
      },
    },
    () => ({ status: 'ok' }),
  );

  app.get(
    '/health/ready',
    {
      schema: {
        tags,
        operationId: 'getReadiness',
        summary: 'Ask whether the service takes work',
        response: { 200: StatusSchema, 503: StatusSchema },
      },
    },
    async (_request, reply) => {
      const status = parts.unreadyBecause() ?? (await unsureBecause(parts.standing));
      if (status === undefined) return { status: parts.restriction() ?? 'ok' };
      return reply.code(503).header('retry-after', '5').send({ status });
    },
  );

  app.get(
    '/metrics',
    {
      schema: {
        tags,
        operationId: 'getMetrics',
        summary: 'Read figures for Prometheus',
        description:
          'For admins, and for API keys with the scope `metrics:view` that an admin made. They are also on a port of their own, without a token, where `DUNDUN_METRICS_PORT` opens one.',
        response: {
          200: {
            description: 'Prometheus text format.',
            content: { 'text/plain': { schema: Type.String({ description: 'Prometheus text format.' }) } },
          },
          401: refusals[401],
          403: refusals[403],
        },
      },
    },
    async (request, reply) => {
      parts.permissions.requireMetrics(request.actor);
      reply.type(parts.metrics.contentType).serializer(String);
      return reply.send(await parts.metrics.metrics());
    },
  );
}

/** Why this process cannot say what is stored: it may have been taken for dead while it was stopped, and ends in a moment. */
async function unsureBecause(standing: Standing): Promise<string | undefined> {
  try {
    if (!standing.isSure) await standing.makeSure();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}
