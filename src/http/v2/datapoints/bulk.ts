// Pushing datapoints of many devices in one request, with a report line by line (contract 10).
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { BulkAnswer, BulkBody } from '../../schemas/bulk-schemas.ts';
import { LinesBody, registerExactJsonParser, TextBody } from '../../server/bodies.ts';
import { PushHeaders, toIdempotencyKey } from '../../server/idempotency.ts';
import { prefersNoNotify } from '../../server/preference.ts';
import { conflict, overload, refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { toBulkRequest } from './bulk-lines.ts';

export function registerBulk(app: TypedApp, services: Services): void {
  app.register((pushing, _options, done) => {
    registerExactJsonParser(pushing);
    registerPush(pushing.withTypeProvider<TypeBoxTypeProvider>(), services);
    done();
  });
}

function registerPush(app: TypedApp, { bulk }: Services): void {
  app.post(
    '/datapoints',
    {
      schema: {
        tags: ['Datapoints'],
        operationId: 'pushBulk',
        summary: 'Push datapoints of many devices',
        description:
          'Up to 30 000 datapoints as a JSON array, NDJSON or CSV, checked line by line: accepted lines are committed to disk before the answer, which lists the refused lines. 503 means that nothing was stored. With an `Idempotency-Key` a repeat stores nothing twice and gets the first answer. Notifications are not evaluated for CSV, which is for history, and for a push with `Prefer: notify=none`.',
        headers: PushHeaders,
        body: BulkBody,
        response: {
          200: {
            description: 'What was stored, and what was not.',
            content: { 'application/json': { schema: BulkAnswer } },
          },
          ...refusals,
          ...overload,
          ...conflict('The `Idempotency-Key` was used for another body.'),
        },
      },
      config: { takesLines: true },
      bodyLimit: limits.bodyBytesMax,
      // Not validated by schema: lines are checked one by one, so that faults name their line.
      validatorCompiler: () => () => true,
    },
    async (request) => {
      const { actor, body } = request;
      if (body instanceof TextBody) {
        throw new Refusal('unsupported', 'Send application/json, application/x-ndjson or text/csv.');
      }
      const key = request.headers['idempotency-key'];
      const idempotency =
        key === undefined
          ? undefined
          : toIdempotencyKey(key, request, { endpoint: 'POST datapoints', type: typeOf(body) });
      // A CSV file is imported history: notifications about it would come too late.
      const skipsRules = (body instanceof LinesBody && body.kind === 'csv') || prefersNoNotify(request);
      const lines = { ...(await toBulkRequest(body, actor.caller)), skipsRules };
      return (
        idempotency === undefined ? await bulk.accept(actor, lines) : await bulk.acceptOnce(actor, lines, idempotency)
      ) as never;
    },
  );
}

/** The type of the body, for its Idempotency-Key: the same bytes are other lines in another type. */
function typeOf(body: unknown): string {
  return body instanceof LinesBody ? body.kind : 'json';
}
