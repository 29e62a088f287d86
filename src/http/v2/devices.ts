// Devices (spec 4.1, contract 4), their shares (contract 3) and their drop log (contract 8).
import { Type } from 'typebox';
import type { Json } from '../../base/json.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceChange } from '../../domain/devices/device.ts';
import { jsonFieldOf, textFieldOf } from '../bodies.ts';
import { setLinks, setTotal } from '../paging.ts';
import { answerCreated } from '../preference.ts';
import { dropNulls } from './drop-nulls.ts';
import { toDeviceDraft, toDeviceRecord, toDropRecord } from './records.ts';
import { noContent, overload, refusals, type Services, type TypedApp } from './routes.ts';
import { DeviceBody, DeviceParams, DeviceSchema, DropSchema, JsonFieldBody, TextFieldBody } from './schemas.ts';

const tags = ['Devices'];
const writes = { 204: noContent, ...refusals, ...overload };

export function registerDevices(app: TypedApp, services: Services): void {
  const { devices, history, drops } = services;

  app.post(
    '/devices',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        summary: 'Create a device',
        description:
          'Without a token the device belongs to guest and is public. An id that is taken is 422. `Prefer: return=representation` answers the record.',
        body: DeviceBody,
        response: { ...writes, 201: DeviceSchema },
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
        summary: 'List devices',
        description:
          'The devices you may view, in order of creation. `Link` leads to the next page, `X-Total-Count` counts all.',
        querystring: Type.Object({
          q: Type.Optional(
            Type.String({
              description: 'Filter: `field==value`, also != > < >= <=, several values `a,b`, conditions joined by `;`.',
              examples: ['owner==guest'],
            }),
          ),
          limit: Type.Integer({
            minimum: 1,
            maximum: limits.deviceListMax,
            default: limits.deviceListDefault,
            description: 'Devices a page.',
          }),
          offset: Type.Integer({ minimum: 0, default: 0, description: 'Devices passed over.' }),
        }),
        response: { 200: Type.Array(DeviceSchema), ...refusals },
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
    { schema: { tags, summary: 'Read a device', params: DeviceParams, response: { 200: DeviceSchema, ...refusals } } },
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
        summary: 'Delete a device',
        description: 'Its sensors, datapoints, actuators and shares go with it.',
        params: DeviceParams,
        response: writes,
      },
    },
    async (request, reply) => {
      await devices.remove(request.actor, request.params.device);
      return reply.code(204).send(null);
    },
  );

  for (const field of textFields) {
    app.put(
      `/devices/:device/${field.name}`,
      {
        schema: {
          tags,
          summary: `Change the ${field.words}`,
          params: DeviceParams,
          body: TextFieldBody,
          response: writes,
        },
      },
      async (request, reply) => {
        const text = textFieldOf(request.body, field.name);
        await devices.update(request.actor, request.params.device, field.change(text));
        return reply.code(204).send(null);
      },
    );
  }

  for (const field of jsonFields) {
    app.put(
      `/devices/:device/${field.name}`,
      {
        schema: {
          tags,
          summary: `Change the ${field.words}`,
          params: DeviceParams,
          body: JsonFieldBody,
          response: writes,
        },
      },
      async (request, reply) => {
        const json = jsonFieldOf(request.body, field.name);
        await devices.update(request.actor, request.params.device, field.change(json));
        return reply.code(204).send(null);
      },
    );
  }

  app.put(
    '/devices/:device/owner',
    {
      schema: {
        tags,
        summary: 'Hand a device over to another user',
        params: DeviceParams,
        body: TextFieldBody,
        response: writes,
      },
    },
    async (request, reply) => {
      await devices.setOwner(request.actor, request.params.device, textFieldOf(request.body, 'owner'));
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/devices/:device/drops',
    {
      schema: {
        tags,
        summary: 'Read why MQTT messages were not stored',
        description: 'The last 100, newest first; for the owner and admins.',
        params: DeviceParams,
        response: { 200: Type.Array(DropSchema), ...refusals },
      },
    },
    async (request) => (await drops.list(request.actor, request.params.device)).map(toDropRecord) as never,
  );
}

interface Field<T> {
  readonly name: string;
  readonly words: string;
  readonly change: (value: T) => DeviceChange;
}

const textFields: readonly Field<string>[] = [
  { name: 'name', words: 'name of a device', change: (name) => ({ name }) },
  {
    name: 'gateway_id',
    words: 'gateway of a device; an empty one is none',
    change: (id) => ({ gatewayId: id === '' ? undefined : id }),
  },
  { name: 'domain', words: 'domain of a device', change: (domain) => ({ domain }) },
  { name: 'visibility', words: 'visibility of a device', change: (text) => ({ visibility: parseVisibility(text) }) },
];

const jsonFields: readonly Field<Json>[] = [
  { name: 'location', words: 'location of a device', change: (json) => ({ location: parseLocation(json) }) },
  { name: 'meta', words: 'meta object of a device', change: (json) => ({ meta: parseMeta(json) }) },
  { name: 'deployed', words: 'deployed mark of a device', change: (json) => ({ deployed: parseDeployed(json) }) },
];

function parseVisibility(text: string): 'public' | 'private' {
  const visibility = text.trim();
  if (visibility === 'public' || visibility === 'private') return visibility;
  throw new Refusal('malformed', `The visibility is public or private, not ${JSON.stringify(text.slice(0, 40))}.`);
}

function parseLocation(json: Json): Json | undefined {
  if (json === null) return undefined;
  const { latitude, longitude } = asObject(json, 'location');
  for (const degrees of [latitude, longitude]) {
    if (degrees === undefined || degrees === null || typeof degrees === 'number') continue;
    throw new Refusal('malformed', 'The location is {"latitude": <number>, "longitude": <number>}, in degrees.');
  }
  return json;
}

/** @throws Refusal `malformed` when it is no object; null takes it away. */
export function parseMeta(json: Json): Json | undefined {
  return json === null ? undefined : (asObject(json, 'meta') as Json);
}

function parseDeployed(json: Json): boolean | undefined {
  if (json === null) return undefined;
  if (json === true || json === 'true') return true;
  if (json === false || json === 'false') return false;
  throw new Refusal('malformed', 'deployed is true or false.');
}

function asObject(json: Json, field: string): { readonly [key: string]: Json } {
  if (typeof json === 'object' && json !== null && !Array.isArray(json))
    return json as { readonly [key: string]: Json };
  throw new Refusal('malformed', `${field} is a JSON object.`);
}
