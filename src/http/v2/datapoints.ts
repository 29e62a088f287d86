// Pushing and reading datapoints (spec 4.1, contract 5).
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { parseTimestamp } from '../../base/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { Datapoint } from '../../domain/datapoints/datapoint.ts';
import type { HistoryQuery } from '../../domain/datapoints/history.ts';
import type { IdempotencyKey } from '../../domain/datapoints/ingest.ts';
import { parseReadings, parseValue, type Reading } from '../../domain/datapoints/reading.ts';
import { TextBody } from '../bodies.ts';
import { idRule, isId } from '../ids.ts';
import { setLinks } from '../paging.ts';
import { answerDone, asksFor } from '../preference.ts';
import { csvHeader, csvLine } from './csv.ts';
import { toDatapointRecord } from './records.ts';
import { conflict, pageOf, refusals, type Services, type TypedApp, writes } from './routes.ts';
import { DatapointSchema, PushBody, SensorParams } from './schemas.ts';

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

const timestampText = (description: string) => Type.Optional(Type.String({ description }));

const HistoryQueryString = Type.Object({
  lastN: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.lastNMax,
      description: 'The last N by time within the bounds, newest first.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Datapoints at most: default 20, maximum 30 000; CSV and NDJSON have neither.',
    }),
  ),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'Datapoints passed over.' }),
  dateFrom: timestampText('Earliest time, inclusive, such as `2016-06-08T18:20:27Z`.'),
  dateTo: timestampText('Latest time, inclusive, such as `2016-06-08T18:20:27Z`.'),
  date_from: timestampText('Another name for `dateFrom`.'),
  date_to: timestampText('Another name for `dateTo`.'),
  sort: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc'), Type.Literal('dsc')], {
      description: 'By time; `asc` unless said otherwise.',
    }),
  ),
  calibrated: Type.Boolean({ default: true, description: 'False reads the raw values.' }),
  format: Type.Optional(
    Type.Union([Type.Literal('json'), Type.Literal('csv'), Type.Literal('ndjson')], {
      description: 'The same choice as by `Accept`.',
    }),
  ),
});

const doors = [
  ['values', 'pushDatapoints', 'Push datapoints'],
  ['value', 'pushDatapointsToValue', 'Push datapoints, under the other path'],
] as const;

const page = pageOf(DatapointSchema, { description: 'The datapoints.', counted: false });
const history200 = {
  ...page,
  content: {
    ...page.content,
    'text/csv': {
      schema: Type.String({
        description: 'CSV (RFC 4180) with a header line; compound values as JSON.',
        examples: ['timestamp,date_received,value\r\n2016-06-08T18:20:27.873Z,2016-06-08T18:20:28.011Z,21.5\r\n'],
      }),
    },
    'application/x-ndjson': {
      schema: Type.String({
        description: 'A datapoint as JSON on each line.',
        examples: [
          '{"value":21.5,"timestamp":"2016-06-08T18:20:27.873Z","date_received":"2016-06-08T18:20:28.011Z"}\n',
        ],
      }),
    },
  },
};

export function registerDatapoints(app: TypedApp, services: Services): void {
  const { ingest, history } = services;

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

  app.get(
    '/devices/:device/sensors/:sensor/values',
    {
      schema: {
        tags,
        operationId: 'listDatapoints',
        summary: 'Read datapoints',
        description:
          'Ascending by time unless asked otherwise; JSON, CSV or NDJSON by `Accept` or `format`. CSV and NDJSON are streamed, however long the range.',
        params: SensorParams,
        querystring: HistoryQueryString,
        response: { 200: history200, ...refusals },
      },
    },
    async (request, reply) => {
      const { device, sensor } = request.params;
      const format = request.query.format ?? formatOf(request.headers.accept);
      const query = toHistoryQuery(request.query, format);
      if (format !== 'json') {
        const steps = await history.read(request.actor, { ...query, device, sensor });
        return sendStream(reply, format, steps);
      }
      const limit = query.limit as number;
      // One more than asked for tells whether there is a next page.
      const points = await collect(await history.read(request.actor, { ...query, device, sensor, limit: limit + 1 }));
      setLinks(request, reply, { limit, offset: query.offset, hasNext: points.length > limit });
      return points.slice(0, limit).map(toDatapointRecord) as never;
    },
  );
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

type Format = 'json' | 'csv' | 'ndjson';

function formatOf(accept: string | undefined): Format {
  if (asksFor(accept, 'text/csv')) return 'csv';
  return asksFor(accept, 'application/x-ndjson') ? 'ndjson' : 'json';
}

function toHistoryQuery(
  query: Static<typeof HistoryQueryString>,
  format: Format,
): Omit<HistoryQuery, 'device' | 'sensor'> {
  const { lastN, limit, offset, sort, calibrated } = query;
  if (format === 'json' && limit !== undefined && limit > limits.datapointListMax) {
    throw new Refusal('malformed', `limit is from 1 to ${limits.datapointListMax}; CSV and NDJSON have no maximum.`, {
      faults: [{ pointer: '/limit', detail: `must be at most ${limits.datapointListMax}` }],
    });
  }
  // lastN alone is itself the limit; a JSON list without either has the default.
  const fallback = format !== 'json' ? undefined : (lastN ?? limits.datapointListDefault);
  return {
    fromMs: timestampOf(query.dateFrom ?? query.date_from, 'dateFrom'),
    toMs: timestampOf(query.dateTo ?? query.date_to, 'dateTo'),
    lastN,
    descending: sort === 'desc' || sort === 'dsc',
    limit: limit ?? fallback,
    offset,
    calibrated,
  };
}

function timestampOf(text: string | undefined, field: string): number | undefined {
  if (text === undefined) return undefined;
  // A `+` of an offset that was not encoded arrives as a space.
  const ms = parseTimestamp(text) ?? parseTimestamp(text.replace(/ (\d{2}:?\d{2})$/, '+$1'));
  if (ms !== undefined) return ms;
  const detail = 'must be a timestamp such as 2016-06-08T18:20:27Z';
  throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}

async function collect(steps: AsyncGenerator<Datapoint[]>): Promise<Datapoint[]> {
  const points: Datapoint[] = [];
  for await (const step of steps) for (const point of step) points.push(point);
  return points;
}

/** Sends step after step, each only when the one before has gone out: constant memory however long the range. */
function sendStream(
  reply: { type(type: string): { send(payload: unknown): unknown } },
  format: 'csv' | 'ndjson',
  steps: AsyncGenerator<Datapoint[]>,
): never {
  const type = format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson; charset=utf-8';
  const lineOf = format === 'csv' ? csvLine : (point: Datapoint) => `${JSON.stringify(toDatapointRecord(point))}\n`;
  async function* text(): AsyncGenerator<string> {
    if (format === 'csv') yield csvHeader;
    for await (const points of steps) yield points.map(lineOf).join('');
  }
  return reply.type(type).send(Readable.from(text(), { objectMode: false })) as never;
}
