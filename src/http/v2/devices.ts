// Devices (spec 4.1, contract 4), their shares (contract 3) and their drop log (contract 8).
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';
import { noDatapoints } from '../../domain/datapoints/history/last-values.ts';
import type { DeviceChange } from '../../domain/devices/device.ts';
import { type DeviceOrder, deviceOrders } from '../../domain/devices/device-store.ts';
import { distanceKm, parseNear } from '../../domain/devices/near.ts';
import { sendRecords } from '../lists/json-array.ts';
import { pageFrom, setPage } from '../lists/paging.ts';
import { DeviceBody, DeviceParams, DeviceSchema, DropSchema, RetentionSchema } from '../schemas/device-schemas.ts';
import { LocationSchema, MetaSchema } from '../schemas/field-schemas.ts';
import { idRule, isId } from '../schemas/ids.ts';
import { handoverBounds } from '../schemas/permission-schemas.ts';
import { toDeviceDraft, toDeviceRecord, toDropRecord } from '../schemas/records.ts';
import { boundedText, type TextBound, textBounds } from '../schemas/text-bounds.ts';
import { jsonFieldOf, textFieldOf } from '../server/bodies.ts';
import { answerCreated, answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import {
  AllOrPage,
  conflict,
  creates,
  offsetParameter,
  PreferHeaders,
  pageOf,
  refusals,
  type TypedApp,
  writes,
} from '../server/routes.ts';
import type { Services } from '../services.ts';
import { actorWhileConnected } from '../sign-in/connected-actor.ts';
import { dropNulls } from './drop-nulls.ts';
import { parseLocation, parseMeta, parseRetentionDays, parseVisibility } from './field-values.ts';
import { jsonField, registerFields, type SingleField, textField } from './single-fields.ts';

const tags = ['Devices'];

export function registerDevices(app: TypedApp, services: Services): void {
  const { devices, handovers, lastValues, drops } = services;

  app.post(
    '/devices',
    {
      bodyLimit: limits.bodyBytesMax,
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
          return toDeviceRecord(device, scopes, noDatapoints);
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
        description: 'The devices you may view. `Link` leads to the next page, `X-Total-Count` counts all.',
        querystring: Type.Object({
          q: Type.Optional(
            boundedText(limits.filterCharsMax, {
              description:
                'Filter: `field==value`, such as `owner==guest`; also `!=`, `>`, `<`, `>=`, `<=`, several values `a,b` (a comma within one is written `%252C`), conditions joined by `;` (and), nested fields with a dot (`location.latitude>5`). Every field of the record works, such as `sensors.last_value.value>20` or `actuators.value==true` where you may view the values; any other is 400. One of the sensors must meet the condition, for `!=` none may be equal.',
            }),
          ),
          search: searched('of the device'),
          sensor_search: searched('of one of its sensors'),
          near: Type.Optional(
            boundedText(limits.wordCharsMax, {
              description:
                'Only devices with a location around a place, the nearest first unless `order` says otherwise, each with its `distance_km`: `<latitude>,<longitude>,<km>`, in degrees and kilometres along the surface of the earth.',
              examples: ['16.03,-16.49,25'],
            }),
          ),
          shared: Type.Optional(
            Type.Boolean({ description: 'True: only those that somebody shares with you.', examples: [true] }),
          ),
          order: Type.Optional(
            Type.Unsafe<DeviceOrder>({
              type: 'string',
              enum: [...deviceOrders],
              description:
                'The order: by creation (default), by name (by id where there is no name) letter by letter, by name as people count (`natural`: 9 before 10), or by the time of the last datapoint (`heard`, those that were never heard first); `-` reverses it.',
              examples: ['name'],
            }),
          ),
          limit: Type.Integer({
            minimum: 1,
            maximum: limits.deviceListMax,
            default: limits.deviceListDefault,
            description: 'Devices a page.',
          }),
          offset: offsetParameter('Devices'),
        }),
        response: { 200: pageOf(DeviceSchema, { description: 'A page of devices.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { limit, offset, search: text, sensor_search: sensorText, near: place, ...query } = request.query;
      const near = place === undefined ? undefined : parseNear(place);
      const page = await devices.list(actorWhileConnected(request, reply), {
        ...query,
        near,
        limit,
        offset,
        search: { text, sensorText },
      });
      setPage(request, reply, { limit, offset, total: page.total });
      const records = async function* () {
        for await (const step of page.steps) {
          const last = await lastValues.of(request.actor, step);
          yield step.map((device) => {
            const record = toDeviceRecord(device, devices.scopesOf(request.actor, device), last);
            return near === undefined ? record : { ...record, distance_km: distanceKm(near, device.location) };
          });
        }
      };
      return (await sendRecords(request, reply as never, records())) as never;
    },
  );

  app.get(
    '/domains',
    {
      schema: {
        tags,
        operationId: 'listDomains',
        summary: 'List the domains in use',
        description: `The \`domain\` of the devices that you may see, each once: what a field for it may offer. At most ${limits.domainsListedMax}, none of more than ${limits.nameCharsMax} characters.`,
        response: {
          200: Type.Array(Type.String({ maxLength: limits.nameCharsMax, examples: ['irrigation'] }), {
            description: 'Domains, 9 before 10.',
            maxItems: limits.domainsListedMax,
          }),
          ...refusals,
        },
      },
    },
    (request, reply) => devices.listDomains(actorWhileConnected(request, reply)),
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
      return toDeviceRecord(device, scopes, await lastValues.of(request.actor, [device])) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/devices/:device',
    operationId: 'deleteDevice',
    summary: 'Delete a device',
    description: 'Its sensors, datapoints, actuators and shares are removed with it.',
    params: DeviceParams,
    remove: (actor, { device }) => devices.remove(actor, device),
  });

  registerFields(app, {
    ...{ tags, path: '/devices/:device', words: 'a device', params: DeviceParams, fields },
    update: ({ actor }, { device }, change) => devices.update(actor, device, change),
  });

  app.put(
    '/devices/:device/owner',
    {
      schema: {
        tags,
        operationId: 'setDeviceOwner',
        summary: 'Hand a device over to another user',
        description: `For its owner and admins; takes effect at once. Shares that anybody but the new owner gave end, and API keys of the old owner that name the device no longer reach it. For 30 days the new owner sees the device under \`/users/me/received\`, and can restore the shares or give the device back. ${handoverBounds}`,
        params: DeviceParams,
        body: textField('Username of the new owner.', 'awa', textBounds.username),
        response: { ...writes, ...conflict('The device is private, and what guest owns is public.') },
      },
    },
    async (request, reply) => {
      await handovers.handOver(
        request.actor,
        request.params.device,
        textFieldOf(request.body, 'owner', textBounds.username),
      );
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
          'MQTT has no error answer for a message, so messages that were acknowledged but not stored are listed here: the last 100, newest first. For the owner and admins.',
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

const searched = (where: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.searchCharsMax,
      description: `Only devices where the id or the name ${where} holds this text, whatever the case.`,
      examples: ['field'],
    }),
  );

const ofText = (
  name: string,
  [bound, description, example]: readonly [bound: TextBound, description: string, example: string],
  change: (text: string) => DeviceChange,
) => ({
  name,
  body: textField(description, example, bound),
  change: (body: unknown) => change(textFieldOf(body, name, bound)),
});

const ofJson = (name: string, change: (json: Json) => DeviceChange) => ({
  name,
  change: (body: unknown) => change(jsonFieldOf(body, name)),
});

const fields: readonly SingleField<DeviceChange>[] = [
  {
    ...ofText('name', [textBounds.name, 'The new name.', 'Field 3, upper half'], (name) => ({ name })),
    operationId: 'setDeviceName',
  },
  {
    ...ofText('gateway_id', [textBounds.id, 'Id of the gateway the device is connected to.', 'gateway-1'], (id) => ({
      gatewayId: parseGatewayId(id),
    })),
    operationId: 'setDeviceGateway',
    words: 'gateway',
    note: 'An empty one is none.',
  },
  {
    ...ofText('domain', [textBounds.description, 'The application domain.', 'irrigation'], (domain) => ({ domain })),
    operationId: 'setDeviceDomain',
  },
  {
    ...ofText('visibility', [textBounds.word, '`public` or `private`.', 'public'], (text) => ({
      visibility: parseVisibility(text),
    })),
    operationId: 'setDeviceVisibility',
    note: '`public` or `private`. Guest makes nothing private.',
  },
  {
    ...ofJson('location', (json) => ({ location: parseLocation(json) })),
    operationId: 'setDeviceLocation',
    body: jsonField(LocationSchema, { latitude: 16.03, longitude: -16.49 }),
  },
  {
    ...ofJson('meta', (json) => ({ meta: parseMeta(json) })),
    operationId: 'setDeviceMeta',
    words: 'meta object',
    body: jsonField(MetaSchema, { crop: 'onion', hectares: 1.5 }),
  },
  {
    ...ofJson('deployed', (json) => ({ deployed: parseDeployed(json) })),
    operationId: 'setDeviceDeployed',
    words: 'deployed mark',
    body: jsonField(Type.Boolean({ description: 'Whether the device is installed where it measures.' }), true),
  },
  {
    ...ofJson('retention_days', (json) => ({ retentionDays: parseRetentionDays(json) })),
    operationId: 'setDeviceRetention',
    words: 'retention',
    note: 'What is older goes within the hour and does not come back. `null` takes the field away.',
    body: jsonField(RetentionSchema, 365),
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
