// The shapes of records on the wire in the words of version 2, each once: they validate, type handlers and describe the API.
// Unknown fields are ignored; a field that is null counts as absent (drop-nulls.ts). A shape with a `title` is a
// component of the OpenAPI document, `x-content` a body that has several content types (../openapi.ts); the examples
// fit together and run against a server (test/http/server/docs.test.ts).
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { idPattern } from './ids.ts';
import { asStored, boundedText, descriptionText, jsonBytes, nameText, tooLargeKeyword } from './text-bounds.ts';

export const id = (description: string, example: string) =>
  Type.String({
    minLength: 1,
    maxLength: limits.idCharsMax,
    pattern: idPattern,
    description,
    examples: [example],
  });
export const anyJson = (description: string, example: unknown) =>
  Type.Optional(Type.Unknown({ ...jsonBytes(limits.valueBytesMax), description, examples: [example] }));
export const timestamp = (description: string) =>
  Type.String({ description, format: 'date-time', examples: ['2016-06-08T18:20:27.873Z'] });

export const DeviceIdSchema = id(
  'Id of the device, unique among all devices, chosen by whoever creates it.',
  'field-3',
);
export const SensorIdSchema = id('Id of the sensor, unique within its device.', 'TC');
const ActuatorIdSchema = id('Id of the actuator, unique within its device.', 'valve-1');
export const UsernameSchema = boundedText(limits.knownUsernameCharsMax, {
  description: 'The name of the user.',
  examples: ['awa'],
});

export const DeviceParams = Type.Object({ device: DeviceIdSchema });
export const SensorParams = Type.Object({ device: DeviceIdSchema, sensor: SensorIdSchema });
export const ActuatorParams = Type.Object({ device: DeviceIdSchema, actuator: ActuatorIdSchema });

const visibility = (note: string) =>
  visibilityOf(
    `\`public\`: everyone sees the device and may push; \`private\`: only its owner and those it is shared with.${note}`,
  );

export const visibilityOf = (description: string) =>
  Type.Unsafe<'public' | 'private'>({
    type: 'string',
    enum: ['public', 'private'],
    description,
    examples: ['public'],
  });

export const LocationSchema = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees north (WGS 84).', examples: [16.03] }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees east (WGS 84).', examples: [-16.49] }),
  },
  {
    ...jsonBytes(limits.descriptionBytesMax),
    title: 'Location',
    description: 'GPS position, read back as it was given.',
    examples: [{ latitude: 16.03, longitude: -16.49 }],
  },
);

export const MetaSchema = Type.Object(
  {},
  {
    ...jsonBytes(limits.descriptionBytesMax),
    description: 'Any JSON object, at most 16 KiB; for the owner to keep what they like.',
    examples: [{ depth_cm: 30 }],
  },
);

const CalibPoint = Type.Object(
  {
    sensor_value: Type.Number({ description: 'What the sensor reads, in its unit.', examples: [0.4] }),
    real_value: Type.Number({ description: 'What is true, in the same unit.', examples: [0] }),
  },
  { title: 'CalibrationPoint', description: 'A reading of the sensor and what was true then.' },
);

export const CalibSchema = Type.Object(
  {
    linear: Type.Optional(
      Type.Object(
        {
          enabled: Type.Boolean({ description: 'Whether reads are corrected.', examples: [true] }),
          value_min: Type.Optional(CalibPoint),
          value_max: Type.Optional(CalibPoint),
        },
        { description: 'A line through two points whose `sensor_value` differ.' },
      ),
    ),
  },
  {
    ...jsonBytes(limits.descriptionBytesMax),
    title: 'Calibration',
    description: 'Online calibration: reads give the line through the two points; stored values stay raw.',
    examples: [
      {
        linear: {
          enabled: true,
          value_min: { sensor_value: 0.4, real_value: 0 },
          value_max: { sensor_value: 98.8, real_value: 100 },
        },
      },
    ],
  },
);

export const RetentionSchema = Type.Integer({
  minimum: 0,
  maximum: limits.retentionDaysMax,
  description:
    'For how many days datapoints are kept; 0 is for ever. What a sensor says comes before what its device says, and that before what the service is set to, which is for ever at first. Older datapoints are taken in all the same and looked at by notifications, and go within the hour; the last value stays.',
  examples: [365],
});

const sensorFields = {
  id: SensorIdSchema,
  name: nameText('Human-readable name.', 'Soil temperature, north corner'),
  sensing_device: descriptionText('Kind of physical sensor.', 'soil thermometer'),
  sensor_kind: descriptionText(
    'Another name for `sensing_device`; the kind is read back under the name it was given by.',
    'soil thermometer',
  ),
  quantity_kind: descriptionText('What is measured.', 'soil temperature'),
  unit: descriptionText('Unit of measurement, as people should read it beside the values.', '°C'),
  calib: Type.Optional(CalibSchema),
  meta: Type.Optional(MetaSchema),
  retention_days: Type.Optional(RetentionSchema),
};

export const SensorBody = Type.Object(sensorFields, {
  title: 'NewSensor',
  description: 'A sensor to add; only `id` is required. A `value` in it is ignored: values are pushed.',
  examples: [
    {
      id: 'TC',
      name: 'Soil temperature, north corner',
      sensing_device: 'soil thermometer',
      quantity_kind: 'soil temperature',
      unit: '°C',
    },
  ],
});

const ValueTypeSchema = Type.Unsafe<string>({
  type: 'string',
  enum: ['string', 'number', 'bool', 'null', 'object', 'array'],
  description: 'The JSON type that values must have.',
  examples: ['bool'],
});

const actuatorFields = {
  id: ActuatorIdSchema,
  name: nameText('Human-readable name.', 'Valve of the north corner'),
  actuator_kind: descriptionText('Kind of actuator.', 'valve'),
  actuator_value_type: Type.Optional(ValueTypeSchema),
  value_type: Type.Optional(ValueTypeSchema),
  meta: Type.Optional(MetaSchema),
};

export const ActuatorBody = Type.Object(
  { ...actuatorFields, value: anyJson('The value to begin with, any JSON.', false) },
  {
    title: 'NewActuator',
    description: 'An actuator to add; only `id` is required.',
    examples: [
      { id: 'valve-1', name: 'Valve of the north corner', actuator_kind: 'valve', actuator_value_type: 'bool' },
    ],
  },
);

const deviceFields = {
  gateway_id: Type.Optional(
    Type.String({
      maxLength: limits.idCharsMax,
      pattern: `^$|${idPattern}`,
      description: 'Id of the gateway the device is connected to; an empty one is none.',
      examples: ['gateway-1'],
    }),
  ),
  name: nameText('Human-readable name.', 'Field 3'),
  domain: descriptionText('Groups the devices of one application domain.', 'irrigation'),
  location: Type.Optional(LocationSchema),
  meta: Type.Optional(MetaSchema),
  deployed: Type.Optional(Type.Boolean({ description: 'Whether the device is in its place.', examples: [true] })),
  retention_days: Type.Optional(RetentionSchema),
};

export const DeviceBody = Type.Object(
  {
    id: DeviceIdSchema,
    ...deviceFields,
    visibility: Type.Optional(
      visibility(' Left out: as the service is set, `private` at first; without a token always `public`.'),
    ),
    sensors: Type.Optional(
      Type.Array(SensorBody, {
        ...{ maxItems: limits.devicePartsMax, [tooLargeKeyword]: true },
        description: 'Sensors of the device; values are pushed, not created.',
      }),
    ),
    actuators: Type.Optional(
      Type.Array(ActuatorBody, {
        ...{ maxItems: limits.devicePartsMax, [tooLargeKeyword]: true },
        description: 'Actuators of the device.',
      }),
    ),
  },
  {
    title: 'NewDevice',
    description: 'A device to create; only `id` is required.',
    examples: [
      {
        id: 'field-3',
        name: 'Field 3',
        location: { latitude: 16.03, longitude: -16.49 },
        sensors: [{ id: 'TC', name: 'Soil temperature', quantity_kind: 'soil temperature', unit: '°C' }],
        actuators: [{ id: 'valve-1', actuator_kind: 'valve', actuator_value_type: 'bool' }],
      },
    ],
  },
);
export type DeviceBody = Static<typeof DeviceBody>;
export type SensorBody = Static<typeof SensorBody>;
export type ActuatorBody = Static<typeof ActuatorBody>;

export const datapointFields = {
  value: Type.Unknown({
    description:
      'What was measured, in the unit of the sensor: any JSON, corrected by the calibration of the sensor where there is one.',
    examples: [21.5],
  }),
  timestamp: Type.Optional(timestamp('When it was measured, UTC; absent when the sender had no clock.')),
  date_received: timestamp('When the service received it, UTC.'),
};

const datapointWords = {
  title: 'Datapoint',
  description: 'A value, when it was measured and when it was received.',
};

export const DatapointSchema = Type.Object(datapointFields, datapointWords);

const lastValue = (role: string) => Type.Optional(Type.Object(datapointFields, { ...datapointWords, 'x-role': role }));

export const SensorSchema = Type.Object(
  {
    ...asStored(sensorFields),
    last_value: lastValue('The datapoint pushed last; absent before the first and without the right to see values.'),
    value: lastValue('Another name for `last_value`.'),
  },
  { title: 'Sensor', description: 'A sensor of a device.' },
);

export const ActuatorSchema = Type.Object(
  { ...asStored(actuatorFields), value: anyJson('The value set last; absent without the right to see values.', true) },
  { title: 'Actuator', description: 'An actuator of a device.' },
);

export const DeviceSchema = Type.Object(
  {
    id: DeviceIdSchema,
    ...asStored(deviceFields),
    visibility: visibility(''),
    sensors: Type.Array(SensorSchema, { description: 'The sensors, in the order they were added.' }),
    actuators: Type.Array(ActuatorSchema, { description: 'The actuators, in the order they were added.' }),
    owner: Type.String({
      description: 'Username of the owner; `guest` for what was created without a token.',
      examples: ['awa'],
    }),
    date_created: timestamp('When the device was created, UTC.'),
    date_modified: timestamp('When the device, one of its parts or a value changed last, UTC.'),
  },
  { title: 'Device', description: 'A device with its sensors, their last values, and its actuators.' },
);

export const pushedFields = {
  value: Type.Unknown({
    ...jsonBytes(limits.valueBytesMax),
    description: 'What was measured, in the unit of the sensor: any JSON, at most 64 KiB. `null` is a value.',
    examples: [21.5],
  }),
  timestamp: Type.Optional(
    Type.Union([boundedText(limits.wordCharsMax), Type.Null()], {
      description:
        'When it was measured: RFC 3339, UTC where it names no zone. Leave it out where there is no clock: `date_received` stands in.',
      examples: ['2016-06-08T18:20:27.873Z'],
    }),
  ),
};

const PushedDatapoint = Type.Object(pushedFields, {
  title: 'NewDatapoint',
  description: 'A value and when it was measured.',
});

/** Datapoints as they are pushed: described here, checked by the domain in one pass. */
export const PushBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: {
        anyOf: [
          PushedDatapoint,
          Type.Array(PushedDatapoint, {
            maxItems: limits.pushDatapointsMax,
            description: 'Up to 30 000 datapoints that are stored all or none.',
          }),
        ],
        description: 'One datapoint, or an array of up to 30 000 that are stored all or none.',
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
        description: 'Becomes a string value, without a timestamp.',
        examples: ['door open'],
      }),
    },
  },
});

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: 'Names the kind of problem.', examples: ['urn:dundun:problem:not-found'] }),
    title: Type.String({ description: 'The kind of problem in words.', examples: ['Not Found'] }),
    status: Type.Integer({ description: 'The HTTP status.', examples: [404] }),
    detail: Type.String({
      description: 'What was wrong and what would be right.',
      examples: ['There is no device field-4.'],
    }),
    instance: Type.String({ description: 'The path that was called.', examples: ['/api/v2/devices/field-4'] }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            pointer: Type.String({ description: 'The field, as a JSON pointer.', examples: ['/sensors/0/id'] }),
            detail: Type.String({ description: 'What would be right for it.', examples: ['is missing'] }),
          },
          { title: 'FieldFault', description: 'A field that is not as it should be.' },
        ),
        { description: 'The fields that are not as they should be.' },
      ),
    ),
    quota: Type.Optional(
      Type.Object(
        {
          kind: Type.String({ description: 'Which quota: a member of `GET /users/me/quota`.', examples: ['devices'] }),
          used: Type.Integer({ description: 'How much of it is used.', examples: [1000] }),
          limit: Type.Integer({ description: 'How much of it there may be.', examples: [1000] }),
        },
        {
          title: 'QuotaBreach',
          description: 'There where `type` is `urn:dundun:problem:quota`: the quota that does not allow it.',
        },
      ),
    ),
  },
  { title: 'Problem', description: 'Problem details (RFC 9457): what was wrong and what would be right.' },
);

export const DropSchema = Type.Object(
  {
    timestamp: timestamp('When the message came, UTC.'),
    topic: Type.String({
      description: 'The topic it was published to.',
      examples: ['devices/field-3/sensors/TC/value'],
    }),
    username: Type.String({ description: 'Who published it.', examples: ['guest'] }),
    reason: Type.String({ description: 'Why it was not stored.', examples: ['Not permitted.'] }),
  },
  { title: 'Drop', description: 'An MQTT message that was acknowledged but not stored, and why.' },
);

const grantable = '`device:view`, `device:update`, `device:delete`, `device-data:view`, `device-data:create`';

export const ScopesSchema = Type.Array(boundedText(limits.wordCharsMax, { examples: ['device:view'] }), {
  maxItems: 10,
  description: `What they may do: ${grantable}. The plural names (\`devices:view\`) mean the same.`,
});

export const ShareSchema = Type.Object(
  {
    username: Type.String({ description: 'Who the device is shared with.', examples: ['awa'] }),
    scopes: Type.Array(Type.String({ examples: ['device:view'] }), {
      description: `What they may do, of ${grantable}.`,
    }),
  },
  { title: 'Share', description: 'What a user may do with a device that is not theirs.' },
);

export const PermissionSchema = Type.Object(
  {
    resource: Type.String({ description: 'Id of the record.', examples: ['field-3'] }),
    scopes: Type.Array(Type.String({ examples: ['devices:view'] }), {
      description:
        'The rights held on it, in this order: `devices:view`, `devices:update`, `devices:delete`, `devices-data:view`, `devices-data:create`; of a gateway `gateways:view`, `gateways:update`, `gateways:delete`, of a project the same with `projects`.',
    }),
  },
  { title: 'Permission', description: 'What the caller may do with a record.' },
);
