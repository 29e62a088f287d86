// Settings that admins change while the service runs (contract 3). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { boundedText } from './text-bounds.ts';

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

const timeField = (description: string) =>
  boundedText(limits.wordCharsMax, { description, format: 'date-time', examples: ['2026-01-15T12:00:00Z'] });

export const ClockBody = Type.Object(
  { time: timeField('The present time, as you know it.') },
  {
    title: 'ClockConfirmation',
    description: 'The present time, with which the clock of the service is compared.',
    examples: [{ time: '2026-01-15T12:00:00Z' }],
  },
);

export const ClockSchema = Type.Object(
  {
    time: timeField('What the clock of the service shows.'),
    in_doubt: Type.Boolean({
      description: 'True while the service does not trust its clock.',
      examples: [true],
    }),
    reason: Type.Optional(
      Type.String({
        description:
          'Why it is in doubt and what waits for it, or that expiries go by a later time; absent where all is well.',
        examples: ['the clock is in doubt: it jumped (by 31536000 s); …'],
      }),
    ),
  },
  {
    title: 'Clock',
    description: 'The clock of the service.',
    examples: [{ time: '2026-01-15T12:00:00Z', in_doubt: false }],
  },
);
