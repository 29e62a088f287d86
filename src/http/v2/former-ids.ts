// Another id for a device, the ids by which it still answers, and what answers say that were asked for by one of these
// (decision 42).
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { FormerId } from '../../domain/devices/former-ids/former-id.ts';
import type { Successor } from '../../domain/devices/former-ids/renaming.ts';
import { pageFrom } from '../lists/paging.ts';
import { DeviceIdSchema, DeviceParams, SensorParams } from '../schemas/device-schemas.ts';
import { FormerIdPathSchema, FormerIdSchema } from '../schemas/former-id-schemas.ts';
import { idRule, isId } from '../schemas/ids.ts';
import { textBounds } from '../schemas/text-bounds.ts';
import { textFieldOf } from '../server/bodies.ts';
import { answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import { AllOrPage, conflict, pageOf, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { textField } from './single-fields.ts';

const tags = ['Devices'];
const sensorTags = ['Sensors'];

const afterwards = `The device answers by its id of before for ${limits.formerIdDays} days, at every door: paths, MQTT topics (published to and subscribed to), bulk lines, imports and rules. Answers to such a request, but to the plain push of a value, have the headers \`Deprecation\`, \`Sunset\` (when that ends) and, for who may view the device, \`Link\` with its new address (\`rel="successor-version"\`). Until then nobody else gets that id. Datapoints, shares, API keys, rules and projects stay; of those that name the device, the ones of users who may view it name the new id from then on.`;

const bounds = `at most ${limits.formerIdsMax} former ids answer at once (422 beyond), and a device and its sensors get ${limits.renamesPerDeviceMax} other ids a day (429 beyond)`;

export function registerFormerIds(app: TypedApp, { renaming, sensorRenaming }: Services): void {
  app.put(
    '/devices/:device/id',
    {
      schema: {
        tags,
        operationId: 'setDeviceId',
        summary: 'Give a device another id',
        description: `${afterwards} Back to a former id works too. For the owner and admins, without an API key; ${bounds}.`,
        params: DeviceParams,
        body: textField('The new id.', 'field-3-north', textBounds.id),
        response: {
          ...writes,
          ...conflict('Another device has this id, or had it and still answers by it.'),
        },
      },
    },
    async (request, reply) => {
      const id = idOf(request.body);
      await renaming.rename(request.actor, request.params.device, id);
      reply.header('location', `/api/v2/devices/${encodeURIComponent(id)}`);
      return answerDone(reply) as never;
    },
  );

  app.get(
    '/devices/:device/former_ids',
    {
      schema: {
        tags,
        operationId: 'listFormerDeviceIds',
        summary: 'List the ids by which a device still answers',
        description: 'Ids that it had before, the latest first. For the owner and admins.',
        params: DeviceParams,
        querystring: AllOrPage,
        response: {
          200: pageOf(FormerIdSchema, { description: 'The former ids.', counted: true }),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const all = await renaming.listFormer(request.actor, request.params.device);
      return pageFrom(request, reply, all, request.query).map(shown) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/devices/:device/former_ids/:former',
    operationId: 'endFormerDeviceId',
    summary: 'End a former id of a device',
    description: 'The device answers by it no longer, and anybody may take it. For the owner and admins.',
    params: Type.Object({ device: DeviceIdSchema, former: FormerIdPathSchema }),
    remove: (actor, { device, former }) => renaming.forget(actor, device, former),
  });

  app.put(
    '/devices/:device/sensors/:sensor/id',
    {
      schema: {
        tags: sensorTags,
        operationId: 'setSensorId',
        summary: 'Give a sensor another id',
        description: `Its datapoints stay. It answers by its id of before for ${limits.formerIdDays} days, at every door, as a device does; rules and texts that name it by that go on. Until then no other sensor of the device gets that id. Back to a former id works too. For the owner and admins, without an API key; ${bounds}.`,
        params: SensorParams,
        body: textField('The new id.', 'TC-north', textBounds.id),
        response: {
          ...writes,
          ...conflict('Another sensor of the device has this id, or had it and still answers by it.'),
        },
      },
    },
    async (request, reply) => {
      const { device, sensor } = request.params;
      const id = idOf(request.body);
      await sensorRenaming.rename(request.actor, device, sensor, id);
      const [inDevice, inSensors] = [device, id].map(encodeURIComponent);
      reply.header('location', `/api/v2/devices/${inDevice}/sensors/${inSensors}`);
      return answerDone(reply) as never;
    },
  );

  app.get(
    '/devices/:device/sensors/:sensor/former_ids',
    {
      schema: {
        tags: sensorTags,
        operationId: 'listFormerSensorIds',
        summary: 'List the ids by which a sensor still answers',
        description: 'Ids that it had before, the latest first. For the owner and admins.',
        params: SensorParams,
        querystring: AllOrPage,
        response: {
          200: pageOf(FormerIdSchema, { description: 'The former ids.', counted: true }),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { device, sensor } = request.params;
      const all = await sensorRenaming.listFormer(request.actor, device, sensor);
      return pageFrom(request, reply, all, request.query).map(shown) as never;
    },
  );

  registerRemoval(app, {
    tags: sensorTags,
    path: '/devices/:device/sensors/:sensor/former_ids/:former',
    operationId: 'endFormerSensorId',
    summary: 'End a former id of a sensor',
    description: 'The sensor answers by it no longer, and another may take it. For the owner and admins.',
    params: Type.Object({ ...SensorParams.properties, former: FormerIdPathSchema }),
    remove: (actor, path) => sensorRenaming.forget(actor, path),
  });
}

function shown({ id, untilMs }: FormerId): { readonly id: string; readonly until: string } {
  return { id, until: formatTimestamp(untilMs) };
}

/** @throws Refusal `malformed` */
function idOf(body: unknown): string {
  const id = textFieldOf(body, 'id', textBounds.id);
  if (!isId(id)) throw new Refusal('malformed', `id ${idRule}.`, { faults: [{ pointer: '', detail: idRule }] });
  return id;
}

/** From now on, answers of routes that are registered later say where they were asked for by a former id. */
export function announceSuccessors(app: TypedApp, { renaming }: Services): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { device, sensor } = (request.params ?? {}) as { readonly device?: string; readonly sensor?: string };
    if (device !== undefined && reply.statusCode < 400) {
      const successor = renaming.successorOf(request.actor, device, sensor);
      if (successor !== undefined) {
        const { link, ...dates } = headersOf(successor, { url: request.url, route: request.routeOptions.url ?? '' });
        reply.headers(dates);
        // Beside the links to other pages.
        const links = [reply.getHeader('link'), link].filter((each) => each !== undefined);
        if (links.length > 0) reply.header('link', links.join(', '));
      }
    }
    done(null, payload);
  });
}

/** RFC 9745, RFC 8594 and, for the link, RFC 5829. */
function headersOf(
  { id, sensor, sinceMs, untilMs }: Successor,
  { url, route }: { readonly url: string; readonly route: string },
): { readonly deprecation: string; readonly sunset: string; readonly link?: string } {
  const dates = { deprecation: `@${Math.floor(sinceMs / 1000)}`, sunset: new Date(untilMs).toUTCString() };
  if (id === undefined) return dates;
  const names = route.split('/');
  const levels = (url.split('?', 1)[0] ?? '').split('/');
  levels[names.indexOf(':device')] = encodeURIComponent(id);
  if (sensor !== undefined) levels[names.indexOf(':sensor')] = encodeURIComponent(sensor);
  const path = levels.join('/');
  return { ...dates, link: `<${path}>; rel="successor-version"` };
}
