// Reading datapoints (contract 5 and 10): of one sensor or of several, as they are, by buckets of time, or downsampled
// for a chart; as JSON, CSV, NDJSON or Parquet.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { Refusal } from '../../../base/refusal.ts';
import { TimeZone } from '../../../base/time/time-zone.ts';
import { limits } from '../../../config/limits.ts';
import { type BucketRequest, bucketSizeRule, parseBucketSize } from '../../../domain/datapoints/history/buckets.ts';
import { pointsMin } from '../../../domain/datapoints/history/downsample.ts';
import type { History, Selection } from '../../../domain/datapoints/history/history.ts';
import { columnText } from '../../lists/column-text.ts';
import { type AggregateName, aggregateNames, aggregateRows, datapointRows } from '../../lists/datapoint-rows.ts';
import { openPieces } from '../../lists/json-pieces.ts';
import { type Format, formatOf, parquetType, sendPieces, sendRows } from '../../lists/row-streams.ts';
import { DatapointSchema } from '../../schemas/datapoint-schemas.ts';
import { SensorParams } from '../../schemas/device-schemas.ts';
import { AggregateSchema, LocatedAggregateSchema, LocatedDatapointSchema } from '../../schemas/history-schemas.ts';
import { idsOf } from '../../schemas/ids.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { damaged, offsetParameter, pageOf, refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { actorWhileConnected } from '../../sign-in/connected-actor.ts';
import { fault, timestampOf } from './query-times.ts';

const tags = ['Datapoints'];

const optionalText = (description: string) => Type.Optional(boundedText(limits.headerTextCharsMax, { description }));
const names = aggregateNames.join(', ');

const historyFields = {
  lastN: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.lastNMax,
      description: 'The last N by time within the bounds, newest first; of several sensors, the last N of each.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listEntriesMax,
      description:
        'Maximum number of rows. For JSON 20 by default and at most 30 000; CSV, NDJSON and Parquet have neither default nor maximum, and with `bucket` or `points` there is no default.',
    }),
  ),
  offset: offsetParameter('Rows'),
  dateFrom: optionalText('Earliest time, inclusive, such as `2016-06-08T18:20:27Z`; of a date alone its first moment.'),
  dateTo: optionalText('Latest time, inclusive, such as `2016-06-08T18:20:27Z`; of a date alone its last moment.'),
  date_from: optionalText('Another name for `dateFrom`.'),
  date_to: optionalText('Another name for `dateTo`.'),
  sort: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc'), Type.Literal('dsc')], {
      description: 'The order by time; `asc` by default.',
    }),
  ),
  calibrated: Type.Boolean({ default: true, description: '`false` returns values without calibration.' }),
  format: Type.Optional(
    Type.Union([Type.Literal('json'), Type.Literal('csv'), Type.Literal('ndjson'), Type.Literal('parquet')], {
      description: 'The same choice as by `Accept`.',
    }),
  ),
  exact: Type.Boolean({
    default: false,
    description:
      'In CSV, writes every value as JSON, texts between quotes and null as `null`, so that an import reads back the same values.',
  }),
  csv: Type.Optional(
    Type.Unsafe<'spreadsheet'>({
      type: 'string',
      enum: ['spreadsheet'],
      description:
        'For CSV files that are opened in a spreadsheet: puts an apostrophe before texts that begin with `=`, `+`, `-`, `@`, a tab or a line break and are no numbers, so that the spreadsheet takes none for a formula.',
    }),
  ),
  bucket: optionalText(
    'Aggregates datapoints by buckets of time. The length of a bucket is a number and a unit: seconds (`s`), minutes (`m`) or hours (`h`) that divide a day, days (`d`), weeks from Monday (`w`), months (`mo`) or years (`y`), such as `15m`, `1h`, `1d`.',
  ),
  timezone: optionalText(
    'A time zone of the IANA database, such as `Africa/Dakar`; UTC by default. Bounds without an offset are read in it, buckets begin in it (a day on which clocks change has 23 or 25 hours), and CSV and Parquet have a local time beside each time in UTC.',
  ),
  aggregate: optionalText(
    `The aggregates of each bucket, separated by commas, of ${names}; all by default. They are calculated from calibrated values: min, max, avg and sum from numbers only, count, first and last from all values.`,
  ),
  points: Type.Optional(
    Type.Integer({
      minimum: pointsMin,
      maximum: limits.pointsMax,
      description:
        'Downsamples each sensor to at most this many datapoints, chosen so that a chart looks the same (method M4: the first, lowest, highest and last datapoint of each of N/4 spans of time). They include the extremes and both ends.',
    }),
  ),
};

const HistoryQueryString = Type.Object(historyFields);
type HistoryQueryString = Static<typeof HistoryQueryString>;

const SensorsQueryString = Type.Object({
  device_id: boundedText(limits.queryTextCharsMax, {
    minLength: 1,
    description:
      'Ids of devices, separated by commas; a comma within an id is written `%252C`. The caller must be allowed to read all of them.',
    examples: ['field-3'],
  }),
  sensor_id: Type.Optional(
    boundedText(limits.queryTextCharsMax, {
      minLength: 1,
      description: 'Ids of sensors, separated by commas; a device may lack some of them. Left out: all sensors.',
      examples: ['TC'],
    }),
  ),
  ...historyFields,
});

export function registerHistory(app: TypedApp, { history }: Services): void {
  app.get(
    '/devices/:device/sensors/:sensor/values',
    {
      schema: {
        tags,
        operationId: 'listDatapoints',
        summary: 'Read datapoints',
        description:
          'Ascending by time unless asked otherwise; JSON, CSV, NDJSON or Parquet by `Accept` or `format`. All but JSON are streamed, however long the range. With `bucket` the rows are aggregates, with `points` a choice for a chart.',
        params: SensorParams,
        querystring: HistoryQueryString,
        response: {
          200: rowsResponse(DatapointSchema, AggregateSchema, '', 'The datapoints, or a row for each bucket.'),
          ...refusals,
          ...damaged,
        },
      },
    },
    (request, reply) => {
      const { device, sensor } = request.params;
      const selection = { devices: [device], sensors: [sensor] };
      return answer(history, request, reply as never, { query: request.query, selection, isLocated: false }) as never;
    },
  );

  app.get(
    '/sensors_data',
    {
      schema: {
        tags,
        operationId: 'listSensorsData',
        summary: 'Read several sensors at once',
        description: `Up to ${limits.sensorsReadMax} sensors, merged by time; equal times in the order in which they were received, and what was received together by the id of the sensor. Each row says of which device and sensor it is. \`lastN=1\` gives the newest datapoint of each sensor. A device that may not be read, or an id that is unknown, refuses the whole request.`,
        querystring: SensorsQueryString,
        response: {
          200: rowsResponse(
            LocatedDatapointSchema,
            LocatedAggregateSchema,
            'device_id,sensor_id,',
            'The datapoints, or a row for each sensor and bucket.',
          ),
          ...refusals,
          ...damaged,
        },
      },
    },
    (request, reply) => {
      const { device_id, sensor_id, ...query } = request.query;
      const devices = idsOf(device_id, 'device_id');
      const selection = { devices, sensors: sensor_id === undefined ? undefined : idsOf(sensor_id, 'sensor_id') };
      return answer(history, request, reply as never, { query, selection, isLocated: true }) as never;
    },
  );
}

function rowsResponse(datapoint: object, aggregate: object, csvPlace: string, description: string) {
  const page = pageOf({ anyOf: [datapoint, aggregate] }, { description, counted: false });
  const place = csvPlace === '' ? '' : 'field-3,TC,';
  const record = csvPlace === '' ? '' : '"device_id":"field-3","sensor_id":"TC",';
  return {
    ...page,
    content: {
      ...page.content,
      'text/csv': {
        schema: Type.String({
          description: 'CSV (RFC 4180) with a header line; compound values as JSON.',
          examples: [
            `${csvPlace}timestamp,date_received,value\r\n${place}2016-06-08T18:20:27.873Z,2016-06-08T18:20:28.011Z,21.5\r\n`,
          ],
        }),
      },
      [parquetType]: {
        schema: Type.String({
          description:
            'An Apache Parquet file: `timestamp` and `date_received` as timestamps of milliseconds UTC, numbers in `value` as doubles, any other value as JSON text in `value_json`.',
        }),
      },
      'application/x-ndjson': {
        schema: Type.String({
          description: 'A row as JSON on each line.',
          examples: [
            `{${record}"value":21.5,"timestamp":"2016-06-08T18:20:27.873Z","date_received":"2016-06-08T18:20:28.011Z"}\n`,
          ],
        }),
      },
    },
  };
}

interface HistoryRequest {
  readonly query: HistoryQueryString;
  readonly selection: Selection;
  readonly isLocated: boolean;
}

async function answer(
  history: History,
  request: FastifyRequest,
  reply: FastifyReply,
  { query, selection, isLocated }: HistoryRequest,
): Promise<FastifyReply> {
  const actor = actorWhileConnected(request, reply);
  const { bucket, points, lastN, offset, calibrated } = query;
  const format = query.format ?? formatOf(request.headers.accept);
  assertTogether(query);
  const zone = query.timezone === undefined ? undefined : zoneOf(query.timezone);
  const common = {
    selection,
    fromMs: timestampOf(query.dateFrom ?? query.date_from, 'dateFrom', { zone }),
    toMs: timestampOf(query.dateTo ?? query.date_to, 'dateTo', { zone, isEnd: true }),
    descending: query.sort === 'desc' || query.sort === 'dsc',
    offset,
    calibrated,
  };
  const limit = limitOf(query, format);
  const heldBytes = isLocated ? limits.readBytes : 0;
  const isForSpreadsheet = query.csv === 'spreadsheet';
  if (bucket !== undefined) {
    const buckets = bucketsOf(bucket, query.timezone);
    const text = aggregateRows(aggregatesOf(query.aggregate), { isLocated, isForSpreadsheet, zone });
    const open = (max: number | undefined) => history.aggregate(actor, { ...common, buckets, limit: max });
    return sendRows(request, reply, format, { text, open, limit, offset, heldBytes });
  }
  const text = datapointRows({ isLocated, isExact: query.exact, isForSpreadsheet, zone });
  const isText = !isLocated && (format === 'json' || format === 'ndjson');
  if (points !== undefined && isText) {
    const open = (max: number | undefined) => history.downsampleColumns(actor, { ...common, points, limit: max });
    const pieces = openPieces(open, columnText, { format, caller: actor.caller });
    return sendPieces(request, reply, format, { open: pieces, limit, offset, heldBytes });
  }
  if (points !== undefined) {
    const open = (max: number | undefined) => history.downsample(actor, { ...common, points, limit: max });
    return sendRows(request, reply, format, { text, open, limit, offset, heldBytes });
  }
  // lastN alone is the limit; a JSON list without either has the default.
  const all = lastN === undefined || isLocated ? undefined : lastN;
  const fallback = lastN === undefined ? limits.datapointListDefault : (all ?? limits.datapointListMax);
  const rows = limit ?? (format === 'json' ? fallback : undefined);
  if (isText) {
    const asked = { ...common, lastN, encoding: format === 'json' ? 'json' : 'ndjson' } as const;
    const open = (max: number | undefined) => history.readText(actor, { ...asked, limit: max });
    const release = (text: Uint8Array) => history.release(text);
    return sendPieces(request, reply, format, { open, limit: rows, offset, heldBytes, release });
  }
  const open = (max: number | undefined) => history.read(actor, { ...common, lastN, limit: max });
  return sendRows(request, reply, format, { text, open, limit: rows, offset, heldBytes });
}

/** @throws Refusal `malformed` for parameters that contradict each other. */
function assertTogether({ bucket, points, lastN, aggregate }: HistoryQueryString): void {
  if (bucket !== undefined && points !== undefined) fault('points', 'cannot be used together with bucket');
  if (lastN !== undefined && bucket !== undefined) fault('lastN', 'cannot be used together with bucket');
  if (lastN !== undefined && points !== undefined) fault('lastN', 'cannot be used together with points');
  if (bucket === undefined && aggregate !== undefined) fault('aggregate', 'needs a bucket, such as bucket=1h');
}

function limitOf({ limit }: HistoryQueryString, format: Format): number | undefined {
  if (format === 'json' && limit !== undefined && limit > limits.datapointListMax) {
    throw new Refusal('malformed', `limit is from 1 to ${limits.datapointListMax}; other formats have no maximum.`, {
      faults: [{ pointer: '/limit', detail: `must be at most ${limits.datapointListMax}` }],
    });
  }
  return limit;
}

function bucketsOf(bucket: string, timezone = 'UTC'): BucketRequest {
  const size = parseBucketSize(bucket);
  if (size === undefined) fault('bucket', bucketSizeRule);
  return { size, timezone: zoneNameOf(timezone) };
}

/** An unescaped `+` of an offset such as +05:30 arrives as a space. */
function zoneNameOf(timezone: string): string {
  return timezone.replace(/^ /, '+');
}

/** @throws Refusal `malformed` where there is no such zone. */
function zoneOf(timezone: string): TimeZone {
  const zone = TimeZone.find(zoneNameOf(timezone));
  return zone ?? fault('timezone', 'must be a time zone of the IANA database, such as Africa/Dakar or UTC');
}

function aggregatesOf(aggregate: string | undefined): readonly AggregateName[] {
  if (aggregate === undefined) return aggregateNames;
  const asked = aggregate.split(',');
  for (const name of asked) {
    if (!aggregateNames.some((known) => known === name)) fault('aggregate', `must be some of ${names}, with commas`);
  }
  return asked as AggregateName[];
}
