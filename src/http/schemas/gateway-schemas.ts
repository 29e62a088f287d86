// The shapes of gateways and projects on the wire; as in schemas.ts, they validate requests and describe the API.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { DeviceSchema, id, LocationSchema, timestamp, visibilityOf } from './schemas.ts';
import { asStored, nameText } from './text-bounds.ts';

const GatewayIdSchema = id('Id of the gateway, unique among all gateways, chosen by whoever declares it.', 'gateway-1');
export const GatewayParams = Type.Object({ gateway: GatewayIdSchema });

const visibilityWords =
  '`public`: everyone sees the gateway and may send its heartbeat; `private`: only its owner and admins.';

export const GatewayBody = Type.Object(
  {
    id: GatewayIdSchema,
    name: nameText('Human-readable name.', 'Roof of the school'),
    visibility: Type.Optional(
      visibilityOf(
        `${visibilityWords} Left out: as the service is set, \`private\` at first; without a token always \`public\`.`,
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
      description: 'Username of the owner; `guest` for what was declared without a token.',
      examples: ['awa'],
    }),
    visibility: visibilityOf(visibilityWords),
    location: Type.Optional(LocationSchema),
    date_created: timestamp('When the gateway was declared, UTC.'),
    date_modified: timestamp('When one of its fields changed last, UTC.'),
    connected: Type.Boolean({
      description:
        'Whether an MQTT client is connected whose client id is that of the gateway, and who may act for it.',
      examples: [true],
    }),
    last_seen: Type.Optional(
      timestamp('When it was last heard of, by a heartbeat or over MQTT, UTC; absent before the first time.'),
    ),
    devices: Type.Optional(
      Type.Array(DeviceSchema, { description: 'With `full=true`: the devices of the gateway that you may view.' }),
    ),
  },
  { title: 'Gateway', description: 'What carries readings of devices to the service.' },
);

const ProjectIdSchema = id('Id of the project, unique among all projects.', 'project-1');
export const ProjectParams = Type.Object({ project: ProjectIdSchema });

const idList = (of: string, example: string) =>
  Type.Array(id(`Id of a ${of}.`, example), {
    maxItems: limits.projectIdsMax,
    description: `Ids of ${of}s, in the order they were given; there need not be such a ${of}.`,
    examples: [[example]],
  });

export const DeviceIdsSchema = idList('device', 'field-3');
export const GatewayIdsSchema = idList('gateway', 'gateway-1');

export const ProjectBody = Type.Object(
  {
    id: Type.Optional(id('Id of the project; left out: the service makes one.', 'project-1')),
    name: nameText('Human-readable name.', 'Onions of the delta'),
    device_ids: Type.Optional(DeviceIdsSchema),
    gateway_ids: Type.Optional(GatewayIdsSchema),
  },
  {
    title: 'NewProject',
    description: 'A project to create; nothing is required.',
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
        description: 'With `full=true`: those of the devices that there are and you may view.',
      }),
    ),
    gateways: Type.Optional(
      Type.Array(GatewaySchema, {
        description: 'With `full=true`: those of the gateways that there are and you may view.',
      }),
    ),
  },
  { title: 'Project', description: 'Devices and gateways that somebody looks at together.' },
);
