// Permissions of a caller, their reasons, and shares (spec 4.1, contract 3 and 10).
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import type { Explanation } from '../../domain/devices/sharing.ts';
import { grantNamesOfScopes, namesOfScopes, type RecordKind, scopesOn } from '../../domain/scopes.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { DeviceParams } from '../schemas/device-schemas.ts';
import { ExplanationSchema, PermissionSchema, SharedDevice } from '../schemas/permission-schemas.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { AllOrPage, pageOf, recordPage, refusals, type TypedApp } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { actorWhileConnected } from '../sign-in/connected-actor.ts';

const queries: readonly { readonly kind: RecordKind; readonly path: string; readonly operationId: string }[] = [
  { kind: 'device', path: 'devices', operationId: 'listDevicePermissions' },
  { kind: 'gateway', path: 'gateways', operationId: 'listGatewayPermissions' },
  { kind: 'project', path: 'projects', operationId: 'listProjectPermissions' },
];

export function registerPermissions(app: TypedApp, services: Services): void {
  const { permissionQueries, sharing } = services;

  for (const { kind, path, operationId } of queries) {
    app.get(
      `/auth/permissions/${path}`,
      {
        schema: {
          tags: ['Authentication'],
          operationId,
          summary: `List what you may do with ${path}`,
          description: `Every ${kind} on which you hold at least one right${kind === 'project' ? '' : ', public ones too'}; without a token, the view of guest.`,
          querystring: AllOrPage,
          response: {
            200: pageOf(PermissionSchema, { description: `The ${path} and your rights on each.`, counted: true }),
            ...refusals,
          },
        },
      },
      async (request, reply) => {
        const { limit, offset = 0 } = request.query;
        const { total, holdings } = await permissionQueries.list(actorWhileConnected(request, reply), kind, {
          limit,
          offset,
        });
        setPage(request, reply, { limit, offset, total });
        const text = arrayText(holdings, ({ id, scopes }) =>
          JSON.stringify({ resource: id, scopes: namesOfScopes(scopes) }),
        );
        return sendJsonText(reply, text);
      },
    );
  }

  app.get(
    '/auth/shares',
    {
      schema: {
        tags: ['Sharing'],
        operationId: 'listShares',
        summary: 'List what is shared with you, or by you',
        description:
          'Shares by device, in order of creation. Of what you own you change them at `/devices/{device}/shares/{username}`.',
        querystring: Type.Object({
          direction: Type.Unsafe<'with-me' | 'by-me'>({
            type: 'string',
            enum: ['with-me', 'by-me'],
            default: 'with-me',
            description: '`with-me`: devices of others that you may use; `by-me`: your devices that others may use.',
          }),
          ...recordPage('Shares'),
        }),
        response: { 200: pageOf(SharedDevice, { description: 'A page of shares.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { shares, total } = await sharing.list(request.actor, request.query);
      setPage(request, reply, { ...request.query, total });
      return shares.map(({ device, deviceName, owner, username, scopes, givenBy }) => ({
        device,
        name: deviceName,
        owner,
        username,
        scopes: grantNamesOfScopes(scopes),
        given_by: givenBy,
      })) as never;
    },
  );

  app.get(
    '/devices/:device/permissions/explain',
    {
      schema: {
        tags: ['Sharing'],
        operationId: 'explainDevicePermissions',
        summary: 'Say why somebody may do what with a device',
        description:
          'Each right and where it comes from. Everybody may ask about themselves; the owner and admins about anybody.',
        params: DeviceParams,
        querystring: Type.Object({
          username: Type.Optional(
            boundedText(limits.knownUsernameCharsMax, {
              description: 'Whom it is about; left out: you. `guest` is who has no token.',
            }),
          ),
        }),
        response: { 200: ExplanationSchema, ...refusals },
      },
    },
    async (request) => {
      const { device } = request.params;
      return toExplanationRecord(await sharing.explain(request.actor, device, request.query.username));
    },
  );
}

function toExplanationRecord(explanation: Explanation) {
  const { device, username, scopes, reasons, maySetActuators, sharedBy } = explanation;
  return {
    device: device.id,
    username,
    scopes: namesOfScopes(scopesOn.device).map((name) => ({
      scope: name,
      held: namesOfScopes(scopes).includes(name),
      from: reasons
        .filter((reason) => namesOfScopes(reason.scopes).includes(name))
        .map(({ reason }) => (reason === 'share' && sharedBy !== undefined ? { reason, by: sharedBy } : { reason })),
    })),
    may_set_actuators: maySetActuators,
    detail: sentenceOf(explanation),
  };
}

function sentenceOf({ device, username, reasons, sharedBy }: Explanation): string {
  const { visibility } = device;
  const all = reasons.map(({ reason }) => reason);
  if (all.includes('owner')) return `${username} owns the device and may do everything.`;
  if (all.includes('admin')) return `${username} is an admin and may do everything.`;
  const from = [
    ...(all.includes('public') ? ['what that gives everyone'] : []),
    ...(all.includes('share') ? [`what ${sharedBy ?? 'the owner'} gave by a share`] : []),
  ];
  if (from.length > 0) return `The device is ${visibility}; ${username} holds ${from.join(', and ')}.`;
  return `The device is ${visibility}; ${username} neither owns it nor is an admin, and nothing is shared with ${username}.`;
}
