// Gateways (spec 2.4, contract 6) and projects (contract 6). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { DeviceSchema } from './device-schemas.ts';
import { id, LocationSchema, timestamp, visibilityOf } from './field-schemas.ts';
import { asStored, nameText } from './text-bounds.ts';

export const GatewayIdSchema = id(
  'Id of the gateway, unique among all gateways. Whoever declares the gateway chooses it.',
  'gateway-1',
);
export const GatewayParams = Type.Object({ gateway: GatewayIdSchema });

const visibilityWords =
  '`public`: everyone sees the gateway and may send its heartbeat. `private`: only its owner, admins and those it is shared with.';

export const GatewayBody = Type.Object(
  {
    id: GatewayIdSchema,
    name: nameText('Human-readable name.', 'Roof of the school'),
    visibility: Type.Optional(
      visibilityOf(
        `${visibilityWords} Left out: the default of the service, which is \`private\` unless configured; without a token always \`public\`.`,
      ),
    ),
    location: Type.Optional(LocationSchema),
  },
  {
    title: 'NewGateway',
    description: 'A gateway to declare; only `id` is required.',
    examples: [{ id: 'gateway-1', name: 'Roof of the school', visibility: 'public' }],
  },
);

export const GatewaySchema = Type.Object(
  {
    id: GatewayIdSchema,
    ...asStored({ name: nameText('Human-readable name.', 'Roof of the school') }),
    owner: Type.String({
      description: 'Username of the owner; `guest` for a gateway that was declared without a token.',
      examples: ['awa'],
    }),
    visibility: visibilityOf(visibilityWords),
    location: Type.Optional(LocationSchema),
    date_created: timestamp('When the gateway was declared, UTC.'),
    date_modified: timestamp('When one of its fields was changed last, UTC.'),
    connected: Type.Boolean({
      description:
        'Whether an MQTT client is connected under the id of the gateway by a user who may act for the gateway, to whichever server; one that does not answer within two seconds is taken to have none.',
      examples: [true],
    }),
    last_seen: Type.Optional(
      timestamp('When the gateway sent its last heartbeat or MQTT packet, UTC; absent before the first one.'),
    ),
    refused: Type.Optional(
      Type.Object(
        {
          times: Type.Integer({
            minimum: 1,
            description: 'How many calls were refused, one after the other.',
            examples: [1065],
          }),
          since: timestamp('When the first of them came, UTC.'),
          last: timestamp('When the last of them came, UTC.'),
          username: Type.String({ description: 'The user who calls.', examples: ['awa'] }),
          reason: Type.String({
            description: 'Why the last one was refused.',
            examples: ['You need the right devices-data:create on device field-3.'],
          }),
        },
        {
          description:
            'While somebody’s calls about the gateway or its devices are all refused, and slowed down with 429; only for those who may change the gateway.',
        },
      ),
    ),
    devices: Type.Optional(
      Type.Array(DeviceSchema, { description: 'With `full=true`: the devices of the gateway that you may view.' }),
    ),
  },
  { title: 'Gateway', description: 'A gateway: it transmits the readings of devices to the service.' },
);

export const ProjectIdSchema = id('Id of the project, unique among all projects.', 'project-1');
export const ProjectParams = Type.Object({ project: ProjectIdSchema });

const idList = (of: string, example: string) =>
  Type.Array(id(`Id of a ${of}.`, example), {
    maxItems: limits.projectIdsMax,
    description: `Ids of ${of}s, in the order in which they were given. A ${of} need not exist.`,
    examples: [[example]],
  });

export const DeviceIdsSchema = idList('device', 'field-3');
export const GatewayIdsSchema = idList('gateway', 'gateway-1');

export const ProjectBody = Type.Object(
  {
    id: Type.Optional(id('Id of the project. Left out: the service generates one.', 'project-1')),
    name: nameText('Human-readable name.', 'Onions of the delta'),
    device_ids: Type.Optional(DeviceIdsSchema),
    gateway_ids: Type.Optional(GatewayIdsSchema),
  },
  {
    title: 'NewProject',
    description: 'A project to create; no field is required.',
    examples: [{ id: 'project-1', name: 'Onions of the delta', device_ids: ['field-3'], gateway_ids: ['gateway-1'] }],
  },
);

export const ProjectSchema = Type.Object(
  {
    id: ProjectIdSchema,
    ...asStored({ name: nameText('Human-readable name.', 'Onions of the delta') }),
    owner: Type.String({ description: 'Username of the owner.', examples: ['awa'] }),
    device_ids: DeviceIdsSchema,
    gateway_ids: GatewayIdsSchema,
    devices: Type.Optional(
      Type.Array(DeviceSchema, {
        description: 'With `full=true`: the devices of `device_ids` that exist and that you may view.',
      }),
    ),
    gateways: Type.Optional(
      Type.Array(GatewaySchema, {
        description: 'With `full=true`: the gateways of `gateway_ids` that exist and that you may view.',
      }),
    ),
  },
  { title: 'Project', description: 'A named group of devices and gateways.' },
);
