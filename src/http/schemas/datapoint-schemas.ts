// Datapoints as they are pushed and as they are read (spec 2.3, contract 5). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { timestamp } from './field-schemas.ts';
import { boundedText, jsonBytes } from './text-bounds.ts';

export const datapointFields = {
  value: Type.Unknown({
    description: 'The measured value in the unit of the sensor, any JSON. Numbers are calibrated if the sensor is.',
    examples: [21.5],
  }),
  timestamp: Type.Optional(timestamp('When it was measured, UTC; absent when the sender had no clock.')),
  date_received: timestamp('When the service received it, UTC.'),
};

export const datapointWords = {
  title: 'Datapoint',
  description: 'A value, when it was measured and when it was received.',
};

export const DatapointSchema = Type.Object(datapointFields, datapointWords);

export const pushedFields = {
  value: Type.Unknown({
    ...jsonBytes(limits.valueBytesMax),
    description: 'The measured value in the unit of the sensor: any JSON of at most 64 KiB. `null` is a value.',
    examples: [21.5],
  }),
  timestamp: Type.Optional(
    Type.Union([boundedText(limits.wordCharsMax), Type.Null()], {
      description:
        'When it was measured: RFC 3339, or another form of ISO 8601 (without seconds, basic, a date alone); UTC if it names no zone. A sender without a clock leaves it out: the datapoint then counts as measured when the service received it.',
      examples: ['2016-06-08T18:20:27.873Z'],
    }),
  ),
};

const PushedDatapoint = Type.Object(pushedFields, {
  title: 'NewDatapoint',
  description: 'A value and when it was measured.',
});

/**
 * One datapoint or an array of them; all are stored or none (spec 4.1, contract 5). The schema describes the body to
 * readers of the API; the domain validates it while it parses it, because validating 30 000 items twice would be slow.
 */
export const PushBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: {
        anyOf: [
          PushedDatapoint,
          Type.Array(PushedDatapoint, {
            maxItems: limits.pushDatapointsMax,
            description: 'Up to 30 000 datapoints. Either all are stored or none.',
          }),
        ],
        description: 'One datapoint, or an array of up to 30 000 of which all are stored or none.',
        'x-examples': {
          one: { summary: 'One datapoint', value: { value: 21.5, timestamp: '2016-06-08T18:20:27.873Z' } },
          several: {
            summary: 'Several at once',
            value: [
              { value: 21.5, timestamp: '2016-06-08T18:20:00Z' },
              { value: 21.7, timestamp: '2016-06-08T18:30:00Z' },
            ],
          },
          clockless: {
            summary: 'From a sender without a clock',
            value: { value: { latitude: 16.03, longitude: -16.49 } },
          },
        },
      },
    },
    'text/plain': {
      schema: boundedText(limits.valueBytesMax, {
        ...jsonBytes(limits.valueBytesMax),
        description: 'The text becomes one datapoint with a string value and without a timestamp.',
        examples: ['door open'],
      }),
    },
  },
});

/** The body of a correction. */
export const CorrectionBody = Type.Object(
  { value: pushedFields.value },
  { title: 'Correction', description: 'The new value of a datapoint.', examples: [{ value: 21.5 }] },
);

export const RemovedSchema = Type.Object(
  { removed: Type.Integer({ description: 'Number of datapoints that were removed.', examples: [12] }) },
  { title: 'Removed', description: 'How many datapoints were removed.' },
);
