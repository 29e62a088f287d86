// Rows of histories: datapoints of several sensors, and aggregates over buckets of time (contract 5). How schemas are
// used: field-schemas.ts.
import { Type } from 'typebox';
import { datapointFields } from './datapoint-schemas.ts';
import { DeviceIdSchema, SensorIdSchema } from './device-schemas.ts';
import { anyJson, timestamp } from './field-schemas.ts';

const located = {
  device_id: DeviceIdSchema,
  sensor_id: SensorIdSchema,
};

export const LocatedDatapointSchema = Type.Object(
  { ...located, ...datapointFields },
  { title: 'LocatedDatapoint', description: 'A datapoint with its device and sensor.' },
);

const aggregated = (description: string) => Type.Optional(Type.Number({ description, examples: [21.5] }));

const aggregateFields = {
  timestamp: timestamp('When the bucket begins, UTC.'),
  min: aggregated('The lowest number of the bucket, in the unit of the sensor.'),
  max: aggregated('The highest number of the bucket, in the unit of the sensor.'),
  avg: aggregated('The mean of the numbers of the bucket, in the unit of the sensor.'),
  sum: aggregated('The sum of the numbers of the bucket, in the unit of the sensor.'),
  count: Type.Optional(
    Type.Integer({ description: 'The number of datapoints of the bucket, whatever their type.', examples: [4] }),
  ),
  first: anyJson('The first value of the bucket, any JSON, in the unit of the sensor.', 21.5),
  last: anyJson('The last value of the bucket, any JSON, in the unit of the sensor.', 21.7),
};

export const AggregateSchema = Type.Object(aggregateFields, {
  title: 'Aggregate',
  description:
    'The datapoints of one bucket of time as one row. Aggregates that were not requested are absent; `min`, `max`, `avg` and `sum` are also absent where the bucket has no numbers.',
});

export const LocatedAggregateSchema = Type.Object(
  { ...located, ...aggregateFields },
  { title: 'LocatedAggregate', description: 'An aggregate with its device and sensor.' },
);
