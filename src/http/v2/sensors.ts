// The sensors of a device (spec 4.1, contract 4).
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { parseCalibration } from '../../domain/sensors/calibration.ts';
import type { SensorChange } from '../../domain/sensors/sensor.ts';
import { jsonFieldOf, textFieldOf } from '../bodies.ts';
import { answerCreated } from '../preference.ts';
import { parseMeta } from './devices.ts';
import { dropNulls } from './drop-nulls.ts';
import { toSensorDraft, toSensorRecord } from './records.ts';
import { noContent, overload, refusals, type Services, type TypedApp } from './routes.ts';
import { DeviceParams, JsonFieldBody, SensorBody, SensorParams, SensorSchema, TextFieldBody } from './schemas.ts';

const tags = ['Sensors'];
const writes = { 204: noContent, ...refusals, ...overload };

export function registerSensors(app: TypedApp, services: Services): void {
  const { devices, sensors, history } = services;

  app.get(
    '/devices/:device/sensors',
    {
      schema: {
        tags,
        summary: 'List the sensors of a device',
        params: DeviceParams,
        response: { 200: Type.Array(SensorSchema), ...refusals },
      },
    },
    async (request) => {
      const { device, scopes } = await devices.get(request.actor, request.params.device);
      const latest = await history.latest([device]);
      return [...device.sensors.values()].map((sensor) => toSensorRecord(sensor, scopes, latest)) as never;
    },
  );

  app.post(
    '/devices/:device/sensors',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        summary: 'Add a sensor to a device',
        description: 'With the id of a sensor that is there, its description is replaced and its datapoints are kept.',
        params: DeviceParams,
        body: SensorBody,
        response: { ...writes, 201: SensorSchema },
      },
    },
    async (request, reply) => {
      const id = request.params.device;
      const draft = toSensorDraft(request.body, '');
      await sensors.put(request.actor, id, draft);
      return answerCreated(request, reply, {
        location: `/api/v2/devices/${encodeURIComponent(id)}/sensors/${encodeURIComponent(draft.id)}`,
        record: async () => {
          const { device, sensor, scopes } = await sensors.get(request.actor, id, draft.id);
          return toSensorRecord(sensor, scopes, await history.latest([device]));
        },
      });
    },
  );

  app.get(
    '/devices/:device/sensors/:sensor',
    { schema: { tags, summary: 'Read a sensor', params: SensorParams, response: { 200: SensorSchema, ...refusals } } },
    async (request) => {
      const { device, sensor, scopes } = await sensors.get(request.actor, request.params.device, request.params.sensor);
      return toSensorRecord(sensor, scopes, await history.latest([device])) as never;
    },
  );

  app.delete(
    '/devices/:device/sensors/:sensor',
    { schema: { tags, summary: 'Delete a sensor and its datapoints', params: SensorParams, response: writes } },
    async (request, reply) => {
      await sensors.remove(request.actor, request.params.device, request.params.sensor);
      return reply.code(204).send(null);
    },
  );

  for (const field of fields) {
    app.put(
      `/devices/:device/sensors/:sensor/${field.name}`,
      {
        schema: {
          tags,
          summary: `Change the ${field.words} of a sensor`,
          params: SensorParams,
          body: field.schema,
          response: writes,
        },
      },
      async (request, reply) => {
        await sensors.update(request.actor, request.params.device, request.params.sensor, field.change(request.body));
        return reply.code(204).send(null);
      },
    );
  }
}

const textField = (name: string, words: string, change: (text: string) => SensorChange) => ({
  name,
  words,
  schema: TextFieldBody,
  change: (body: unknown) => change(textFieldOf(body, name)),
});

const fields = [
  textField('name', 'name', (name) => ({ name })),
  textField('sensing_device', 'kind', (kind) => ({ kind, kindName: 'sensing_device' })),
  textField('sensor_kind', 'kind, under its other name,', (kind) => ({ kind, kindName: 'sensor_kind' })),
  textField('quantity_kind', 'quantity kind', (quantityKind) => ({ quantityKind })),
  textField('unit', 'unit', (unit) => ({ unit })),
  { name: 'calib', words: 'calibration', schema: JsonFieldBody, change: calibChange },
  { name: 'meta', words: 'meta object', schema: JsonFieldBody, change: metaChange },
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
