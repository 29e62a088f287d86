// Pushing datapoints (spec 4.1, contract 5).
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Ingest } from '../../../domain/datapoints/ingest/ingest.ts';
import { parseReadings, parseValue, type Reading } from '../../../domain/datapoints/ingest/reading.ts';
import { PushBody } from '../../schemas/datapoint-schemas.ts';
import { SensorParams } from '../../schemas/device-schemas.ts';
import { idRule, isId } from '../../schemas/ids.ts';
import { registerReadingParser, TextBody } from '../../server/bodies.ts';
import { PushHeaders, toIdempotencyKey } from '../../server/idempotency.ts';
import { answerDone, prefersNoNotify } from '../../server/preference.ts';
import { conflict, dailyBound, type TypedApp, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const tags = ['Datapoints'];

const endpoints = [
  ['values', 'pushDatapoints', 'Push datapoints'],
  ['value', 'pushDatapointsToValue', 'Push datapoints, under the other path'],
] as const;

export function registerDatapoints(app: TypedApp, services: Services): void {
  const { ingest } = services;

  app.register((pushing, _options, done) => {
    registerReadingParser(pushing, { detectsRepeats: () => ingest.detectsRepeats });
    for (const endpoint of endpoints) registerPush(pushing.withTypeProvider<TypeBoxTypeProvider>(), endpoint, ingest);
    done();
  });
}

function registerPush(
  app: TypedApp,
  [endpoint, operationId, summary]: (typeof endpoints)[number],
  ingest: Ingest,
): void {
  app.post(
    `/devices/:device/sensors/:sensor/${endpoint}`,
    {
      schema: {
        tags,
        operationId,
        summary,
        description:
          'One datapoint or an array of up to 30 000, stored all or none. Text (`text/plain`) becomes a string value. **204 means: committed to disk.** `values` and `value` do the same. Without an `Idempotency-Key`, an array in which each item has a `timestamp` is stored once, however often the same bytes come within ten minutes: an answer that was lost may be asked for again.',
        params: SensorParams,
        headers: PushHeaders,
        body: PushBody,
        response: { ...writes, ...dailyBound, ...conflict('The `Idempotency-Key` was used for another body.') },
      },
      bodyLimit: limits.bodyBytesMax,
      // Not validated by schema: the domain checks the body in one pass, and an invalid id is detected when its device
      // is not found. Validation would cost a fifth of a push.
      validatorCompiler: () => () => true,
    },
    (request, reply) => {
      const { params } = request;
      const { device, sensor } = params;
      const push = { device, sensor, readings: toReadings(request.body), skipsRules: prefersNoNotify(request) };
      const key = request.headers['idempotency-key'];
      const done = (error?: unknown) => {
        if (error === undefined) answerDone(reply as never);
        else reply.send((idFaultOf(params) ?? error) as never);
      };
      const { actor, repeatHash } = request;
      if (key !== undefined) {
        const identity = { endpoint: `POST ${endpoint}`, type: typeOf(request.body) };
        ingest.acceptOnce(actor, push, toIdempotencyKey(key, request, identity)).then(() => done(), done);
      } else if (repeatHash !== undefined) {
        const body = { endpoint: pathOf(request, push), hash: repeatHash };
        ingest.acceptUnlessRepeated(actor, push, body).then(() => done(), done);
      } else ingest.submit(actor, push, done);
    },
  );
}

/** A more precise fault than "not found" for ids that no device or sensor can have. */
function idFaultOf(params: { readonly device: string; readonly sensor: string }): Refusal | undefined {
  for (const [name, id] of Object.entries(params)) {
    if (isId(id)) continue;
    return new Refusal('malformed', `/${name} ${idRule}.`, { faults: [{ pointer: `/${name}`, detail: idRule }] });
  }
  return undefined;
}

/** The path as its route names it, and what else changes what a push does. */
function pathOf(request: FastifyRequest, { skipsRules }: { readonly skipsRules: boolean }): string {
  return `POST ${request.routeOptions.url}${skipsRules ? ' without rules' : ''}`;
}

function typeOf(body: unknown): string {
  return body instanceof TextBody ? 'text' : 'json';
}

function toReadings(body: unknown): readonly Reading[] {
  if (body instanceof TextBody) return [{ value: parseValue(body.text, ''), timestampMs: Number.NaN }];
  // The parser of these routes has parsed JSON into readings; without a body there are none.
  return (body as readonly Reading[] | undefined) ?? parseReadings(undefined);
}
