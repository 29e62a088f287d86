// Another id for a device, the ids by which it still answers, and what answers say that were asked for by one of these
// (decision 41).
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { Successor } from '../../domain/devices/renaming.ts';
import { pageFrom } from '../lists/paging.ts';
import { DeviceIdSchema, DeviceParams } from '../schemas/device-schemas.ts';
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

const afterwards = `The device answers by its id of before for ${limits.formerIdDays} days, at every door: paths, MQTT topics (published to and subscribed to), bulk lines, imports and rules. Answers to such a request have the headers \`Deprecation\`, \`Sunset\` (when that ends) and, for who may view the device, \`Link\` with its new address (\`rel="successor-version"\`). Until then nobody else gets that id. Datapoints, shares, API keys, rules and projects stay; of those that name the device, the ones of users who may view it name the new id from then on.`;

export function registerFormerIds(app: TypedApp, { renaming }: Services): void {
  app.put(
    '/devices/:device/id',
    {
      schema: {
        tags,
        operationId: 'setDeviceId',
        summary: 'Give a device another id',
        description: `${afterwards} Back to a former id works too. For the owner and admins, without an API key; at most ${limits.formerIdsMax} former ids answer at once (422 beyond).`,
        params: DeviceParams,
        body: textField('The new id.', 'field-3-north', textBounds.id),
        response: {
          ...writes,
          ...conflict('Another device has this id, or had it and still answers by it.'),
        },
      },
    },
    async (request, reply) => {
      const id = textFieldOf(request.body, 'id', textBounds.id);
      if (!isId(id)) throw new Refusal('malformed', `id ${idRule}.`, { faults: [{ pointer: '', detail: idRule }] });
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
      return pageFrom(request, reply, all, request.query).map(({ id, untilMs }) => ({
        id,
        until: formatTimestamp(untilMs),
      })) as never;
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
}

/** From now on, answers of routes that are registered later say where they were asked for by a former id. */
export function announceSuccessors(app: TypedApp, { renaming }: Services): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { device } = (request.params ?? {}) as { readonly device?: string };
    if (device !== undefined && reply.statusCode < 400) {
      const successor = renaming.successorOf(request.actor, device);
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
  { id, sinceMs, untilMs }: Successor,
  { url, route }: { readonly url: string; readonly route: string },
): { readonly deprecation: string; readonly sunset: string; readonly link?: string } {
  const dates = { deprecation: `@${Math.floor(sinceMs / 1000)}`, sunset: new Date(untilMs).toUTCString() };
  if (id === undefined) return dates;
  const at = route.split('/').indexOf(':device');
  const path = (url.split('?', 1)[0] ?? '').split('/').with(at, encodeURIComponent(id)).join('/');
  return { ...dates, link: `<${path}>; rel="successor-version"` };
}
