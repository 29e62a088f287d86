// Sharing a device, a gateway or a project with chosen people (contract 3); for its owner and admins.
import { type Static, type TSchema, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import type { SharedRecordKind } from '../../domain/devices/record-share-store.ts';
import { grantNamesOfScopes, noScopes, parseScopeName, type ScopeSet, scopesOn } from '../../domain/scopes.ts';
import { pageFrom } from '../lists/paging.ts';
import { DeviceIdSchema, DeviceParams } from '../schemas/device-schemas.ts';
import { UsernameSchema } from '../schemas/field-schemas.ts';
import { GatewayIdSchema, ProjectIdSchema } from '../schemas/gateway-schemas.ts';
import { recordShareBody, recordShareSchema, ShareBody, ShareSchema } from '../schemas/permission-schemas.ts';
import { answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import { AllOrPage, pageOf, refusals, type TypedApp, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';

const tags = ['Sharing'];
const ShareParams = Type.Object({ device: DeviceIdSchema, username: UsernameSchema });

export function registerShares(app: TypedApp, services: Services): void {
  const { devices } = services;

  app.get(
    '/devices/:device/shares',
    {
      schema: {
        tags,
        operationId: 'listDeviceShares',
        summary: 'List who a device is shared with',
        description: 'For the owner and admins.',
        params: DeviceParams,
        querystring: AllOrPage,
        response: { 200: pageOf(ShareSchema, { description: 'The shares, by username.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const shares = await devices.listShares(request.actor, request.params.device);
      return pageFrom(request, reply, shares, request.query).map((share) => ({
        username: share.username,
        scopes: grantNamesOfScopes(share.scopes),
      }));
    },
  );

  app.put(
    '/devices/:device/shares/:username',
    {
      schema: {
        tags,
        operationId: 'shareDevice',
        summary: 'Share a device with a user',
        description: 'Gives exactly the scopes named; an empty list ends the share. For the owner and admins.',
        params: ShareParams,
        body: ShareBody,
        response: writes,
      },
    },
    async (request, reply) => {
      const { device, username } = request.params;
      await devices.share(request.actor, device, username, parseScopes(request.body.scopes, scopesOn.device));
      return answerDone(reply) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: '/devices/:device/shares/:username',
    operationId: 'unshareDevice',
    summary: 'Stop sharing a device with a user',
    params: ShareParams,
    remove: (actor, { device, username }) => devices.share(actor, device, username, noScopes),
  });
}

type RecordShares = Pick<Services['gateways'] | Services['projects'], 'listShares' | 'share'>;

/** The same routes for gateways and projects, whose shares may reach their devices. */
export function registerRecordShares(app: TypedApp, { gateways, projects }: Services): void {
  registerSharesOf(app, { kind: 'gateway', words: 'a gateway', idSchema: GatewayIdSchema, records: gateways });
  registerSharesOf(app, { kind: 'project', words: 'a project', idSchema: ProjectIdSchema, records: projects });
}

function registerSharesOf(
  app: TypedApp,
  shared: {
    readonly kind: SharedRecordKind;
    readonly words: string;
    readonly idSchema: TSchema;
    readonly records: RecordShares;
  },
): void {
  const { kind, words, idSchema, records } = shared;
  const Kind = kind === 'gateway' ? 'Gateway' : 'Project';
  const path = `/${kind}s/:${kind}/shares`;
  const params = Type.Object({ [kind]: idSchema });
  const paramsWithUser = Type.Object({ [kind]: idSchema, username: UsernameSchema });
  const idIn = (named: unknown) => (named as Readonly<Record<string, string>>)[kind] ?? '';

  app.get(
    path,
    {
      schema: {
        tags,
        operationId: `list${Kind}Shares`,
        summary: `List who ${words} is shared with`,
        description: 'For the owner and admins.',
        params,
        querystring: AllOrPage,
        response: {
          200: pageOf(recordShareSchema(kind), { description: 'The shares, by username.', counted: true }),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const shares = await records.listShares(request.actor, idIn(request.params));
      return pageFrom(request, reply, shares, request.query).map(({ username, scopes }) => ({
        username,
        scopes: grantNamesOfScopes(scopes),
        with_devices: (scopes & scopesOn.device) !== noScopes,
      })) as never;
    },
  );

  app.put(
    `${path}/:username`,
    {
      schema: {
        tags,
        operationId: `share${Kind}`,
        summary: `Share ${words} with a user`,
        description:
          'Gives exactly the scopes named; an empty list ends the share. With `"with_devices": true` also those on devices, each checked when it is used. For the owner and admins.',
        params: paramsWithUser,
        body: recordShareBody(kind),
        response: writes,
      },
    },
    async (request, reply) => {
      const { username } = request.params as { username: string };
      const scopes = parseRecordScopes(kind, request.body);
      await records.share(request.actor, idIn(request.params), { username, scopes });
      return answerDone(reply) as never;
    },
  );

  registerRemoval(app, {
    tags,
    path: `${path}/:username`,
    operationId: `unshare${Kind}`,
    summary: `Stop sharing ${words} with a user`,
    params: paramsWithUser,
    remove: (actor, named) =>
      records.share(actor, idIn(named), { username: (named as { username: string }).username, scopes: noScopes }),
  });
}

/** @throws Refusal `malformed` where scopes on devices and `with_devices` do not go together. */
function parseRecordScopes(
  kind: SharedRecordKind,
  { scopes: names, with_devices: withDevices = false }: Static<ReturnType<typeof recordShareBody>>,
): ScopeSet {
  const scopes = parseScopes(names, scopesOn[kind] | scopesOn.device);
  const first = names.findIndex((name) => ((parseScopeName(name) ?? noScopes) & scopesOn.device) !== noScopes);
  if (first >= 0 && !withDevices) {
    const detail = `is a right on devices, and needs "with_devices": true`;
    throw new Refusal('malformed', `${JSON.stringify(names[first])} ${detail}.`, {
      faults: [{ pointer: `/scopes/${first}`, detail }],
    });
  }
  if (withDevices && first < 0 && scopes !== noScopes) {
    const detail = `needs a scope on devices beside it: ${grantNamesOfScopes(scopesOn.device).join(', ')}`;
    throw new Refusal('malformed', `/with_devices ${detail}.`, { faults: [{ pointer: '/with_devices', detail }] });
  }
  return scopes;
}

/** @throws Refusal `malformed` for a name of none of the known scopes. */
function parseScopes(names: readonly string[], known: ScopeSet): ScopeSet {
  return names.reduce((set: ScopeSet, name, index) => {
    const one = parseScopeName(name);
    if (one !== undefined && (one & known) !== 0) return set | one;
    const words = grantNamesOfScopes(known).join(', ');
    throw new Refusal('malformed', `There is no scope ${JSON.stringify(name)}; the scopes are ${words}.`, {
      faults: [{ pointer: `/scopes/${index}`, detail: `must be one of ${words}` }],
    });
  }, noScopes);
}
