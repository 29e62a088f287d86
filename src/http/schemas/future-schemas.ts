// What lies in the future of a device's datapoints. How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { SensorIdSchema } from './device-schemas.ts';
import { timestamp } from './field-schemas.ts';

const SensorFutureSchema = Type.Object(
  {
    sensor_id: SensorIdSchema,
    count: Type.Integer({ minimum: 1, description: 'How many of its datapoints lie in the future.', examples: [1] }),
    first: timestamp('The time of the earliest of them, UTC.'),
    last: timestamp('The time of the latest of them, UTC.'),
  },
  { title: 'SensorFuture', description: 'The datapoints of one sensor that lie in the future.' },
);

export const DeviceFutureSchema = Type.Object(
  {
    now: timestamp('What the clock of the service shows, UTC.'),
    after: timestamp('Datapoints later than this lie in the future: `now` and five minutes.'),
    clock_in_doubt: Type.Boolean({
      description:
        'True while the clock of the service is in doubt: nobody can say what lies in the future, and `sensors` is empty.',
      examples: [false],
    }),
    sensors: Type.Array(SensorFutureSchema, {
      description: 'The sensors that have datapoints in the future, in the order of the device.',
    }),
  },
  { title: 'DeviceFuture', description: 'The datapoints of a device that are dated in the future.' },
);
