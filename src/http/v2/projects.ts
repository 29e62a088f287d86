// Projects (contract 6).
import { type Static, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';
import type { Project, ProjectChange, ProjectDraft } from '../../domain/projects/project.ts';
import type { Actor } from '../../domain/users/user.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import {
  DeviceIdsSchema,
  GatewayIdsSchema,
  ProjectBody,
  ProjectParams,
  ProjectSchema,
} from '../schemas/gateway-schemas.ts';
import { idRule, isId } from '../schemas/ids.ts';
import { toGatewayRecord, toProjectRecord } from '../schemas/records.ts';
import { textBounds } from '../schemas/text-bounds.ts';
import { jsonFieldOf, textFieldOf } from '../server/bodies.ts';
import { answerDeclared } from '../server/preference.ts';
import { registerRemoval } from '../server/removal-route.ts';
import { conflict, declares, PreferHeaders, pageOf, recordPage, refusals, type TypedApp } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { actorWhileConnected } from '../sign-in/connected-actor.ts';
import { dropNulls } from './drop-nulls.ts';
import { deviceArrayText } from './gateways.ts';
import { jsonField, registerFields, type SingleField, textField } from './single-fields.ts';

const tags = ['Projects'];
const Full = Type.Optional(
  Type.Boolean({
    default: false,
    description: '`true` adds `devices` and `gateways`: those of the project that you may view.',
  }),
);

export function registerProjects(app: TypedApp, services: Services): void {
  const { projects } = services;

  app.post(
    '/projects',
    {
      bodyLimit: limits.bodyBytesMax,
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'createProject',
        summary: 'Create a project',
        description: 'Answers with its id: as text, or as a JSON string where `Accept` asks for that.',
        headers: PreferHeaders,
        body: ProjectBody,
        response: { ...declares(ProjectSchema, { withId: true }), ...conflict('The id is taken.') },
      },
    },
    async (request, reply) => {
      const id = await projects.create(request.actor, toProjectDraft(request.body));
      return answerDeclared(request, reply, {
        location: `/api/v2/projects/${encodeURIComponent(id)}`,
        id,
        record: async () => toProjectRecord(await projects.get(request.actor, id)),
      }) as never;
    },
  );

  app.get(
    '/projects',
    {
      schema: {
        tags,
        operationId: 'listProjects',
        summary: 'List projects',
        description:
          'The projects you may view: your own and those shared with you (an admin: all), in order of creation.',
        querystring: Type.Object({ full: Full, ...recordPage('Projects') }),
        response: { 200: pageOf(ProjectSchema, { description: 'A page of projects.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { full = false, ...query } = request.query;
      const page = await projects.list(actorWhileConnected(request, reply), query);
      setPage(request, reply, { ...query, total: page.total });
      return sendJsonText(
        reply,
        arrayText(page.projects, (project) => projectText(services, request.actor, project, { full })),
      );
    },
  );

  app.get(
    '/projects/:project',
    {
      schema: {
        tags,
        operationId: 'getProject',
        summary: 'Read a project',
        params: ProjectParams,
        querystring: Type.Object({ full: Full }),
        response: { 200: ProjectSchema, ...refusals },
      },
    },
    async (request, reply) => {
      const project = await projects.get(request.actor, request.params.project);
      const { full = false } = request.query;
      return sendJsonText(reply, projectText(services, request.actor, project, { full }));
    },
  );

  registerRemoval(app, {
    tags,
    path: '/projects/:project',
    operationId: 'deleteProject',
    summary: 'Delete a project',
    description: 'Its devices and gateways are kept.',
    params: ProjectParams,
    remove: (actor, { project }) => projects.remove(actor, project),
  });

  registerFields(app, {
    ...{ tags, path: '/projects/:project', words: 'a project', params: ProjectParams, fields },
    update: ({ actor }, { project }, change) => projects.update(actor, project, change),
  });
}

/** Bytes of the longest list of ids as JSON: each id has quotes and a comma. */
const idListBytesMax = limits.projectIdsMax * (limits.idCharsMax + 3);

const fields: readonly SingleField<ProjectChange>[] = [
  {
    name: 'name',
    operationId: 'setProjectName',
    body: textField('The new name.', 'Onions of the delta', textBounds.name),
    change: (body) => ({ name: textFieldOf(body, 'name', textBounds.name) }),
  },
  {
    name: 'device_ids',
    bodyBytesMax: limits.bodyBytesMax,
    operationId: 'setProjectDevices',
    words: 'devices',
    body: jsonField(DeviceIdsSchema, ['field-3'], idListBytesMax),
    change: (body) => ({ deviceIds: idsOf(body, 'device_ids') }),
  },
  {
    name: 'gateway_ids',
    bodyBytesMax: limits.bodyBytesMax,
    operationId: 'setProjectGateways',
    words: 'gateways',
    body: jsonField(GatewayIdsSchema, ['gateway-1'], idListBytesMax),
    change: (body) => ({ gatewayIds: idsOf(body, 'gateway_ids') }),
  },
];

/** @throws Refusal `malformed` unless it is a list of ids; null is an empty one. */
function idsOf(body: unknown, field: string): readonly string[] {
  const json = jsonFieldOf(body, field, { bytesMax: idListBytesMax }) ?? [];
  if (!Array.isArray(json) || json.length > limits.projectIdsMax) {
    const detail = `must be an array of at most ${limits.projectIdsMax} ids`;
    throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
  }
  for (const [index, id] of (json as readonly Json[]).entries()) {
    if (typeof id === 'string' && isId(id)) continue;
    const pointer = `/${field}/${index}`;
    throw new Refusal('malformed', `${pointer} ${idRule}.`, { faults: [{ pointer, detail: idRule }] });
  }
  return json as readonly string[];
}

function toProjectDraft(body: Static<typeof ProjectBody>): ProjectDraft {
  const { id, name, device_ids: deviceIds = [], gateway_ids: gatewayIds = [] } = body;
  return { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), deviceIds, gatewayIds };
}

async function* projectText(
  services: Services,
  actor: Actor,
  project: Project,
  options: { readonly full: boolean },
): AsyncGenerator<string> {
  const text = JSON.stringify(toProjectRecord(project));
  if (!options.full) {
    yield text;
    return;
  }
  const { devices, gateways } = services;
  yield `${text.slice(0, -1)},"devices":`;
  yield* deviceArrayText(services, actor, devices.listVisible(actor, project.deviceIds));
  yield ',"gateways":';
  const parts = inParts(project.gatewayIds, (ids) => gateways.listVisible(actor, ids));
  yield* arrayText(flattened(parts), (gateway) => JSON.stringify(toGatewayRecord(gateway)));
  yield '}';
}

async function* flattened<T>(parts: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const part of parts) yield* part;
}

/** Looks up a bounded number of ids at a time. */
async function* inParts<T>(
  ids: readonly string[],
  find: (ids: readonly string[]) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  for (let from = 0; from < ids.length; from += limits.deviceListDefault) {
    yield await find(ids.slice(from, from + limits.deviceListDefault));
  }
}
