// Settings of actuators: the history of who set what (contract 4).
import { Type } from 'typebox';
import { settingDoors } from '../../domain/devices/setting.ts';
import { anyJson, timestamp } from './field-schemas.ts';

export const SettingSchema = Type.Object(
  {
    value: anyJson('The value that was set, any JSON.', true),
    timestamp: timestamp('When it was set, UTC.'),
    door: Type.Unsafe<string>({
      type: 'string',
      enum: settingDoors,
      description:
        'Where it came in: `rest`, `dashboard` (a session of the dashboard), `mqtt`, or `rule` (a notification that sets actuators).',
      examples: ['rest'],
    }),
    username: Type.Optional(
      Type.String({
        description:
          'Who set it. Shown to the owner of the device and to admins, and to users of their own settings; absent where the user was removed, or the device was handed over since.',
        examples: ['awa'],
      }),
    ),
    key: Type.Optional(
      Type.String({
        description: 'Name of the API key that was used; absent where it was revoked. Shown as `username`.',
        examples: ['gateway key'],
      }),
    ),
    rule: Type.Optional(
      Type.String({
        description: 'Id of the notification that set it. Shown as `username`.',
        examples: ['5f0a1b2c3d4e5f6071829304'],
      }),
    ),
    delivered: Type.Boolean({
      description:
        'Whether it was handed to the MQTT connection of the gateway of the device; where there is no such gateway, to one of a user who may set the actuator.',
      examples: [true],
    }),
    date_delivered: Type.Optional(timestamp('When it was handed over, UTC.')),
    confirmed: Type.Boolean({ description: 'Whether the device confirmed it.', examples: [false] }),
    date_confirmed: Type.Optional(timestamp('When the device confirmed it, UTC.')),
    ack: anyJson('What the device answered, any JSON; absent where its answer was empty.', { position: 40 }),
  },
  { title: 'Setting', description: 'A value that was set for an actuator, and what became of it.' },
);
