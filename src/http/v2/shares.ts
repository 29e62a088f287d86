// Sharing a device with chosen people (contract 3); for its owner and admins.
import { type Static, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { grantNamesOfScopes, noScopes, parseScopeName, type ScopeSet, scopesOn } from '../../domain/scopes.ts';
import { pageFrom } from '../lists/paging.ts';
import { DeviceIdSchema, DeviceParams } from '../schemas/device-schemas.ts';
import { UsernameSchema } from '../schemas/field-schemas.ts';
import { ShareBody, ShareSchema } from '../schemas/permission-schemas.ts';
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
      await devices.share(request.actor, device, username, parseScopes(request.body));
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

function parseScopes(body: Static<typeof ShareBody>): ScopeSet {
  return body.scopes.reduce((set: ScopeSet, name, index) => {
    const one = parseScopeName(name);
    if (one !== undefined && (one & scopesOn.device) !== 0) return set | one;
    const known = grantNamesOfScopes(scopesOn.device).join(', ');
    throw new Refusal('malformed', `There is no scope ${JSON.stringify(name)}; the scopes are ${known}.`, {
      faults: [{ pointer: `/scopes/${index}`, detail: `must be one of ${known}` }],
    });
  }, noScopes);
}
