// The shapes of rows that are read back besides plain datapoints: those of several sensors, and those of buckets.
import { Type } from 'typebox';
import { anyJson, DeviceIdSchema, datapointFields, SensorIdSchema, timestamp } from './schemas.ts';

const located = {
  device_id: DeviceIdSchema,
  sensor_id: SensorIdSchema,
};

export const LocatedDatapointSchema = Type.Object(
  { ...located, ...datapointFields },
  { title: 'LocatedDatapoint', description: 'A datapoint, and the device and sensor it is of.' },
);

const aggregated = (description: string) => Type.Optional(Type.Number({ description, examples: [21.5] }));

const aggregateFields = {
  timestamp: timestamp('When the bucket begins, UTC.'),
  min: aggregated('The lowest number in it, in the unit of the sensor.'),
  max: aggregated('The highest number in it, in the unit of the sensor.'),
  avg: aggregated('The mean of the numbers in it, in the unit of the sensor.'),
  sum: aggregated('The sum of the numbers in it, in the unit of the sensor.'),
  count: Type.Optional(Type.Integer({ description: 'Datapoints in it, of whatever type.', examples: [4] })),
  first: anyJson('The first value in it, any JSON, in the unit of the sensor.', 21.5),
  last: anyJson('The last value in it, any JSON, in the unit of the sensor.', 21.7),
};

export const AggregateSchema = Type.Object(aggregateFields, {
  title: 'Aggregate',
  description:
    'The datapoints of a span of time put together; what was not asked for, and what needs a number where there is none, is left out.',
});

export const LocatedAggregateSchema = Type.Object(
  { ...located, ...aggregateFields },
  { title: 'LocatedAggregate', description: 'An aggregate, and the device and sensor it is of.' },
);
