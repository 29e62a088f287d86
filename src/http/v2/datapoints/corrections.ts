// Removing and correcting stored datapoints (contract 5).
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { Refusal } from '../../../base/refusal.ts';
import { parseExactJsonText } from '../../../base/text/json-text.ts';
import { limits } from '../../../config/limits.ts';
import type { RemovedRange } from '../../../domain/datapoints/corrections.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import { parseValue } from '../../../domain/datapoints/ingest/reading.ts';
import { CorrectionBody, RemovedSchema } from '../../schemas/datapoint-schemas.ts';
import { DeviceIdSchema, SensorIdSchema, SensorParams } from '../../schemas/device-schemas.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { registerExactJsonParser, TextBody } from '../../server/bodies.ts';
import { answerDone } from '../../server/preference.ts';
import { conflict, damaged, overload, refusals, type TypedApp, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { actorWhileConnected } from '../../sign-in/connected-actor.ts';
import { fault, momentOf } from './query-times.ts';

const tags = ['Datapoints'];

const example = '2016-06-08T18:20:27.873Z';
const time = (description: string) => boundedText(limits.headerTextCharsMax, { description, examples: [example] });

const reason = Type.Optional(
  boundedText(limits.reasonCharsMax, {
    description: 'Why, in a few words; it is kept in the audit log.',
    examples: ['The sensor was out of the ground'],
  }),
);

const RemovalQueryString = Type.Object({
  dateFrom: Type.Optional(time('Earliest time, inclusive, such as `2016-06-08T18:20:27Z`. Needs `dateTo`.')),
  dateTo: Type.Optional(time('Latest time, inclusive; of a date alone its last moment. Needs `dateFrom`.')),
  date_from: Type.Optional(time('Another name for `dateFrom`.')),
  date_to: Type.Optional(time('Another name for `dateTo`.')),
  timestamp: Type.Optional(time('One moment, to the millisecond, in place of the two bounds.')),
  value: Type.Optional(
    boundedText(limits.queryTextCharsMax, {
      description:
        'Only datapoints with this value: JSON such as `-127` or `"open"`; what is no JSON is taken as a text. Compared with what was pushed, without calibration. Needs `devices-data:view` too.',
      examples: ['-127'],
    }),
  ),
  reason,
});
type RemovalQueryString = Static<typeof RemovalQueryString>;

const CorrectedParams = Type.Object({
  device: DeviceIdSchema,
  sensor: SensorIdSchema,
  timestamp: time('The time of the datapoint: its timestamp, or when it was received where it has none.'),
});

const CorrectionQueryString = Type.Object({
  received: Type.Optional(time('When it was received (`date_received`), where several share the time.')),
  reason,
});

export function registerCorrections(app: TypedApp, services: Services): void {
  registerRemovalOfRange(app, services);
  app.register((correcting, _options, done) => {
    registerExactJsonParser(correcting);
    registerCorrection(correcting.withTypeProvider<TypeBoxTypeProvider>(), services);
    done();
  });
}

function registerRemovalOfRange(app: TypedApp, { corrections }: Services): void {
  app.delete(
    '/devices/:device/sensors/:sensor/values',
    {
      schema: {
        tags,
        operationId: 'removeDatapoints',
        summary: 'Remove datapoints',
        description:
          'All of a span (`dateFrom` and `dateTo`), or of one moment (`timestamp`); with `value`, only those with that value. Times are timestamps, or times of receiving where there is none. **200 means: gone from the disk**, from charts, buckets and `last_value`; a crash before leaves all of them or none. What is pushed into the span meanwhile may go with them. Rules are not evaluated; they use what is left as last value. Who pushes the same array again has it stored.',
        params: SensorParams,
        querystring: RemovalQueryString,
        response: {
          200: { description: 'How many were removed.', content: { 'application/json': { schema: RemovedSchema } } },
          ...refusals,
          ...{ 503: overload[503], 507: overload[507] },
          ...damaged,
        },
      },
    },
    async (request, reply) => {
      const { device, sensor } = request.params;
      const actor = actorWhileConnected(request, reply);
      const range = { ...rangeOf(request.query), reason: request.query.reason };
      const removed = await corrections.remove(actor, device, sensor, range);
      return { removed } as never;
    },
  );
}

function registerCorrection(app: TypedApp, { corrections }: Services): void {
  app.put(
    '/devices/:device/sensors/:sensor/values/:timestamp',
    {
      schema: {
        tags,
        operationId: 'correctDatapoint',
        summary: 'Correct a datapoint',
        description:
          'Sets the value of the datapoint of that time; timestamp and `date_received` stay. The value is stored as a push stores it, before calibration. Rules are not evaluated; they use the new value where it is the last.',
        params: CorrectedParams,
        querystring: CorrectionQueryString,
        body: CorrectionBody,
        response: {
          ...writes,
          ...damaged,
          ...conflict('Several datapoints share the time, and the time of receiving where that was named.'),
        },
      },
    },
    async (request, reply) => {
      const { device, sensor, timestamp } = request.params;
      const { received, reason: why } = request.query;
      const correction = {
        atMs: momentOf(timestamp, 'timestamp'),
        receivedMs: received === undefined ? undefined : momentOf(received, 'received'),
        value: newValueOf(request.body),
        reason: why,
      };
      await corrections.correct(actorWhileConnected(request, reply), device, sensor, correction);
      return answerDone(reply as never) as never;
    },
  );
}

/** @throws Refusal `malformed` */
function rangeOf(query: RemovalQueryString): RemovedRange {
  const { timestamp, dateFrom = query.date_from, dateTo = query.date_to } = query;
  const value = query.value === undefined ? undefined : valueInQuery(query.value);
  if (timestamp !== undefined) {
    if (dateFrom !== undefined || dateTo !== undefined) fault('timestamp', 'cannot be used together with bounds');
    const atMs = momentOf(timestamp, 'timestamp');
    return { fromMs: atMs, toMs: atMs, value };
  }
  // Both are asked for, so that a bound that was left out by mistake does not remove everything.
  if (dateFrom === undefined) fault('dateFrom', 'is missing: name both bounds, or one moment as timestamp');
  if (dateTo === undefined) fault('dateTo', 'is missing: name both bounds, or one moment as timestamp');
  const range = { fromMs: momentOf(dateFrom, 'dateFrom'), toMs: momentOf(dateTo, 'dateTo', { isEnd: true }), value };
  if (range.fromMs > range.toMs) fault('dateTo', 'must not be before dateFrom');
  return range;
}

function valueInQuery(text: string): StoredValue {
  try {
    return parseValue(parseExactJsonText(Buffer.from(text), limits.nestingLevelsMax), '/value');
  } catch (error) {
    if (error instanceof Refusal && error.code !== 'malformed') throw error;
    return parseValue(text, '/value');
  }
}

function newValueOf(body: unknown): StoredValue {
  if (body instanceof TextBody) throw new Refusal('unsupported', 'Send application/json, such as {"value": 21.5}.');
  const { value } = body as Static<typeof CorrectionBody>;
  return parseValue(value as never, '/value');
}
