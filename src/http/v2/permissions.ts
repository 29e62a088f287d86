// Permissions of a caller, their reasons, and shares (spec 4.1, contract 3 and 10).
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import type { ShareOfDevice } from '../../domain/devices/device-store.ts';
import type { SharedRecordKind, ShareOfRecord, ShareSource } from '../../domain/devices/record-share-store.ts';
import type { Explanation } from '../../domain/devices/sharing.ts';
import {
  grantNamesOfScopes,
  namesOfScopes,
  noScopes,
  type RecordKind,
  type ScopeName,
  scopesOn,
} from '../../domain/scopes.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { DeviceParams } from '../schemas/device-schemas.ts';
import { ExplanationSchema, PermissionSchema, SharedThing } from '../schemas/permission-schemas.ts';
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
          'Shares by device, or by gateway or project, in order of creation. Of what you own you change them at `/devices/{device}/shares/{username}`, and for gateways and projects alike.',
        querystring: Type.Object({
          kind: Type.Unsafe<RecordKind>({
            type: 'string',
            enum: ['device', 'gateway', 'project'],
            default: 'device',
            description: 'Shares of devices, of gateways, or of projects.',
          }),
          direction: Type.Unsafe<'with-me' | 'by-me'>({
            type: 'string',
            enum: ['with-me', 'by-me'],
            default: 'with-me',
            description: '`with-me`: what others own and you may use; `by-me`: what you own and others may use.',
          }),
          ...recordPage('Shares'),
        }),
        response: { 200: pageOf(SharedThing, { description: 'A page of shares.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { kind, ...query } = request.query;
      if (kind !== 'device') {
        const { shares, total } = await sharing.listOfRecords(request.actor, kind, query);
        setPage(request, reply, { ...request.query, total });
        return shares.map((share) => toRecordShare(kind, share)) as never;
      }
      const { shares, total } = await sharing.list(request.actor, query);
      setPage(request, reply, { ...request.query, total });
      return shares.map(toDeviceShare) as never;
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
      return toExplanationRecord(await sharing.explain(request.actor, device, request.query.username)) as never;
    },
  );
}

function toExplanationRecord(explanation: Explanation) {
  const { shownId, username, scopes, reasons, maySetActuators } = explanation;
  return {
    device: shownId,
    username,
    scopes: namesOfScopes(scopesOn.device).map((name) => ({
      scope: name,
      held: namesOfScopes(scopes).includes(name),
      from: reasons
        .filter((reason) => namesOfScopes(reason.scopes).includes(name))
        .flatMap((reason) => (reason.reason === 'share' ? sharesOf(explanation, name) : [{ reason: reason.reason }])),
    })),
    may_set_actuators: maySetActuators,
    detail: sentenceOf(explanation),
  };
}

/** The shares that give the right. */
function sharesOf({ sources }: Explanation, name: ScopeName): readonly object[] {
  return sources
    .filter(({ scopes }) => namesOfScopes(scopes).includes(name))
    .map(({ kind, record, givenBy }) => ({
      reason: 'share',
      ...(givenBy === undefined ? {} : { by: givenBy }),
      ...(kind === 'device' ? {} : { [kind]: record }),
    }));
}

/** A share of a device as it is listed. */
export function toDeviceShare({ device, deviceName, owner, username, scopes, givenBy }: ShareOfDevice): object {
  return { device, name: deviceName, owner, username, scopes: grantNamesOfScopes(scopes), given_by: givenBy };
}

/** A share of a gateway or project as it is listed. */
export function toRecordShare(kind: SharedRecordKind, share: ShareOfRecord) {
  const { id, name, owner, username, scopes, givenBy } = share;
  return {
    [kind]: id,
    name,
    ...{ owner, username },
    scopes: grantNamesOfScopes(scopes),
    with_devices: (scopes & scopesOn.device) !== noScopes,
    given_by: givenBy,
  };
}

function sentenceOf({ device, username, reasons, sources }: Explanation): string {
  const { visibility } = device;
  const all = reasons.map(({ reason }) => reason);
  if (all.includes('owner')) return `${username} owns the device and may do everything.`;
  if (all.includes('admin')) return `${username} is an admin and may do everything.`;
  const from = [
    ...(all.includes('public') ? ['what that gives everyone'] : []),
    ...(all.includes('share') ? sources.map(wordsOfShare) : []),
  ];
  if (from.length > 0) return `The device is ${visibility}; ${username} holds ${from.join(', and ')}.`;
  return `The device is ${visibility}; ${username} neither owns it nor is an admin, and nothing is shared with ${username}.`;
}

function wordsOfShare({ kind, record, givenBy = 'the owner' }: ShareSource): string {
  return `what ${givenBy} gave by a share${kind === 'device' ? '' : ` of ${kind} ${record}`}`;
}
