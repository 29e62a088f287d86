// Ids that devices had before (decision 42).
import { Type } from 'typebox';
import { DeviceIdSchema } from './device-schemas.ts';

export const FormerIdPathSchema = Type.Unsafe<string>({
  ...DeviceIdSchema,
  description: 'An id that the device had before.',
  examples: ['field-3-old'],
});

export const FormerIdSchema = Type.Object(
  {
    id: DeviceIdSchema,
    until: Type.String({ description: 'Until when it answers.', examples: ['2027-11-24T08:00:00Z'] }),
  },
  { title: 'FormerId', description: 'An id that a device had before, and by which it still answers.' },
);
