// Alarms: what is wrong, since when, and what people did about it. How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { alarmKinds } from '../../domain/alarms/alarm.ts';
import { timestamp, UsernameSchema } from './field-schemas.ts';
import { boundedText } from './text-bounds.ts';

const AlarmIdSchema = Type.String({
  minLength: 1,
  maxLength: 36,
  description: 'The id of the alarm, made by the service.',
  examples: ['7f3bfb5e-7d9e-4a55-9c1c-2f0ad1f4f7e4'],
});
export const AlarmParams = Type.Object({ alarm: AlarmIdSchema });

export const AlarmKindSchema = Type.Unsafe<(typeof alarmKinds)[number]>({
  type: 'string',
  enum: [...alarmKinds],
  description:
    '`rule`: the condition of a notification holds. `silence`: a sensor has sent nothing for longer than is usual for it. `gateway`: a gateway was not heard for longer than is usual for it, and is not connected. `storage`: the service refuses what it should store (for admins).',
  examples: ['rule'],
});

const text = (description: string, example: string) => Type.Optional(Type.String({ description, examples: [example] }));

const AcknowledgementSchema = Type.Object(
  {
    at: timestamp('When, UTC.'),
    by: text('Username of who did; absent where that user was removed.', 'awa'),
    note: text('What they noted.', 'Pump is ordered, here on Monday.'),
  },
  { description: 'Somebody sees to it. Absent: nobody has said so.' },
);

export const AlarmSchema = Type.Object(
  {
    id: AlarmIdSchema,
    kind: AlarmKindSchema,
    state: Type.Unsafe<'active' | 'cleared'>({
      type: 'string',
      enum: ['active', 'cleared'],
      description: '`active` as long as it holds, then `cleared`.',
      examples: ['active'],
    }),
    since: timestamp('When it began, UTC; a silence when its sensor or gateway was last heard.'),
    cleared: Type.Optional(timestamp('When it ended, UTC; absent while it is active.')),
    times: Type.Integer({
      minimum: 1,
      description: `How often it began: one that begins again within ${limits.alarmReopenMs / 60_000} minutes after it ended is the same alarm.`,
      examples: [1],
    }),
    value: Type.Optional(
      Type.Unknown({ description: 'The value that began it, calibrated. Only for `rule`.', examples: [41.5] }),
    ),
    threshold: Type.Optional(
      Type.Number({
        description:
          'For `rule` the first number with which the condition compares the sensor, in the unit of its values. For `silence`, `gateway` and rules on silence alone the seconds after which quiet is an alarm.',
        examples: [40],
      }),
    ),
    condition: text('The expression of the rule; for `storage` why it refuses.', 'TC>40'),
    usual_interval: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Seconds between two receptions, as is usual for the sensor. Only for `silence`.',
        examples: [600],
      }),
    ),
    device_id: text('The device that it is about.', 'field-3'),
    device_name: text('The name of the device.', 'Field 3'),
    sensor_id: text('The sensor that it is about, or whose value began it.', 'TC'),
    sensor_name: text('The name of the sensor.', 'Temperature'),
    unit: text('The unit of the sensor.', 'degree Celsius'),
    location: Type.Optional(
      Type.Unknown({
        description: 'The position of the device or gateway, as it was given.',
        examples: [{ latitude: 16.03, longitude: -16.49 }],
      }),
    ),
    gateway_id: text('The gateway that it is about, or of the device.', 'gateway-1'),
    gateway_name: text(
      'The name of the gateway that it is about, or of the device, where you may view it.',
      'Roof of the school',
    ),
    notification_id: text('The notification whose condition holds.', '5f3bfb5e7d9e4a559c1c2f0a'),
    notification_description: text('Its description.', 'Too hot for the seedlings'),
    acknowledged: Type.Optional(AcknowledgementSchema),
    snoozed_until: Type.Optional(timestamp('Until when somebody asked for quiet, UTC.')),
    assigned_to: text('Username of who is to see to it.', 'moussa'),
    may_update: Type.Boolean({
      description: 'Whether you may acknowledge, snooze and assign it.',
      examples: [true],
    }),
  },
  {
    title: 'Alarm',
    description: 'Something is or was wrong with a device, a gateway or the service itself.',
    examples: [
      {
        id: '7f3bfb5e-7d9e-4a55-9c1c-2f0ad1f4f7e4',
        kind: 'silence',
        state: 'active',
        since: '2016-06-08T18:20:27Z',
        times: 1,
        threshold: 3000,
        usual_interval: 600,
        device_id: 'field-3',
        sensor_id: 'TC',
        may_update: true,
      },
    ],
  },
);

export const AcknowledgementBody = Type.Object(
  {
    note: Type.Optional(
      boundedText(limits.alarmNoteCharsMax, {
        description: 'What is to be said about it.',
        examples: ['Pump is ordered, here on Monday.'],
      }),
    ),
  },
  { title: 'Acknowledgement', description: 'You see to it. The note of before is replaced.', examples: [{}] },
);

export const SnoozeBody = Type.Object(
  {
    until: boundedText(limits.wordCharsMax, {
      description: `A time within the next ${limits.alarmSnoozeMsMax / 86_400_000} days.`,
      examples: ['2026-02-01T07:00:00Z'],
    }),
  },
  { title: 'Snooze', description: 'Quiet is asked for until then.', examples: [{ until: '2026-02-01T07:00:00Z' }] },
);

export const AssignmentBody = Type.Object(
  { username: UsernameSchema },
  {
    title: 'Assignment',
    description: 'A user who may see the alarm is to see to it.',
    examples: [{ username: 'awa' }],
  },
);
