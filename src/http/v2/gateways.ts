// Gateways and their heartbeat (spec 2.4 and 4.1, contract 6).
import { type Static, Type } from 'typebox';
import type { Json } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';
import type { Device } from '../../domain/devices/device.ts';
import type { GatewayChange, GatewayDraft, SeenGateway } from '../../domain/gateways/gateway.ts';
import type { Gateways } from '../../domain/gateways/gateways.ts';
import type { Actor } from '../../domain/users/user.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { LocationSchema } from '../schemas/field-schemas.ts';
import { GatewayBody, GatewayParams, GatewaySchema } from '../schemas/gateway-schemas.ts';
import { handoverBounds } from '../schemas/permission-schemas.ts';
import { toDeviceRecord, toGatewayRecord } from '../schemas/records.ts';
import { assertJsonLength, boundedText, textBounds } from '../schemas/text-bounds.ts';
import { jsonFieldOf, textFieldOf } from '../server/bodies.ts';
import { answerDeclared, answerDone } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import {
  conflict,
  declares,
  PreferHeaders,
  pageOf,
  recordPage,
  refusals,
  type TypedApp,
  writes,
} from '../server/routes.ts';
import type { Services } from '../services.ts';
import { actorWhileConnected } from '../sign-in/connected-actor.ts';
import { dropNulls } from './drop-nulls.ts';
import { parseLocation, parseVisibility } from './field-values.ts';
import { jsonField, registerFields, type SingleField, textField } from './single-fields.ts';

const tags = ['Gateways'];
const Full = Type.Optional(
  Type.Boolean({ default: false, description: '`true` adds `devices`: those of the gateway that you may view.' }),
);

export function registerGateways(app: TypedApp, services: Services): void {
  const { gateways } = services;

  app.post(
    '/gateways',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'createGateway',
        summary: 'Declare a gateway',
        description:
          'A gateway does this when it starts; 422 then means that it is declared already. Without a token the gateway belongs to guest and is public.',
        headers: PreferHeaders,
        body: GatewayBody,
        response: { ...declares(GatewaySchema, { withId: false }), ...conflict('The id is taken.') },
      },
    },
    async (request, reply) => {
      const draft = toGatewayDraft(request.body);
      await gateways.create(request.actor, draft);
      return answerDeclared(request, reply, {
        location: `/api/v2/gateways/${encodeURIComponent(draft.id)}`,
        record: async () => toGatewayRecord(await gateways.get(request.actor, draft.id)),
      }) as never;
    },
  );

  app.get(
    '/gateways',
    {
      schema: {
        tags,
        operationId: 'listGateways',
        summary: 'List gateways',
        description: 'The gateways you may view, in order of creation.',
        querystring: Type.Object({
          full: Full,
          q: Type.Optional(
            boundedText(limits.filterCharsMax, {
              description: 'Filter as for devices, such as `owner==guest` or `last_seen<2026-06-08T18:00:00Z`.',
            }),
          ),
          ...recordPage('Gateways'),
        }),
        response: { 200: pageOf(GatewaySchema, { description: 'A page of gateways.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { full = false, ...query } = request.query;
      const page = await gateways.list(actorWhileConnected(request, reply), query);
      setPage(request, reply, { ...query, total: page.total });
      return sendJsonText(
        reply,
        arrayText(page.gateways, (gateway) => gatewayText(services, request.actor, gateway, { full })),
      );
    },
  );

  app.get(
    '/gateways/:gateway',
    {
      schema: {
        tags,
        operationId: 'getGateway',
        summary: 'Read a gateway',
        params: GatewayParams,
        querystring: Type.Object({ full: Full }),
        response: { 200: GatewaySchema, ...refusals },
      },
    },
    async (request, reply) => {
      const gateway = await gateways.get(request.actor, request.params.gateway);
      if (request.query.full !== true) return toGatewayRecord(gateway) as never;
      return sendJsonText(reply, gatewayText(services, request.actor, gateway, { full: true }));
    },
  );

  registerRemoval(app, {
    tags,
    path: '/gateways/:gateway',
    operationId: 'deleteGateway',
    summary: 'Delete a gateway',
    description: 'Its devices are kept, with their `gateway_id`.',
    params: GatewayParams,
    remove: (actor, { gateway }) => gateways.remove(actor, gateway),
  });

  registerFields(app, {
    ...{ tags, path: '/gateways/:gateway', words: 'a gateway', params: GatewayParams, fields },
    update: ({ actor }, { gateway }, change) => gateways.update(actor, gateway, change),
  });

  app.put(
    '/gateways/:gateway/owner',
    {
      schema: {
        tags,
        operationId: 'setGatewayOwner',
        summary: 'Hand a gateway over to another user',
        description: `For its owner and admins. ${handoverBounds}`,
        params: GatewayParams,
        body: textField('Username of the new owner.', 'awa', textBounds.username),
        response: { ...writes, ...conflict('What guest owns is public, and this gateway is private.') },
      },
    },
    async (request, reply) => {
      await gateways.setOwner(
        request.actor,
        request.params.gateway,
        textFieldOf(request.body, 'owner', textBounds.username),
      );
      return answerDone(reply) as never;
    },
  );

  registerHeartbeats(app, gateways, { schemaOf: heartbeatSchema });
}

function heartbeatSchema(operationId: string): object {
  return {
    tags,
    operationId,
    summary: 'Say that a gateway is there',
    description:
      'A heartbeat: sets `last_seen` to the present time. Any body of any type is accepted and ignored. For the owner and admins, and for everybody if the gateway is public. `PUT` and `POST`, `health` and `heartbeat`, with and without `/api/v2` before them, do the same.',
    params: GatewayParams,
    response: { 204: writes[204], ...refusals },
  };
}

/** The heartbeat at all its paths and methods. */
function registerHeartbeats(
  app: TypedApp,
  gateways: Gateways,
  options: { readonly schemaOf: (operationId: string) => object },
): void {
  for (const [word, name] of [
    ['health', 'Health'],
    ['heartbeat', 'Heartbeat'],
  ] as const) {
    for (const method of ['put', 'post'] as const) {
      app[method](
        `/gateways/:gateway/${word}`,
        { onRequest: dropBody, schema: options.schemaOf(`${method}Gateway${name}`) },
        async (request, reply) => {
          const { gateway } = request.params as { gateway: string };
          await gateways.beat(request.actor, gateway);
          return answerDone(reply) as never;
        },
      );
    }
  }
}

/** The heartbeat at the root, as in spec.md. */
export function registerRootHeartbeats(app: TypedApp, gateways: Gateways): void {
  registerHeartbeats(app, gateways, { schemaOf: (operationId) => heartbeatSchema(`${operationId}AtRoot`) });
}

/** Reads and drops the body, so that any content type is accepted. */
function dropBody(
  request: { readonly raw: { resume(): void; headers: object } },
  _reply: unknown,
  done: () => void,
): void {
  request.raw.resume();
  const headers = request.raw.headers as Record<string, unknown>;
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) delete headers[name];
  done();
}

const fields: readonly SingleField<GatewayChange>[] = [
  {
    name: 'name',
    operationId: 'setGatewayName',
    body: textField('The new name.', 'Roof of the school', textBounds.name),
    change: (body) => ({ name: textFieldOf(body, 'name', textBounds.name) }),
  },
  {
    name: 'location',
    operationId: 'setGatewayLocation',
    body: jsonField(LocationSchema, { latitude: 16.03, longitude: -16.49 }),
    change: (body) => ({ location: parseLocation(jsonFieldOf(body, 'location')) }),
  },
  {
    name: 'visibility',
    operationId: 'setGatewayVisibility',
    body: textField('`public` or `private`.', 'public', textBounds.word),
    change: (body) => ({ visibility: parseVisibility(textFieldOf(body, 'visibility', textBounds.word)) }),
  },
];

function toGatewayDraft({ id, name, visibility, location }: Static<typeof GatewayBody>): GatewayDraft {
  if (location !== undefined) assertJsonLength(location as Json, '/location', limits.descriptionBytesMax);
  return {
    id,
    ...(name === undefined ? {} : { name }),
    ...(visibility === undefined ? {} : { visibility }),
    ...(location === undefined ? {} : { location: location as Json }),
  };
}

async function* gatewayText(
  services: Services,
  actor: Actor,
  gateway: SeenGateway,
  options: { readonly full: boolean },
): AsyncGenerator<string> {
  const text = JSON.stringify(toGatewayRecord(gateway));
  if (!options.full) {
    yield text;
    return;
  }
  yield `${text.slice(0, -1)},"devices":`;
  yield* deviceArrayText(services, actor, services.devices.listOfGateway(actor, gateway.id));
  yield '}';
}

/** The devices as the actor may see them, with their last values. */
export function deviceArrayText(
  { devices, lastValues }: Services,
  actor: Actor,
  steps: AsyncIterable<readonly Device[]>,
): AsyncGenerator<string> {
  async function* records(): AsyncGenerator<object> {
    for await (const step of steps) {
      const last = await lastValues.of(actor, step);
      for (const device of step) yield toDeviceRecord(device, devices.scopesOf(actor, device), last);
    }
  }
  return arrayText(records(), JSON.stringify);
}
