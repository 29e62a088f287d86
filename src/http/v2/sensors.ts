// The sensors of a device (spec 4.1, contract 4).
import { Refusal } from '../../base/refusal.ts';
import { parseCalibration } from '../../domain/devices/calibration.ts';
import type { SensorChange } from '../../domain/devices/sensor.ts';
import { pageFrom } from '../lists/paging.ts';
import {
  CalibSchema,
  DeviceParams,
  RetentionSchema,
  SensorBody,
  SensorParams,
  SensorSchema,
} from '../schemas/device-schemas.ts';
import { MetaSchema } from '../schemas/field-schemas.ts';
import { idRule, isId } from '../schemas/ids.ts';
import { toSensorDraft, toSensorRecord } from '../schemas/records.ts';
import { type TextBound, textBounds } from '../schemas/text-bounds.ts';
import { jsonFieldOf, textFieldOf } from '../server/bodies.ts';
import { answerCreated, answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import {
  AllOrPage,
  conflict,
  creates,
  PreferHeaders,
  pageOf,
  refusals,
  type TypedApp,
  writes,
} from '../server/routes.ts';
import type { Services } from '../services.ts';
import { dropNulls } from './drop-nulls.ts';
import { parseMeta, parseRetentionDays } from './field-values.ts';
import { jsonField, registerFields, type SingleField, textField } from './single-fields.ts';

const tags = ['Sensors'];

export function registerSensors(app: TypedApp, services: Services): void {
  const { devices, sensors, lastValues } = services;

  app.get(
    '/devices/:device/sensors',
    {
      schema: {
        tags,
        operationId: 'listSensors',
        summary: 'List the sensors of a device',
        params: DeviceParams,
        querystring: AllOrPage,
        response: { 200: pageOf(SensorSchema, { description: 'The sensors.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { device, scopes } = await devices.get(request.actor, request.params.device);
      const page = pageFrom(request, reply, [...device.sensors.values()], request.query);
      const last = await lastValues.ofSensors(request.actor, page);
      return page.map((sensor) => toSensorRecord(sensor, scopes, last)) as never;
    },
  );

  app.post(
    '/devices/:device/sensors',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'addSensor',
        summary: 'Add a sensor to a device',
        description:
          'If the device already has a sensor with this id, its description is replaced; its datapoints and its retention are kept.',
        params: DeviceParams,
        headers: PreferHeaders,
        body: SensorBody,
        response: creates(SensorSchema),
      },
    },
    async (request, reply) => {
      const id = request.params.device;
      const draft = toSensorDraft(request.body, '');
      await sensors.put(request.actor, id, draft);
      return answerCreated(request, reply, {
        location: `/api/v2/devices/${encodeURIComponent(id)}/sensors/${encodeURIComponent(draft.id)}`,
        record: async () => {
          const { sensor, scopes } = await sensors.get(request.actor, id, draft.id);
          return toSensorRecord(sensor, scopes, await lastValues.ofSensors(request.actor, [sensor]));
        },
      });
    },
  );

  app.get(
    '/devices/:device/sensors/:sensor',
    {
      schema: {
        tags,
        operationId: 'getSensor',
        summary: 'Read a sensor',
        description: 'With its last value.',
        params: SensorParams,
        response: { 200: SensorSchema, ...refusals },
      },
    },
    async (request) => {
      const { sensor, scopes } = await sensors.get(request.actor, request.params.device, request.params.sensor);
      return toSensorRecord(sensor, scopes, await lastValues.ofSensors(request.actor, [sensor])) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/devices/:device/sensors/:sensor',
    operationId: 'deleteSensor',
    summary: 'Delete a sensor and its datapoints',
    params: SensorParams,
    remove: (actor, { device, sensor }) => sensors.remove(actor, device, sensor),
  });

  app.put(
    '/devices/:device/sensors/:sensor/device',
    {
      schema: {
        tags,
        operationId: 'moveSensor',
        summary: 'Move a sensor to another device',
        description:
          'With its datapoints, last value, calibration and a retention of its own. For the owner of both devices, without an API key; an admin moves between users too. Without one of its own it has that of the other device from then on. Rules stay as they are: those for the device that it leaves no longer see it, those for the other one do from its next datapoint on. Pushes to the old path are refused (404) from then on.',
        params: SensorParams,
        body: textField('Id of the other device.', 'field-4', textBounds.id),
        response: { ...writes, ...conflict('The other device has a sensor of that id.') },
      },
    },
    async (request, reply) => {
      const target = textFieldOf(request.body, 'device', textBounds.id);
      if (!isId(target)) {
        throw new Refusal('malformed', `device ${idRule}.`, { faults: [{ pointer: '', detail: idRule }] });
      }
      await sensors.move(request.actor, request.params.device, request.params.sensor, target);
      return answerDone(reply as never) as never;
    },
  );

  registerFields(app, {
    ...{ tags, path: '/devices/:device/sensors/:sensor', words: 'a sensor', params: SensorParams, fields },
    update: ({ actor }, { device, sensor }, change) => sensors.update(actor, device, sensor, change),
  });
}

const ofText = (
  name: string,
  [bound, description, example]: readonly [bound: TextBound, description: string, example: string],
  change: (text: string) => SensorChange,
) => ({
  name,
  body: textField(description, example, bound),
  change: (body: unknown) => change(textFieldOf(body, name, bound)),
});

const kindWords = [textBounds.description, 'Kind of physical sensor.', 'soil thermometer'] as const;

const fields: readonly SingleField<SensorChange>[] = [
  {
    ...ofText('name', [textBounds.name, 'The new name.', 'Soil temperature, north corner'], (name) => ({ name })),
    operationId: 'setSensorName',
  },
  {
    ...ofText('sensing_device', kindWords, (kind) => ({ kind, kindName: 'sensing_device' })),
    operationId: 'setSensorSensingDevice',
    words: 'kind',
  },
  {
    ...ofText('sensor_kind', kindWords, (kind) => ({ kind, kindName: 'sensor_kind' })),
    operationId: 'setSensorKind',
    words: 'kind, under its other name,',
  },
  {
    ...ofText('quantity_kind', [textBounds.description, 'What is measured.', 'soil temperature'], (quantityKind) => ({
      quantityKind,
    })),
    operationId: 'setSensorQuantityKind',
    words: 'quantity kind',
  },
  {
    ...ofText(
      'unit',
      [textBounds.description, 'Unit of measurement; the stored values stay as they are.', '°C'],
      (unit) => ({
        unit,
      }),
    ),
    operationId: 'setSensorUnit',
    words: 'unit',
  },
  {
    name: 'calib',
    operationId: 'setSensorCalibration',
    words: 'calibration',
    body: jsonField(CalibSchema, {
      linear: {
        enabled: true,
        value_min: { sensor_value: 0.4, real_value: 0 },
        value_max: { sensor_value: 98.8, real_value: 100 },
      },
    }),
    change: calibChange,
  },
  {
    name: 'meta',
    operationId: 'setSensorMeta',
    words: 'meta object',
    body: jsonField(MetaSchema, { depth_cm: 30 }),
    change: metaChange,
  },
  {
    name: 'retention_days',
    operationId: 'setSensorRetention',
    words: 'retention',
    note: 'What is older goes within the hour and does not come back. `null` takes the field away.',
    body: jsonField(RetentionSchema, 365),
    change: (body) => ({ retentionDays: parseRetentionDays(jsonFieldOf(body, 'retention_days')) ?? null }),
  },
];

function calibChange(body: unknown): SensorChange {
  const calib = jsonFieldOf(body, 'calib');
  if (calib === null)
    throw new Refusal('malformed', 'calib is an object. To switch calibration off, set linear.enabled to false.');
  parseCalibration(calib, '');
  return { calib };
}

function metaChange(body: unknown): SensorChange {
  return { meta: parseMeta(jsonFieldOf(body, 'meta')) ?? null };
}
