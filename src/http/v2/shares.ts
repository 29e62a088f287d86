// Sharing a device with chosen people (contract 3); for its owner and admins.
import { type Static, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { grantNamesOfScopes, noScopes, parseScopeName, type ScopeSet, scope } from '../../domain/permissions/scopes.ts';
import { noContent, overload, refusals, type Services, type TypedApp } from './routes.ts';
import { DeviceIdSchema, DeviceParams, ShareSchema } from './schemas.ts';

const tags = ['Sharing'];
const ShareParams = Type.Object({
  device: DeviceIdSchema,
  username: Type.String({ description: 'Who the device is shared with.' }),
});
const ShareBody = Type.Object(
  {
    scopes: Type.Array(Type.String(), {
      maxItems: 10,
      description: 'What they may do: `device:view` and so on (spec 2.7).',
    }),
  },
  { examples: [{ scopes: ['device:view', 'device-data:view'] }] },
);

export function registerShares(app: TypedApp, services: Services): void {
  const { devices } = services;

  app.get(
    '/devices/:device/shares',
    {
      schema: {
        tags,
        summary: 'List who a device is shared with',
        params: DeviceParams,
        response: { 200: Type.Array(ShareSchema), ...refusals },
      },
    },
    async (request) => {
      const shares = await devices.listShares(request.actor, request.params.device);
      return shares.map((share) => ({ username: share.username, scopes: grantNamesOfScopes(share.scopes) }));
    },
  );

  app.put(
    '/devices/:device/shares/:username',
    {
      schema: {
        tags,
        summary: 'Share a device with a user',
        description: 'Gives exactly the scopes named; an empty list ends the share.',
        params: ShareParams,
        body: ShareBody,
        response: { 204: noContent, ...refusals, ...overload },
      },
    },
    async (request, reply) => {
      const { device, username } = request.params;
      await devices.share(request.actor, device, username, parseScopes(request.body));
      return reply.code(204).send(null);
    },
  );

  app.delete(
    '/devices/:device/shares/:username',
    {
      schema: {
        tags,
        summary: 'Stop sharing a device with a user',
        params: ShareParams,
        response: { 204: noContent, ...refusals, ...overload },
      },
    },
    async (request, reply) => {
      await devices.share(request.actor, request.params.device, request.params.username, noScopes);
      return reply.code(204).send(null);
    },
  );
}

function parseScopes(body: Static<typeof ShareBody>): ScopeSet {
  return body.scopes.reduce((set: ScopeSet, name, index) => {
    const one = parseScopeName(name);
    if (one !== undefined) return set | one;
    const known = grantNamesOfScopes(scope.view | scope.update | scope.delete | scope.dataView | scope.dataCreate).join(
      ', ',
    );
    throw new Refusal('malformed', `There is no scope ${JSON.stringify(name)}; the scopes are ${known}.`, {
      faults: [{ pointer: `/scopes/${index}`, detail: `must be one of ${known}` }],
    });
  }, noScopes);
}
