// Settings that admins change while the service runs (contract 3). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';

const accessField = Type.Union([Type.Literal('full'), Type.Literal('push'), Type.Literal('none')], {
  description:
    'What callers without a token may do. `full`: create devices, and change what guest owns. `push`: create devices, push values and read public records, but change nothing. `none`: nothing.',
  examples: ['push'],
});

export const GuestAccessBody = Type.Object(
  { guest_access: accessField },
  {
    title: 'GuestAccessChoice',
    description: 'What callers without a token may do.',
    examples: [{ guest_access: 'push' }],
  },
);

export const GuestAccessSchema = Type.Object(
  {
    guest_access: accessField,
    fixed: Type.Boolean({
      description: 'True where the operator has set it by `DUNDUN_GUEST_ACCESS`; then it cannot be changed here.',
      examples: [false],
    }),
    answered: Type.Boolean({
      description: 'True once an admin or the operator has chosen; until then it is `full`.',
      examples: [true],
    }),
  },
  {
    title: 'GuestAccess',
    description: 'What callers without a token may do, and who has set it.',
    examples: [{ guest_access: 'push', fixed: false, answered: true }],
  },
);
