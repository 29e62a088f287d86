// Devices (spec 4.1, contract 4), their shares (contract 3) and their drop log (contract 8).
import { Type } from 'typebox';
import type { Json } from '../../base/json.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceChange } from '../../domain/devices/device.ts';
import { jsonFieldOf, textFieldOf } from '../bodies.ts';
import { dropNulls } from '../drop-nulls.ts';
import { parseLocation, parseMeta, parseVisibility } from '../field-values.ts';
import { idRule, isId } from '../ids.ts';
import { pageFrom, setLinks, setTotal } from '../paging.ts';
import { answerCreated, answerDone } from '../preference.ts';
import { toDeviceDraft, toDeviceRecord, toDropRecord } from '../records.ts';
import {
  AllOrPage,
  conflict,
  creates,
  PreferHeaders,
  pageOf,
  passedOver,
  refusals,
  type Services,
  type TypedApp,
  writes,
} from '../routes.ts';
import {
  DeviceBody,
  DeviceParams,
  DeviceSchema,
  DropSchema,
  jsonField,
  LocationSchema,
  MetaSchema,
  textField,
} from '../schemas.ts';

const tags = ['Devices'];

export function registerDevices(app: TypedApp, services: Services): void {
  const { devices, history, drops } = services;

  app.post(
    '/devices',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'createDevice',
        summary: 'Create a device',
        description:
          'With its sensors and actuators, or without. Without a token the device belongs to guest and is public.',
        headers: PreferHeaders,
        body: DeviceBody,
        response: { ...creates(DeviceSchema), ...conflict('The id is taken.') },
      },
    },
    async (request, reply) => {
      const draft = toDeviceDraft(request.body);
      await devices.create(request.actor, draft);
      return answerCreated(request, reply, {
        location: `/api/v2/devices/${encodeURIComponent(draft.id)}`,
        record: async () => {
          const { device, scopes } = await devices.get(request.actor, draft.id);
          return toDeviceRecord(device, scopes, new Map());
        },
      });
    },
  );

  app.get(
    '/devices',
    {
      schema: {
        tags,
        operationId: 'listDevices',
        summary: 'List devices',
        description:
          'The devices you may view, in order of creation. `Link` leads to the next page, `X-Total-Count` counts all.',
        querystring: Type.Object({
          q: Type.Optional(
            Type.String({
              description:
                'Filter: `field==value`, such as `owner==guest`; also `!=`, `>`, `<`, `>=`, `<=`, several values `a,b`, conditions joined by `;` (and), nested fields with a dot (`location.latitude>5`).',
            }),
          ),
          limit: Type.Integer({
            minimum: 1,
            maximum: limits.deviceListMax,
            default: limits.deviceListDefault,
            description: 'Devices a page.',
          }),
          offset: passedOver('Devices'),
        }),
        response: { 200: pageOf(DeviceSchema, { description: 'A page of devices.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { q, limit, offset } = request.query;
      const page = await devices.list(request.actor, { q, limit, offset });
      setTotal(reply, page.total);
      setLinks(request, reply, { limit, offset, hasNext: offset + page.devices.length < page.total });
      const latest = await history.latest(page.devices);
      return page.devices.map((device) =>
        toDeviceRecord(device, devices.scopesOf(request.actor, device), latest),
      ) as never;
    },
  );

  app.get(
    '/devices/:device',
    {
      schema: {
        tags,
        operationId: 'getDevice',
        summary: 'Read a device',
        description: 'With its sensors, their last values, and its actuators.',
        params: DeviceParams,
        response: { 200: DeviceSchema, ...refusals },
      },
    },
    async (request) => {
      const { device, scopes } = await devices.get(request.actor, request.params.device);
      return toDeviceRecord(device, scopes, await history.latest([device])) as never;
    },
  );

  app.delete(
    '/devices/:device',
    {
      schema: {
        tags,
        operationId: 'deleteDevice',
        summary: 'Delete a device',
        description: 'Its sensors, datapoints, actuators and shares go with it.',
        params: DeviceParams,
        response: writes,
      },
    },
    async (request, reply) => {
      await devices.remove(request.actor, request.params.device);
      return answerDone(reply) as never;
    },
  );

  for (const field of textFields) {
    app.put(
      `/devices/:device/${field.name}`,
      {
        schema: {
          tags,
          operationId: field.operationId,
          summary: `Change the ${field.words} of a device`,
          ...(field.note === undefined ? {} : { description: field.note }),
          params: DeviceParams,
          body: field.body,
          response: writes,
        },
      },
      async (request, reply) => {
        const text = textFieldOf(request.body, field.name);
        await devices.update(request.actor, request.params.device, field.change(text));
        return answerDone(reply) as never;
      },
    );
  }

  for (const field of jsonFields) {
    app.put(
      `/devices/:device/${field.name}`,
      {
        schema: {
          tags,
          operationId: field.operationId,
          summary: `Change the ${field.words} of a device`,
          ...(field.note === undefined ? {} : { description: field.note }),
          params: DeviceParams,
          body: field.body,
          response: writes,
        },
      },
      async (request, reply) => {
        const json = jsonFieldOf(request.body, field.name);
        await devices.update(request.actor, request.params.device, field.change(json));
        return answerDone(reply) as never;
      },
    );
  }

  app.put(
    '/devices/:device/owner',
    {
      schema: {
        tags,
        operationId: 'setDeviceOwner',
        summary: 'Hand a device over to another user',
        description: 'For its owner and admins. The new owner has all rights, the old one none that no share gives.',
        params: DeviceParams,
        body: textField('Username of the new owner.', 'awa'),
        response: { ...writes, ...conflict('The device is private, and what guest owns is public.') },
      },
    },
    async (request, reply) => {
      await devices.setOwner(request.actor, request.params.device, textFieldOf(request.body, 'owner'));
      return answerDone(reply) as never;
    },
  );

  app.get(
    '/devices/:device/drops',
    {
      schema: {
        tags,
        operationId: 'listDeviceDrops',
        summary: 'Read why MQTT messages were not stored',
        description:
          'MQTT has no way to refuse a message, so those that were acknowledged but not stored are noted here. The last 100, newest first; for the owner and admins.',
        params: DeviceParams,
        querystring: AllOrPage,
        response: { 200: pageOf(DropSchema, { description: 'The drops.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const all = await drops.list(request.actor, request.params.device);
      return pageFrom(request, reply, all, request.query).map(toDropRecord) as never;
    },
  );
}

interface Field<T> {
  readonly name: string;
  readonly operationId: string;
  readonly words: string;
  readonly note?: string;
  readonly body: ReturnType<typeof textField>;
  readonly change: (value: T) => DeviceChange;
}

const textFields: readonly Field<string>[] = [
  {
    name: 'name',
    operationId: 'setDeviceName',
    words: 'name',
    body: textField('The new name.', 'Field 3, upper half'),
    change: (name) => ({ name }),
  },
  {
    name: 'gateway_id',
    operationId: 'setDeviceGateway',
    words: 'gateway',
    note: 'An empty one is none.',
    body: textField('Id of the gateway the device is connected to.', 'gateway-1'),
    change: (id) => ({ gatewayId: parseGatewayId(id) }),
  },
  {
    name: 'domain',
    operationId: 'setDeviceDomain',
    words: 'domain',
    body: textField('The application domain.', 'irrigation'),
    change: (domain) => ({ domain }),
  },
  {
    name: 'visibility',
    operationId: 'setDeviceVisibility',
    words: 'visibility',
    note: '`public` or `private`. Guest makes nothing private.',
    body: textField('`public` or `private`.', 'public'),
    change: (text) => ({ visibility: parseVisibility(text) }),
  },
];

const jsonFields: readonly Field<Json>[] = [
  {
    name: 'location',
    operationId: 'setDeviceLocation',
    words: 'location',
    body: jsonField(LocationSchema, { latitude: 16.03, longitude: -16.49 }),
    change: (json) => ({ location: parseLocation(json) }),
  },
  {
    name: 'meta',
    operationId: 'setDeviceMeta',
    words: 'meta object',
    body: jsonField(MetaSchema, { crop: 'onion', hectares: 1.5 }),
    change: (json) => ({ meta: parseMeta(json) }),
  },
  {
    name: 'deployed',
    operationId: 'setDeviceDeployed',
    words: 'deployed mark',
    body: jsonField(Type.Boolean({ description: 'Whether the device is in its place.' }), true),
    change: (json) => ({ deployed: parseDeployed(json) }),
  },
];

function parseGatewayId(id: string): string | undefined {
  if (id === '' || isId(id)) return id === '' ? undefined : id;
  throw new Refusal('malformed', `/gateway_id ${idRule}.`, { faults: [{ pointer: '/gateway_id', detail: idRule }] });
}

function parseDeployed(json: Json): boolean | undefined {
  if (json === null) return undefined;
  if (json === true || json === 'true') return true;
  if (json === false || json === 'false') return false;
  throw new Refusal('malformed', 'deployed is true or false.');
}
