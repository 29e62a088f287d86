// Devices and sensors (spec 2.1, 2.2), actuators (contract 4), and MQTT messages that were dropped for a device (contract
// 8). How schemas are used: field-schemas.ts.
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { datapointFields, datapointWords } from './datapoint-schemas.ts';
import { anyJson, id, LocationSchema, MetaSchema, timestamp, visibilityOf } from './field-schemas.ts';
import { idPattern } from './ids.ts';
import { asStored, descriptionText, jsonBytes, nameText, tooLargeKeyword } from './text-bounds.ts';

export const DeviceIdSchema = id(
  'Id of the device, unique among all devices. Whoever creates the device chooses it.',
  'field-3',
);
export const SensorIdSchema = id('Id of the sensor, unique within its device.', 'TC');
const ActuatorIdSchema = id('Id of the actuator, unique within its device.', 'valve-1');

export const DeviceParams = Type.Object({ device: DeviceIdSchema });
export const SensorParams = Type.Object({ device: DeviceIdSchema, sensor: SensorIdSchema });
export const ActuatorParams = Type.Object({ device: DeviceIdSchema, actuator: ActuatorIdSchema });

const visibility = (note: string) =>
  visibilityOf(
    `\`public\`: everyone sees the device and may push to it. \`private\`: only its owner, admins and the users it is shared with.${note}`,
  );

const CalibPoint = Type.Object(
  {
    sensor_value: Type.Number({ description: 'The value that the sensor sends, in its unit.', examples: [0.4] }),
    real_value: Type.Number({ description: 'The true value at that moment, in the same unit.', examples: [0] }),
  },
  { title: 'CalibrationPoint', description: 'A value that the sensor sends, and the true value for it.' },
);

export const CalibSchema = Type.Object(
  {
    linear: Type.Optional(
      Type.Object(
        {
          enabled: Type.Boolean({ description: 'Whether reads return corrected values.', examples: [true] }),
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
    description:
      'Online calibration: reads return numbers corrected by the line through the two points. Stored values do not change.',
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
    'Number of days for which datapoints are kept; 0: for ever. The setting of a sensor overrides that of its device, which overrides that of the service (for ever unless configured). Datapoints that are older when they arrive are accepted and evaluated by notifications, and removed within an hour. The last value of a sensor is always kept.',
  examples: [365],
});

const sensorFields = {
  id: SensorIdSchema,
  name: nameText('Human-readable name.', 'Soil temperature, north corner'),
  sensing_device: descriptionText('Kind of physical sensor.', 'soil thermometer'),
  sensor_kind: descriptionText(
    'Another name for `sensing_device`. Reads return the kind under the name that it was given by.',
    'soil thermometer',
  ),
  quantity_kind: descriptionText('The quantity that is measured.', 'soil temperature'),
  unit: descriptionText('Unit of measurement, as it should be shown to people beside the values.', '°C'),
  calib: Type.Optional(CalibSchema),
  meta: Type.Optional(MetaSchema),
  retention_days: Type.Optional(RetentionSchema),
};

export const SensorBody = Type.Object(sensorFields, {
  title: 'NewSensor',
  description: 'A sensor to add; only `id` is required. A field `value` is ignored, because values are pushed.',
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
  description:
    'The JSON type that values of the actuator are meant to have. It describes: a value of another type is taken all the same.',
  examples: ['bool'],
});

export const ValidForSchema = Type.Integer({
  minimum: 0,
  maximum: limits.actuatorValidForSMax,
  description: `For how many seconds a value that is set may still be handed to the gateway of the device when that was not connected; 0: never. Left out: ${limits.actuatorValidForS}.`,
  examples: [600],
});

const actuatorFields = {
  id: ActuatorIdSchema,
  name: nameText('Human-readable name.', 'Valve of the north corner'),
  actuator_kind: descriptionText('Kind of actuator.', 'valve'),
  actuator_value_type: Type.Optional(ValueTypeSchema),
  value_type: Type.Optional(ValueTypeSchema),
  meta: Type.Optional(MetaSchema),
  valid_for: Type.Optional(ValidForSchema),
};

export const ActuatorBody = Type.Object(
  { ...actuatorFields, value: anyJson('The initial value, any JSON.', false) },
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
      description: 'Id of the gateway that the device is connected to; an empty text means none.',
      examples: ['gateway-1'],
    }),
  ),
  name: nameText('Human-readable name.', 'Field 3'),
  domain: descriptionText('Name of an application domain, by which devices can be grouped.', 'irrigation'),
  location: Type.Optional(LocationSchema),
  meta: Type.Optional(MetaSchema),
  deployed: Type.Optional(
    Type.Boolean({ description: 'Whether the device is installed where it measures.', examples: [true] }),
  ),
  retention_days: Type.Optional(RetentionSchema),
};

export const DeviceBody = Type.Object(
  {
    id: DeviceIdSchema,
    ...deviceFields,
    visibility: Type.Optional(
      visibility(
        ' Left out: the default of the service, which is `private` unless configured; without a token always `public`.',
      ),
    ),
    sensors: Type.Optional(
      Type.Array(SensorBody, {
        ...{ maxItems: limits.devicePartsMax, [tooLargeKeyword]: true },
        description: 'Sensors of the device, without values: values are pushed.',
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

const usualInterval = (description: string) => Type.Optional(Type.Integer({ description, examples: [600] }));

const lastValue = (role: string) => Type.Optional(Type.Object(datapointFields, { ...datapointWords, 'x-role': role }));

export const SensorSchema = Type.Object(
  {
    ...asStored(sensorFields),
    last_value: lastValue(
      'The datapoint that was pushed last; absent before the first one, and for callers without the right to view values.',
    ),
    value: lastValue('Another name for `last_value`.'),
    newest_value: lastValue(
      'The datapoint that was measured last, by `timestamp`, or when it was received where it has none. There only where it is another than the one pushed last, which then is not what the sensor shows now: older values were sent late. Datapoints in the future do not count. A list of many such sensors has it for the first of them.',
    ),
    usual_interval: usualInterval(
      'Seconds between two receptions, usually: after several times as long without one the sensor is silent. Absent until it has been heard often enough, and for callers without the right to view values.',
    ),
  },
  { title: 'Sensor', description: 'A sensor of a device.' },
);

export const ActuatorSchema = Type.Object(
  {
    ...asStored(actuatorFields),
    value: anyJson('The value that was set last; absent for callers without the right to view values.', true),
  },
  { title: 'Actuator', description: 'An actuator of a device.' },
);

export const DeviceSchema = Type.Object(
  {
    id: DeviceIdSchema,
    ...asStored(deviceFields),
    visibility: visibility(''),
    sensors: Type.Array(SensorSchema, { description: 'The sensors, in the order in which they were added.' }),
    actuators: Type.Array(ActuatorSchema, { description: 'The actuators, in the order in which they were added.' }),
    distance_km: Type.Optional(
      Type.Number({
        description: 'Kilometres from the place that the list was asked for with `near`.',
        examples: [1.254],
      }),
    ),
    owner: Type.String({
      description: 'Username of the owner; `guest` for a device that was created without a token.',
      examples: ['awa'],
    }),
    date_created: timestamp('When the device was created, UTC.'),
    date_modified: timestamp('When the device, one of its parts or a value was changed last, UTC.'),
  },
  { title: 'Device', description: 'A device with its sensors, their last values, and its actuators.' },
);

export const DevicePositionSchema = Type.Object(
  {
    id: DeviceIdSchema,
    name: asStored({ name: nameText('Its name, where it has one that is not its id.', 'Field 3') }).name,
    latitude: Type.Number({ description: 'Degrees north (WGS 84), to six decimals.', examples: [16.03] }),
    longitude: Type.Number({ description: 'Degrees east (WGS 84), to six decimals.', examples: [-16.49] }),
    heard: Type.Optional(
      timestamp(
        'When a datapoint of one of its sensors was last received, UTC; `last_heard` filters by the same. Absent where there is none, or where you may not view the values.',
      ),
    ),
    usual_interval: usualInterval(
      'Seconds between two receptions, usually, of the sensor of it that is heard least often. Absent where none has a habit that is known yet, or where you may not view the values.',
    ),
  },
  { title: 'DevicePosition', description: 'Where a device is, and when it was last heard.' },
);

export const DropSchema = Type.Object(
  {
    timestamp: timestamp('When the message was received, UTC.'),
    topic: Type.String({
      description: 'The topic that it was published to.',
      examples: ['devices/field-3/sensors/TC/value'],
    }),
    username: Type.String({ description: 'The user who published it.', examples: ['guest'] }),
    reason: Type.String({ description: 'Why it was not stored.', examples: ['Not permitted.'] }),
  },
  { title: 'Drop', description: 'An MQTT message that was acknowledged but not stored, and why.' },
);
