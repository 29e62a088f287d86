// Pushing datapoints of many devices in one request, with a report line by line (contract 10).
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { pushedFields } from '../schemas/datapoint-schemas.ts';
import { DeviceIdSchema, SensorIdSchema } from '../schemas/device-schemas.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { LinesBody, TextBody } from '../server/bodies.ts';
import { PushHeaders, toIdempotencyKey } from '../server/idempotency.ts';
import { prefersNoNotify } from '../server/preference.ts';
import { conflict, overload, refusals, type Services, type TypedApp } from '../server/routes.ts';
import { toBulkRequest } from './bulk-lines.ts';

const BulkDatapoint = Type.Object(
  { device_id: DeviceIdSchema, sensor_id: SensorIdSchema, ...pushedFields },
  { title: 'BulkDatapoint', description: 'A value with its device, its sensor and the time of measuring.' },
);

const BulkBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: Type.Array(BulkDatapoint, {
        maxItems: limits.pushDatapointsMax,
        description: 'Datapoints; the first is line 1.',
        examples: [
          [
            { device_id: 'field-3', sensor_id: 'TC', timestamp: '2016-06-08T18:20:27Z', value: 21.5 },
            { device_id: 'field-4', sensor_id: 'TC', timestamp: '2016-06-08T18:20:27Z', value: 20.9 },
          ],
        ],
      }),
    },
    'application/x-ndjson': {
      schema: boundedText(limits.bodyBytesMax, {
        description: 'A datapoint as JSON on each line; empty lines are ignored.',
        examples: ['{"device_id":"field-3","sensor_id":"TC","timestamp":"2016-06-08T18:20:27Z","value":21.5}\n'],
      }),
    },
    'text/csv': {
      schema: boundedText(limits.bodyBytesMax, {
        description:
          'CSV (RFC 4180). A first line that names `device_id` gives the order of the columns, others are ignored; without one the order is `device_id,sensor_id,timestamp,value`. A `value` that is JSON (`21.5`, `true`, `null`, `"text"`, `{"a":1}` with its quotes doubled) is that JSON, any other is a string; an empty `timestamp` is none.',
        examples: ['device_id,sensor_id,timestamp,value\r\nfield-3,TC,2016-06-08T18:20:27Z,21.5\r\n'],
      }),
    },
  },
});

const BulkAnswer = Type.Object(
  {
    accepted: Type.Integer({ description: 'Number of datapoints committed to disk.', examples: [1] }),
    refused: Type.Array(
      Type.Object(
        {
          line: Type.Integer({
            description:
              'Number of the line in the body, from 1; in an array, of the element. A row of CSV that spans several lines counts by its first.',
            examples: [2],
          }),
          detail: Type.String({
            description: 'What was wrong, or what would be right.',
            examples: ['There is no device field-4.'],
          }),
        },
        { title: 'RefusedLine', description: 'A line that was not stored, and why.' },
      ),
      { description: 'The lines that were not stored, in their order.' },
    ),
  },
  { title: 'BulkAnswer', description: 'What was stored of a bulk request, and what was not.' },
);

export function registerBulk(app: TypedApp, { bulk }: Services): void {
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
      const isQuiet = (body instanceof LinesBody && body.kind === 'csv') || prefersNoNotify(request);
      const lines = { ...(await toBulkRequest(body, actor.caller)), isQuiet };
      return (
        idempotency === undefined ? await bulk.accept(actor, lines) : await bulk.acceptOnce(actor, lines, idempotency)
      ) as never;
    },
  );
}

/** The same bytes as another type are other lines. */
function typeOf(body: unknown): string {
  return body instanceof LinesBody ? body.kind : 'json';
}
