// The query parameters of an import (contract 10).
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { DeviceIdSchema, SensorIdSchema } from '../schemas/device-schemas.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { delimiters } from './csv-dialect.ts';
import { timeFormatRule } from './time-pattern.ts';
import { decimals, missingWords, valueKinds } from './value-texts.ts';

const oneOf = <const T extends readonly string[]>(words: T, fallback: T[number], description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...words], default: fallback, description });
const text = (description: string, examples: readonly string[] = []) =>
  Type.Optional(boundedText(limits.queryTextCharsMax, { description, examples: [...examples] }));

const parameters = {
  device: Type.Optional({
    ...DeviceIdSchema,
    description: 'Id of the device of values whose column or line names no device.',
  } as typeof DeviceIdSchema),
  sensor: Type.Optional({
    ...SensorIdSchema,
    description: 'Id of the sensor of values in a column `value` whose line names no sensor.',
  } as typeof SensorIdSchema),
  dry_run: Type.Boolean({
    default: false,
    description:
      'Checks everything, stores nothing, and reports how the file is interpreted. With `lines=50` and the first 64 KiB of a file it gives a preview.',
  }),
  lines: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listEntriesMax,
      description: 'Reads only this many lines after the header.',
    }),
  ),
  columns: text(
    'The meaning of columns, which are named or numbered from 1, separated by `;`: `timestamp`, `date` and `time` in separate columns, `device`, `sensor`, `value`, `received`, `unit`, `ignore` (or `-`), the id of a sensor, or `device/sensor`. `/timestamp` is a sensor of that name. The meaning of other columns is inferred from their names: without a column `value`, each is a sensor, unless a column is mapped to a sensor here; then the others are ignored.',
    ['Date=timestamp;Temp (°C)=TC;Hum=field-4/RH;Battery=-'],
  ),
  timezone: boundedText(limits.wordCharsMax, {
    default: 'UTC',
    description:
      'The time zone of times without an offset, from the IANA database, such as `Europe/Paris`. A time that clocks skipped is refused. A time that clocks showed twice means the first occurrence until the series has reached it, then the second.',
    examples: ['Europe/Paris'],
  }),
  time_format: text(`The format of times. Left out: detected. It ${timeFormatRule}.`, ['D.M.YYYY H:mm']),
  delimiter: oneOf(['auto', ...(Object.keys(delimiters) as (keyof typeof delimiters)[])], 'auto', 'The separator of fields in CSV; `auto`: detected.'), // biome-ignore format: one line
  decimal: oneOf(['auto', ...decimals], 'auto', 'The decimal separator of numbers in CSV; `auto`: detected.'), // biome-ignore format: one line
  header: oneOf(['auto', 'true', 'false'], 'auto', 'Whether the first line of CSV names the columns; `auto`: detected.'), // biome-ignore format: one line
  skip: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1000,
      description: 'Number of lines of CSV before the header. Left out: detected.',
    }),
  ),
  missing: text(
    `Words that mean "no value", separated by commas; an empty field always means that. Left out: ${missingWords.join(', ')}.`,
  ),
  values: oneOf(valueKinds, 'auto', 'The type of values in CSV. `auto`: a number, `true`, `false` and JSON are parsed, any other field is a text. `number`: other fields are refused. `text`: every field is a text.'), // biome-ignore format: one line
  create_sensors: Type.Boolean({
    default: false,
    description:
      'Creates sensors that a device does not have, with the name and unit of their column. Requires `devices:update`.',
  }),
  on_duplicate: oneOf(['keep', 'skip'], 'keep', '`skip` ignores a datapoint whose sensor already has the same value at the same time, in the store or earlier in the file, so that a file can be sent again. Requires `devices-data:view`.'), // biome-ignore format: one line
  received: oneOf(['ignore', 'keep'], 'ignore', '`keep` stores the column `received` (`date_received`) as the time at which the service received the value, and accepts lines that have no other time. For data that moves from one service to another. Requires `devices:update`.'), // biome-ignore format: one line
  line: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listEntriesMax,
      description: 'For a file that is sent in parts: the number of the first line of this part after the header.',
    }),
  ),
  after: text(
    'For a file that is sent in parts: the last time of the part before, which is `next.after` of its answer.',
    ['2016-06-08T18:20:27Z'],
  ),
};

/** A parameter that is mistyped would be left out in silence, and times be read in another zone than was meant. */
export const ImportQuery = Type.Object(parameters, { additionalProperties: false });
export type ImportQuery = Static<typeof ImportQuery>;
