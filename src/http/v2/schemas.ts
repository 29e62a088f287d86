// The shapes of version 2 on the wire, each once: they validate requests, type handlers and describe the API.
// Unknown fields are ignored; a field that is null counts as absent (drop-nulls.ts).
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';

/** Printable ASCII without spaces and without & ? / # + < > " ' = ; ( ) (contract 1). */
const idPattern = '^(?!\\.{1,2}$)[!$%*,\\-.0-9:@A-Z\\[\\\\\\]^_`a-z{|}~]+$';

const text = (description: string) => Type.Optional(Type.String({ maxLength: limits.textCharsMax, description }));
const id = (description: string) =>
  Type.String({ minLength: 1, maxLength: limits.idCharsMax, pattern: idPattern, description });
const anyJson = (description: string) => Type.Optional(Type.Unknown({ description }));
const timestamp = (description: string) =>
  Type.String({ description, format: 'date-time', examples: ['2016-06-08T18:20:27.873Z'] });

export const DeviceIdSchema = id(
  'Id of the device, unique among all devices, chosen by whoever creates it (spec 2.1).',
);
export const SensorIdSchema = id('Id of the sensor, unique within its device (spec 2.2).');
export const ActuatorIdSchema = id('Id of the actuator, unique within its device.');

export const DeviceParams = Type.Object({ device: DeviceIdSchema });
export const SensorParams = Type.Object({ device: DeviceIdSchema, sensor: SensorIdSchema });
export const ActuatorParams = Type.Object({ device: DeviceIdSchema, actuator: ActuatorIdSchema });

export const VisibilitySchema = Type.Union([Type.Literal('public'), Type.Literal('private')], {
  description:
    '`public`: everyone sees the device and may push; `private`: only its owner and those it is shared with.',
});

export const LocationSchema = Type.Object(
  {
    latitude: Type.Optional(Type.Number({ description: 'Degrees north.' })),
    longitude: Type.Optional(Type.Number({ description: 'Degrees east.' })),
  },
  { description: 'GPS position (spec 2.1), read back as it was given.' },
);

const MetaSchema = Type.Object(
  {},
  { description: 'Any JSON object, at most 64 KiB; for the owner to keep what they like.' },
);

const CalibPoint = Type.Object({
  sensor_value: Type.Number({ description: 'What the sensor reads.' }),
  real_value: Type.Number({ description: 'What is true.' }),
});

export const CalibSchema = Type.Object(
  {
    linear: Type.Optional(
      Type.Object({
        enabled: Type.Boolean({ description: 'Whether reads are corrected.' }),
        value_min: Type.Optional(CalibPoint),
        value_max: Type.Optional(CalibPoint),
      }),
    ),
  },
  { description: 'Online calibration: reads give the line through the two points; stored values stay raw.' },
);

const sensorFields = {
  id: SensorIdSchema,
  name: text('Human-readable name.'),
  sensing_device: text('Kind of physical sensor, for example a soil thermometer.'),
  sensor_kind: text('Another name for `sensing_device`; the kind is read back under the name it was given by.'),
  quantity_kind: text('What is measured, for example soil temperature.'),
  unit: text('Unit of measurement, for example degree Celsius.'),
  calib: Type.Optional(CalibSchema),
  meta: Type.Optional(MetaSchema),
};

export const SensorBody = Type.Object(sensorFields, {
  description: 'A sensor to add; a `value` in it is ignored: values are pushed.',
});

const ValueTypeSchema = Type.Union(
  ['string', 'number', 'bool', 'null', 'object', 'array'].map((name) => Type.Literal(name)),
  { description: 'The JSON type that values must have.' },
);

const actuatorFields = {
  id: ActuatorIdSchema,
  name: text('Human-readable name.'),
  actuator_kind: text('Kind of actuator, for example a valve.'),
  actuator_value_type: Type.Optional(ValueTypeSchema),
  value_type: Type.Optional(ValueTypeSchema),
  meta: Type.Optional(MetaSchema),
};

export const ActuatorBody = Type.Object({ ...actuatorFields, value: anyJson('The value to begin with, any JSON.') });

const deviceFields = {
  gateway_id: text('Id of the gateway the device is connected to; an empty one is none.'),
  name: text('Human-readable name.'),
  domain: text('Groups the devices of one application domain.'),
  location: Type.Optional(LocationSchema),
  meta: Type.Optional(MetaSchema),
  deployed: Type.Optional(Type.Boolean({ description: 'Whether the device is in its place.' })),
};

export const DeviceBody = Type.Object(
  {
    id: DeviceIdSchema,
    ...deviceFields,
    visibility: Type.Optional(VisibilitySchema),
    sensors: Type.Optional(
      Type.Array(SensorBody, { description: 'Sensors of the device; values are pushed, not created.' }),
    ),
    actuators: Type.Optional(Type.Array(ActuatorBody)),
  },
  {
    description: 'A device to create; only `id` is required.',
    examples: [{ id: 'field-3', name: 'Field 3', sensors: [{ id: 'TC', unit: '°C' }] }],
  },
);
export type DeviceBody = Static<typeof DeviceBody>;
export type SensorBody = Static<typeof SensorBody>;
export type ActuatorBody = Static<typeof ActuatorBody>;

export const DatapointSchema = Type.Object({
  value: Type.Unknown({
    description: 'What was measured: any JSON, corrected by the calibration of the sensor where there is one.',
  }),
  timestamp: Type.Optional(timestamp('When it was measured, UTC; absent when the sender had no clock.')),
  date_received: timestamp('When the service received it, UTC.'),
});

export const SensorSchema = Type.Object({
  ...sensorFields,
  last_value: Type.Optional(DatapointSchema),
  value: Type.Optional(DatapointSchema),
});

export const ActuatorSchema = Type.Object({ ...actuatorFields, value: anyJson('The value set last.') });

export const DeviceSchema = Type.Object({
  id: DeviceIdSchema,
  ...deviceFields,
  visibility: VisibilitySchema,
  sensors: Type.Array(SensorSchema),
  actuators: Type.Array(ActuatorSchema),
  owner: Type.String({ description: 'Username of the owner; `guest` for what was created without a token.' }),
  date_created: timestamp('When the device was created, UTC.'),
  date_modified: timestamp('When the device, one of its parts or a value changed last, UTC.'),
});

const PushedDatapoint = Type.Object({
  value: Type.Unknown({ description: 'What was measured: any JSON, at most 64 KiB. `null` is a value.' }),
  timestamp: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: 'When it was measured: RFC 3339, UTC where it names no zone. Leave it out where there is no clock.',
    }),
  ),
});

export const PushBody = Type.Unsafe<unknown>({
  anyOf: [PushedDatapoint, Type.Array(PushedDatapoint, { maxItems: limits.pushDatapointsMax })],
  description: 'One datapoint, or an array of up to 30 000 that are stored all or none.',
  examples: [{ value: 21.5, timestamp: '2016-06-08T18:20:27.873Z' }],
});

export const TextFieldBody = Type.Unsafe<unknown>({ type: 'string', description: 'The new value.' });
export const JsonFieldBody = Type.Unsafe<unknown>({ description: 'The new value, as JSON.' });

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'Names the kind of problem.' }),
    title: Type.String({ description: 'The kind of problem in words.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What was wrong and what would be right.' }),
    instance: Type.String({ description: 'The path that was called.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'The field, as a JSON pointer.' }),
          detail: Type.String({ description: 'What would be right for it.' }),
        }),
      ),
    ),
  },
  { description: 'Problem details (RFC 9457).' },
);

export const DropSchema = Type.Object({
  timestamp: timestamp('When the message came, UTC.'),
  topic: Type.String({ description: 'The topic it was published to.' }),
  username: Type.String({ description: 'Who published it.' }),
  reason: Type.String({ description: 'Why it was not stored.' }),
});

export const ShareSchema = Type.Object({
  username: Type.String({ description: 'Who the device is shared with.' }),
  scopes: Type.Array(Type.String(), { description: 'What they may do, by the granting names of spec 2.7.' }),
});

export const PermissionSchema = Type.Object({
  resource: Type.String({ description: 'Id of the device.' }),
  scopes: Type.Array(Type.String(), { description: 'The rights held on it, in the order of spec 2.7.' }),
});
