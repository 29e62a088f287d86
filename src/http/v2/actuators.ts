// The actuators of a device (contract 4).
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { type ActuatorChange, valueTypes } from '../../domain/devices/actuator.ts';
import { pageFrom } from '../lists/paging.ts';
import {
  ActuatorBody,
  ActuatorParams,
  ActuatorSchema,
  DeviceParams,
  ValidForSchema,
} from '../schemas/device-schemas.ts';
import { MetaSchema } from '../schemas/field-schemas.ts';
import { toActuatorDraft, toActuatorRecord } from '../schemas/records.ts';
import { textBounds } from '../schemas/text-bounds.ts';
import { jsonFieldOf, textFieldOf } from '../server/bodies.ts';
import { answerCreated, answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import { AllOrPage, creates, PreferHeaders, pageOf, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { registerActuatorHistory } from './actuator-history.ts';
import { dropNulls } from './drop-nulls.ts';
import { parseMeta, parseValidFor } from './field-values.ts';
import { jsonField, registerFields, type SingleField, textField } from './single-fields.ts';

const tags = ['Actuators'];

export function registerActuators(app: TypedApp, services: Services): void {
  const { devices, actuators } = services;

  app.get(
    '/devices/:device/actuators',
    {
      schema: {
        tags,
        operationId: 'listActuators',
        summary: 'List the actuators of a device',
        params: DeviceParams,
        querystring: AllOrPage,
        response: { 200: pageOf(ActuatorSchema, { description: 'The actuators.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { device, scopes } = await devices.get(request.actor, request.params.device);
      const page = pageFrom(request, reply, [...device.actuators.values()], request.query);
      return page.map((actuator) => toActuatorRecord(actuator, scopes)) as never;
    },
  );

  app.post(
    '/devices/:device/actuators',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'addActuator',
        summary: 'Add an actuator to a device',
        description:
          'If the device already has an actuator with this id, its description is replaced; its value is kept unless the body has one, which is then set and published.',
        params: DeviceParams,
        headers: PreferHeaders,
        body: ActuatorBody,
        response: creates(ActuatorSchema),
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
        operationId: 'getActuator',
        summary: 'Read an actuator',
        description: 'With the value that was set last.',
        params: ActuatorParams,
        response: { 200: ActuatorSchema, ...refusals },
      },
    },
    async (request) => {
      const { actuator, scopes } = await actuators.get(request.actor, request.params.device, request.params.actuator);
      return toActuatorRecord(actuator, scopes) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/devices/:device/actuators/:actuator',
    operationId: 'deleteActuator',
    summary: 'Delete an actuator',
    params: ActuatorParams,
    remove: (actor, { device, actuator }) => actuators.remove(actor, device, actuator),
  });

  app.put(
    '/devices/:device/actuators/:actuator/value',
    {
      schema: {
        tags,
        operationId: 'setActuatorValue',
        summary: 'Set an actuator',
        description:
          'Stores the value and publishes it on the MQTT topic `devices/{device}/actuators/{actuator}/value`. Needs the right to update the device, or `device-data:create` given by a share. Where the gateway of the device is not connected, it is handed the value when it next subscribes, once, if the value is still the last one and not older than `valid_for`.',
        params: ActuatorParams,
        body: jsonField(
          { description: 'The new value: any JSON. The value type of the actuator describes it, and refuses none.' },
          true,
          limits.valueBytesMax,
        ),
        response: writes,
      },
    },
    async (request, reply) => {
      const value = jsonFieldOf(request.body, 'value', { bytesMax: limits.valueBytesMax });
      await actuators.setValue(request.actor, request.params.device, request.params.actuator, value);
      return answerDone(reply) as never;
    },
  );

  registerActuatorHistory(app, services);
  registerFields(app, {
    ...{ tags, path: '/devices/:device/actuators/:actuator', words: 'an actuator', params: ActuatorParams, fields },
    update: ({ actor }, { device, actuator }, change) => actuators.update(actor, device, actuator, change),
  });
}

const fields: readonly SingleField<ActuatorChange>[] = [
  {
    name: 'name',
    operationId: 'setActuatorName',
    body: textField('The new name.', 'Valve of the north corner', textBounds.name),
    change: (body) => ({ name: textFieldOf(body, 'name', textBounds.name) }),
  },
  {
    name: 'actuator_kind',
    operationId: 'setActuatorKind',
    words: 'kind',
    body: textField('Kind of actuator.', 'valve', textBounds.description),
    change: (body) => ({ actuatorKind: textFieldOf(body, 'actuator_kind', textBounds.description) }),
  },
  {
    name: 'value_type',
    operationId: 'setActuatorValueType',
    words: 'value type',
    body: textField(`One of ${valueTypes.map((type) => `\`${type}\``).join(', ')}.`, 'bool', textBounds.word),
    change: valueTypeChange,
  },
  {
    name: 'meta',
    operationId: 'setActuatorMeta',
    words: 'meta object',
    body: jsonField(MetaSchema, { flow_l_per_min: 12 }),
    change: (body) => ({ meta: parseMeta(jsonFieldOf(body, 'meta')) ?? null }),
  },
  {
    name: 'valid_for',
    operationId: 'setActuatorValidFor',
    words: 'time for which a value may be handed over',
    note: '`null` removes it.',
    body: jsonField(ValidForSchema, 600),
    change: (body) => ({ validFor: parseValidFor(jsonFieldOf(body, 'valid_for')) }),
  },
];

function valueTypeChange(body: unknown): ActuatorChange {
  const text = textFieldOf(body, 'value_type', textBounds.word).trim();
  const valueType = valueTypes.find((known) => known === text);
  if (valueType === undefined)
    throw new Refusal(
      'malformed',
      `The value type is one of ${valueTypes.join(', ')}, not ${JSON.stringify(text.slice(0, 40))}.`,
    );
  return { valueType };
}
