// Pushing datapoints (spec 4.1, contract 5).
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { IdempotencyKey } from '../../domain/datapoints/ingest.ts';
import { parseReadings, parseValue, type Reading } from '../../domain/datapoints/reading.ts';
import { TextBody } from '../bodies.ts';
import { idRule, isId } from '../ids.ts';
import { answerDone } from '../preference.ts';
import { conflict, type Services, type TypedApp, writes } from './routes.ts';
import { PushBody, SensorParams } from './schemas.ts';

const tags = ['Datapoints'];

const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKeyCharsMax,
      description: 'Names this push: a repeat within 24 hours stores nothing twice and gets the first answer.',
    }),
  ),
});

const doors = [
  ['values', 'pushDatapoints', 'Push datapoints'],
  ['value', 'pushDatapointsToValue', 'Push datapoints, under the other path'],
] as const;

export function registerDatapoints(app: TypedApp, services: Services): void {
  const { ingest } = services;

  for (const [door, operationId, summary] of doors) {
    app.post(
      `/devices/:device/sensors/:sensor/${door}`,
      {
        schema: {
          tags,
          operationId,
          summary,
          description:
            'One datapoint or an array of up to 30 000, stored all or none. Text (`text/plain`) becomes a string value. **204 means: committed to disk.** `values` and `value` are the same door.',
          params: SensorParams,
          headers: IdempotencyHeaders,
          body: PushBody,
          response: { ...writes, ...conflict('The `Idempotency-Key` was used for another body.') },
        },
        // The domain checks the body itself, in one pass, and names each place. An id that cannot be has no device, so
        // ids are looked at when there is none. Checking all of it beforehand would cost a fifth of a push.
        validatorCompiler: () => () => true,
      },
      (request, reply) => {
        const { params } = request;
        const push = { device: params.device, sensor: params.sensor, readings: toReadings(request.body) };
        const key = request.headers['idempotency-key'];
        const stored =
          key === undefined
            ? ingest.accept(request.actor, push)
            : ingest.acceptOnce(request.actor, push, toIdempotencyKey(key, `POST ${door}`, request));
        stored.then(
          () => answerDone(reply as never),
          (error: unknown) => reply.send((idFaultOf(params) ?? error) as never),
        );
      },
    );
  }
}

/** What to say of ids that no device or sensor can have, which is better than that there is none. */
function idFaultOf(params: { readonly device: string; readonly sensor: string }): Refusal | undefined {
  for (const [name, id] of Object.entries(params)) {
    if (isId(id)) continue;
    return new Refusal('malformed', `/${name} ${idRule}.`, { faults: [{ pointer: `/${name}`, detail: idRule }] });
  }
  return undefined;
}

/** The type is part of what was sent: the same bytes as text are another value. */
function toIdempotencyKey(key: string, door: string, request: FastifyRequest): IdempotencyKey {
  if (key === '' || key.length > limits.idempotencyKeyCharsMax) {
    throw new Refusal('malformed', `An Idempotency-Key has 1 to ${limits.idempotencyKeyCharsMax} characters.`, {
      faults: [{ pointer: '/idempotency-key', detail: `must have 1 to ${limits.idempotencyKeyCharsMax} characters` }],
    });
  }
  const type = request.body instanceof TextBody ? 'text\n' : 'json\n';
  return { key, door, body: Buffer.concat([Buffer.from(type), request.rawBody ?? Buffer.alloc(0)]) };
}

function toReadings(body: unknown): readonly Reading[] {
  if (body instanceof TextBody) return [{ value: parseValue(body.text, ''), timestampMs: Number.NaN }];
  return parseReadings(body);
}
