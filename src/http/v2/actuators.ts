// The actuators of a device (contract 4).
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { type ActuatorChange, valueTypes } from '../../domain/actuators/actuator.ts';
import { jsonFieldOf, textFieldOf } from '../bodies.ts';
import { answerCreated } from '../preference.ts';
import { parseMeta } from './devices.ts';
import { dropNulls } from './drop-nulls.ts';
import { toActuatorDraft, toActuatorRecord } from './records.ts';
import { noContent, overload, refusals, type Services, type TypedApp } from './routes.ts';
import { ActuatorBody, ActuatorParams, ActuatorSchema, DeviceParams, JsonFieldBody, TextFieldBody } from './schemas.ts';

const tags = ['Actuators'];
const writes = { 204: noContent, ...refusals, ...overload };

export function registerActuators(app: TypedApp, services: Services): void {
  const { devices, actuators } = services;

  app.get(
    '/devices/:device/actuators',
    {
      schema: {
        tags,
        summary: 'List the actuators of a device',
        params: DeviceParams,
        response: { 200: Type.Array(ActuatorSchema), ...refusals },
      },
    },
    async (request) => {
      const { device, scopes } = await devices.get(request.actor, request.params.device);
      return [...device.actuators.values()].map((actuator) => toActuatorRecord(actuator, scopes)) as never;
    },
  );

  app.post(
    '/devices/:device/actuators',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        summary: 'Add an actuator to a device',
        description: 'With the id of an actuator that is there, its description is replaced.',
        params: DeviceParams,
        body: ActuatorBody,
        response: { ...writes, 201: ActuatorSchema },
      },
    },
    async (request, reply) => {
      const id = request.params.device;
      const draft = toActuatorDraft(request.body, '');
      await actuators.put(request.actor, id, draft);
      return answerCreated(request, reply, {
        location: `/api/v2/devices/${encodeURIComponent(id)}/actuators/${encodeURIComponent(draft.id)}`,
        record: async () => {
          const { actuator, scopes } = await actuators.get(request.actor, id, draft.id);
          return toActuatorRecord(actuator, scopes);
        },
      });
    },
  );

  app.get(
    '/devices/:device/actuators/:actuator',
    {
      schema: {
        tags,
        summary: 'Read an actuator',
        params: ActuatorParams,
        response: { 200: ActuatorSchema, ...refusals },
      },
    },
    async (request) => {
      const { actuator, scopes } = await actuators.get(request.actor, request.params.device, request.params.actuator);
      return toActuatorRecord(actuator, scopes) as never;
    },
  );

  app.delete(
    '/devices/:device/actuators/:actuator',
    { schema: { tags, summary: 'Delete an actuator', params: ActuatorParams, response: writes } },
    async (request, reply) => {
      await actuators.remove(request.actor, request.params.device, request.params.actuator);
      return reply.code(204).send(null);
    },
  );

  app.put(
    '/devices/:device/actuators/:actuator/value',
    {
      schema: {
        tags,
        summary: 'Set an actuator',
        description: 'Stores the value and publishes it on `devices/{device}/actuators/{actuator}/value`.',
        params: ActuatorParams,
        body: JsonFieldBody,
        response: writes,
      },
    },
    async (request, reply) => {
      const value = jsonFieldOf(request.body, 'value');
      await actuators.setValue(request.actor, request.params.device, request.params.actuator, value);
      return reply.code(204).send(null);
    },
  );

  for (const field of fields) {
    app.put(
      `/devices/:device/actuators/:actuator/${field.name}`,
      {
        schema: {
          tags,
          summary: `Change the ${field.words} of an actuator`,
          params: ActuatorParams,
          body: field.schema,
          response: writes,
        },
      },
      async (request, reply) => {
        await actuators.update(
          request.actor,
          request.params.device,
          request.params.actuator,
          field.change(request.body),
        );
        return reply.code(204).send(null);
      },
    );
  }
}

const fields = [
  {
    name: 'name',
    words: 'name',
    schema: TextFieldBody,
    change: (body: unknown): ActuatorChange => ({ name: textFieldOf(body, 'name') }),
  },
  {
    name: 'actuator_kind',
    words: 'kind',
    schema: TextFieldBody,
    change: (body: unknown): ActuatorChange => ({ actuatorKind: textFieldOf(body, 'actuator_kind') }),
  },
  { name: 'value_type', words: 'value type', schema: TextFieldBody, change: valueTypeChange },
  {
    name: 'meta',
    words: 'meta object',
    schema: JsonFieldBody,
    change: (body: unknown): ActuatorChange => ({ meta: parseMeta(jsonFieldOf(body, 'meta')) ?? null }),
  },
];

function valueTypeChange(body: unknown): ActuatorChange {
  const text = textFieldOf(body, 'value_type').trim();
  const valueType = valueTypes.find((known) => known === text);
  if (valueType === undefined)
    throw new Refusal(
      'malformed',
      `The value type is one of ${valueTypes.join(', ')}, not ${JSON.stringify(text.slice(0, 40))}.`,
    );
  return { valueType };
}
