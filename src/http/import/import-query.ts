// The query parameters of an import.
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

export const ImportQuery = Type.Object({
  device: Type.Optional({
    ...DeviceIdSchema,
    description: 'The device of all values whose column or line names none.',
  } as typeof DeviceIdSchema),
  sensor: Type.Optional({
    ...SensorIdSchema,
    description: 'The sensor of all values in a column `value` whose line names none.',
  } as typeof SensorIdSchema),
  dry_run: Type.Boolean({
    default: false,
    description:
      'Judges everything, stores nothing, and shows how the file is understood: with `lines=50` and the first 64 KiB of a file this is a preview.',
  }),
  lines: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listEntriesMax,
      description: 'Reads so many lines behind the header and passes over the rest.',
    }),
  ),
  columns: text(
    'What columns are, by name or by number from 1, separated by `;`: `timestamp`, `date` and `time` apart, `device`, `sensor`, `value`, `received`, `unit`, `ignore` (or `-`), the id of a sensor, or `device/sensor`. `/timestamp` is a sensor of that name. What is not said is told from the names in the header: without a column `value`, each column is a sensor; once one is mapped to a sensor, the others are left out.',
    ['Date=timestamp;Temp (°C)=TC;Hum=field-4/RH;Battery=-'],
  ),
  timezone: boundedText(limits.wordCharsMax, {
    default: 'UTC',
    description:
      'By whose clocks times are that name no offset: a time zone of the IANA database such as `Europe/Paris`. A time that clocks skipped is refused. One that they showed twice is the first until the series has reached it, then the second.',
    examples: ['Europe/Paris'],
  }),
  time_format: text(`How times are written; found out unless said. It ${timeFormatRule}.`, ['D.M.YYYY H:mm']),
  delimiter: oneOf(['auto', ...(Object.keys(delimiters) as (keyof typeof delimiters)[])], 'auto', 'What stands between the fields of CSV; found out unless said.'), // biome-ignore format: one line
  decimal: oneOf(['auto', ...decimals], 'auto', 'What numbers in CSV have before their decimals; found out unless said.'), // biome-ignore format: one line
  header: oneOf(['auto', 'true', 'false'], 'auto', 'Whether the first line of CSV names the columns; found out unless said.'), // biome-ignore format: one line
  skip: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1000, description: 'Lines of CSV before the header; found out unless said.' }),
  ),
  missing: text(
    `Words that say that there is no value, separated by commas; an empty field always does. Left out: ${missingWords.join(', ')}.`,
  ),
  values: oneOf(valueKinds, 'auto', 'In CSV: `auto` takes a field that is a number, `true`, `false` or JSON as that, any other as a text; `number` refuses what is none; `text` takes all as texts.'), // biome-ignore format: one line
  create_sensors: Type.Boolean({
    default: false,
    description: 'Makes sensors that a device lacks, with the name and unit of their column. Needs `devices:update`.',
  }),
  on_duplicate: oneOf(['keep', 'skip'], 'keep', '`skip` passes over a datapoint whose sensor has the same value at the same time, in the store or earlier in the file, so that a file may be sent again. Needs `devices-data:view`.'), // biome-ignore format: one line
  received: oneOf(['ignore', 'keep'], 'ignore', '`keep` takes the column `received` (`date_received`) for when the service received the value, and lines without a time where they have that: for data that moves from one service to another. Needs `devices:update`.'), // biome-ignore format: one line
  line: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listEntriesMax,
      description: 'Of a file that is sent in parts: the number of the first line of this part, behind the header.',
    }),
  ),
  after: text('Of a file that is sent in parts: the last time of the part before, `next.after` of its answer.', [
    '2016-06-08T18:20:27Z',
  ]),
});
export type ImportQuery = Static<typeof ImportQuery>;
