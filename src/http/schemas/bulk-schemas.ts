// Datapoints of many devices in one request, and which were stored (contract 10). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { pushedFields } from './datapoint-schemas.ts';
import { DeviceIdSchema, SensorIdSchema } from './device-schemas.ts';
import { boundedText } from './text-bounds.ts';

const BulkDatapoint = Type.Object(
  { device_id: DeviceIdSchema, sensor_id: SensorIdSchema, ...pushedFields },
  { title: 'BulkDatapoint', description: 'A value with its device, its sensor and the time of measuring.' },
);

export const BulkBody = Type.Unsafe<unknown>({
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

export const BulkAnswer = Type.Object(
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
