// Shares of devices, devices handed over, and rights on records (spec 2.7, contract 3). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import type { SharedRecordKind } from '../../domain/devices/record-share-store.ts';
import { DeviceIdSchema } from './device-schemas.ts';
import { UsernameSchema } from './field-schemas.ts';
import { GatewayIdSchema, ProjectIdSchema } from './gateway-schemas.ts';
import { boundedText } from './text-bounds.ts';

const grantable = '`device:view`, `device:update`, `device:delete`, `device-data:view`, `device-data:create`';

const ScopesSchema = Type.Array(boundedText(limits.wordCharsMax, { examples: ['device:view'] }), {
  maxItems: 10,
  description: `The rights that the user gets, of ${grantable}. The plural names (\`devices:view\`) mean the same.`,
});

export const ShareSchema = Type.Object(
  {
    username: Type.String({ description: 'The user whom the device is shared with.', examples: ['awa'] }),
    scopes: Type.Array(Type.String({ examples: ['device:view'] }), {
      description: `The rights that the user has, of ${grantable}.`,
    }),
  },
  { title: 'Share', description: 'The rights of a user on a device of somebody else.' },
);

export const ShareBody = Type.Object(
  { scopes: ScopesSchema },
  {
    title: 'NewShare',
    description: 'What the user may do from now on.',
    examples: [{ scopes: ['device:view', 'device-data:view'] }],
  },
);

const recordGrantable = (kind: SharedRecordKind) =>
  [`${kind}:view`, `${kind}:update`, `${kind}:delete`].map((name) => `\`${name}\``).join(', ');

const devicesOf: Readonly<Record<SharedRecordKind, string>> = {
  gateway:
    'the devices whose `gateway_id` is the gateway, later ones included, where they belong to the owner of the gateway',
  project:
    'the devices that `device_ids` names, later ones included, where they belong to the owner of the project; not those of its gateways',
};

/** The body of `PUT …/shares/{username}` of a gateway or a project. */
export const recordShareBody = (kind: SharedRecordKind) =>
  Type.Object(
    {
      scopes: Type.Array(boundedText(limits.wordCharsMax, { examples: [`${kind}:view`] }), {
        maxItems: 10,
        description: `The rights that the user gets, of ${recordGrantable(kind)}; \`with_devices\` also ${grantable}. The plural names mean the same.`,
      }),
      with_devices: Type.Optional(
        Type.Boolean({
          default: false,
          description: `\`true\`: the scopes on devices hold on ${devicesOf[kind]}.`,
        }),
      ),
    },
    {
      title: kind === 'gateway' ? 'NewGatewayShare' : 'NewProjectShare',
      description: 'What the user may do from now on.',
      examples: [{ scopes: [`${kind}:view`, 'device:view', 'device-data:view'], with_devices: true }],
    },
  );

const withDevices = Type.Boolean({
  description: 'Whether scopes on devices are among them.',
  examples: [true],
});

/** A share in the list of a gateway or a project. */
export const recordShareSchema = (kind: SharedRecordKind) =>
  Type.Object(
    {
      username: Type.String({ description: `The user whom the ${kind} is shared with.`, examples: ['awa'] }),
      scopes: Type.Array(Type.String({ examples: [`${kind}:view`] }), {
        description: `The rights that the user has, of ${recordGrantable(kind)} and, on its devices, ${grantable}.`,
      }),
      with_devices: withDevices,
    },
    {
      title: kind === 'gateway' ? 'GatewayShare' : 'ProjectShare',
      description: `The rights of a user on a ${kind} of somebody else, and on devices of it.`,
    },
  );

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2016-06-08T18:20:27Z'] });

export const ReceivedSchema = Type.Object(
  {
    device: DeviceIdSchema,
    name: Type.Optional(Type.String({ description: 'Name of the device.', examples: ['Field 3'] })),
    from: Type.Optional(UsernameSchema),
    date_received: time('When it was handed over, UTC.'),
    expires: time('Until when it can be given back, or its shares brought back, UTC.'),
    shares: Type.Array(ShareSchema, { description: 'The shares that it had before; they have ended.' }),
  },
  {
    title: 'Received',
    description: 'A device that another user has handed over; `from` is absent if that user was removed.',
  },
);

export const KeepBody = Type.Object(
  {
    shares: Type.Unsafe<'keep'>({
      type: 'string',
      enum: ['keep'],
      description: 'Restores the shares that the device had.',
      examples: ['keep'],
    }),
  },
  {
    title: 'KeepShares',
    description: 'What to do with a device that was handed over.',
    examples: [{ shares: 'keep' }],
  },
);

export const PermissionSchema = Type.Object(
  {
    resource: Type.String({ description: 'Id of the record.', examples: ['field-3'] }),
    scopes: Type.Array(Type.String({ examples: ['devices:view'] }), {
      description:
        'The rights of the caller on the record. Of a device, in this order: `devices:view`, `devices:update`, `devices:delete`, `devices-data:view`, `devices-data:create`; of a gateway `gateways:view`, `gateways:update`, `gateways:delete`; of a project the same with `projects`.',
    }),
  },
  { title: 'Permission', description: 'The rights of the caller on a record.' },
);

export const SharedThing = Type.Object(
  {
    device: Type.Optional(DeviceIdSchema),
    gateway: Type.Optional(GatewayIdSchema),
    project: Type.Optional(ProjectIdSchema),
    name: Type.Optional(Type.String({ description: 'Its name.', examples: ['Field 3'] })),
    owner: Type.String({ description: 'Username of its owner.', examples: ['admin'] }),
    username: Type.String({ description: 'Who it is shared with.', examples: ['awa'] }),
    scopes: Type.Array(Type.String({ examples: ['device:view'] }), {
      description: 'What they may do, by the names of `PUT …/shares/{username}`.',
    }),
    with_devices: Type.Optional(withDevices),
    given_by: Type.Optional(
      Type.String({ description: 'Who shared it; absent when that is not known.', examples: ['admin'] }),
    ),
  },
  {
    title: 'SharedDevice',
    description:
      'A device (or a gateway, or a project, by `kind`), who it is shared with, and what they may do. `with_devices` stands with gateways and projects.',
  },
);

const ReasonSchema = Type.Object(
  {
    reason: Type.String({
      description: '`owner` of the device, `admin`, `public` visibility, or a `share`.',
      examples: ['share'],
    }),
    by: Type.Optional(Type.String({ description: 'Of a share: who gave it.', examples: ['admin'] })),
    gateway: Type.Optional(
      Type.String({ description: 'Of a share of its gateway: the id of that.', examples: ['gateway-1'] }),
    ),
    project: Type.Optional(
      Type.String({ description: 'Of a share of a project: the id of that.', examples: ['project-1'] }),
    ),
  },
  { title: 'Reason', description: 'What a right comes from.' },
);

export const ExplanationSchema = Type.Object(
  {
    device: DeviceIdSchema,
    username: UsernameSchema,
    scopes: Type.Array(
      Type.Object(
        {
          scope: Type.String({ description: 'The right.', examples: ['devices:view'] }),
          held: Type.Boolean({ description: 'Whether the user has it.', examples: [true] }),
          from: Type.Array(ReasonSchema, { description: 'All that gives it; empty where it is not held.' }),
        },
        { title: 'ExplainedScope', description: 'A right, and where it comes from.' },
      ),
      { description: 'Each right on a device, held or not.' },
    ),
    may_set_actuators: Type.Boolean({
      description: 'Setting an actuator needs `devices:update`, or `devices-data:create` given by a share.',
      examples: [false],
    }),
    detail: Type.String({
      description: 'The same in a sentence.',
      examples: ['The device is public; awa holds what that gives everyone, and what admin gave by a share.'],
    }),
  },
  { title: 'Explanation', description: 'Why a user may do what with a device, or may not.' },
);

/** A part of the description of each route that changes an owner. */
export const handoverBounds =
  'Unless an admin does it, it counts for 30 days, or until the new owner has kept, given back or deleted it: together no more than the quota of who hands over, and no more than half of what the new owner has left (403).';
