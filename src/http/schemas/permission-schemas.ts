// Shares of devices and rights on records (spec 2.7, contract 3). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { boundedText } from './text-bounds.ts';

const grantable = '`device:view`, `device:update`, `device:delete`, `device-data:view`, `device-data:create`';

export const ScopesSchema = Type.Array(boundedText(limits.wordCharsMax, { examples: ['device:view'] }), {
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
