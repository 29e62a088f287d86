// The answer to an import: its schema, and the record made from plan and report.
import { Type } from 'typebox';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { CreatedSensor } from '../../domain/datapoints/import/imports.ts';
import { datapointFields } from '../schemas/datapoint-schemas.ts';
import { DeviceIdSchema, SensorIdSchema } from '../schemas/device-schemas.ts';
import { timestamp } from '../schemas/field-schemas.ts';
import { toJson } from '../schemas/records.ts';
import { roleText } from './columns.ts';
import type { ImportPlan, Remark } from './import-plan.ts';
import type { ImportQuery } from './import-query.ts';
import type { FileImportResult } from './import-run.ts';

const count = (description: string, example: number) => Type.Integer({ description, examples: [example] });
const words = (description: string, example: string) => Type.String({ description, examples: [example] });
const maybe = Type.Optional;

/** A sentence by its code, for clients in other languages. */
const said = {
  code: maybe(
    words('What is said, as a code, for clients with words of their own; others show the text.', 'time-format'),
  ),
  params: maybe(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
      description: 'What the sentence names, by the names that belong to the code.',
      examples: [{ text: '31.02.2026', format: 'D.M.YYYY' }],
    }),
  ),
};
const saidObject = Type.Object(said, { description: 'The code of a sentence, and what the sentence names.' });

const RefusedField = Type.Object(
  {
    line: count('Number of the line in the file, from 1; in a JSON array, of the element.', 17),
    column: maybe(count('Number of the column, from 1; absent where the whole line is refused.', 2)),
    detail: words('What was wrong, or what would be right.', '"31.02.2026" is no time as D.M.YYYY.'),
    ...said,
  },
  { title: 'RefusedField', description: 'A line, or a field of it, that was not stored, and why.' },
);

const ImportColumn = Type.Object(
  {
    column: count('Number of the column, from 1.', 2),
    name: maybe(words('Name of the column in the header, or its key.', 'Temp (°C)')),
    role: words('Meaning of the column, as in `columns`; a sensor as `device/sensor` or `/sensor`.', '/TC'),
    unit: maybe(words('Unit in the name of the column.', '°C')),
    numbers: count('Number of values that are numbers.', 96),
    others: count('Number of values that are no numbers.', 0),
    missing: count('Number of fields without a value.', 4),
    examples: Type.Array(Type.String(), { description: 'Fields of its first lines.', examples: [['21.5', '21.7']] }),
  },
  { title: 'ImportColumn', description: 'A column of a file and how it is interpreted.' },
);

const ImportedFile = Type.Object(
  {
    format: words('`csv`, `ndjson` or `json`.', 'csv'),
    delimiter: maybe(words('The separator of fields in CSV.', 'semicolon')),
    decimal: maybe(words('The decimal separator: `point` or `comma`.', 'comma')),
    header: maybe(Type.Boolean({ description: 'Whether a line names the columns.', examples: [true] })),
    skip: maybe(count('Number of lines before the header.', 0)),
    time_format: maybe(words('The format of times.', 'D.M.YYYY[ H:mm[:ss[.SSS]]]')),
    timezone: words('The time zone of times without an offset.', 'Europe/Paris'),
    columns: Type.Array(ImportColumn, { description: 'The columns, in the order of the file.' }),
  },
  { title: 'ImportedFile', description: 'How a file was interpreted. Query parameters override each of these.' },
);

const NextPart = Type.Object(
  {
    head_lines: count(
      'Number of lines at the beginning of the file, up to its header, to send again before the next part.',
      1,
    ),
    line: count('Number of the line after the last that was read.', 5001),
    after: maybe(timestamp('The last time that was read.')),
    delimiter: maybe(words('As detected.', 'semicolon')),
    decimal: maybe(words('As detected.', 'comma')),
    header: maybe(words('As detected.', 'true')),
    skip: maybe(count('As detected.', 0)),
    time_format: maybe(words('As detected.', 'D.M.YYYY[ H:mm[:ss[.SSS]]]')),
  },
  {
    title: 'NextPart',
    description:
      'Query parameters for the next part of a file that is sent in parts, so that it is interpreted like this one. `head_lines` is not a query parameter.',
  },
);

export const ImportAnswer = Type.Object(
  {
    dry_run: Type.Boolean({ description: 'True where nothing was stored.', examples: [false] }),
    lines: count('Number of lines read, without the header.', 5000),
    accepted: count('Number of datapoints committed to disk; in a dry run, that would be.', 9996),
    duplicates: count('Number of datapoints ignored by `on_duplicate=skip`.', 0),
    missing: count('Number of fields without a value.', 4),
    refused_count: count('Number of refused lines and fields.', 1),
    refused: Type.Array(RefusedField, {
      description: `The first ${limits.importRefusedMax} refused lines and fields, in the order in which they were refused.`,
    }),
    from: maybe(timestamp('Earliest time that was read.')),
    to: maybe(timestamp('Latest time that was read.')),
    created: Type.Array(Type.Object({ device_id: DeviceIdSchema, sensor_id: SensorIdSchema }), {
      description: 'Sensors that were created; in a dry run, that would be.',
    }),
    stopped: maybe(
      Type.Object(
        {
          line: count('Number of the first line that was not processed; all lines before it were.', 5001),
          detail: words('Why the import stopped.', 'The disk is full.'),
          ...said,
        },
        { description: 'Present where the import stopped before the end of the file.' },
      ),
    ),
    problems: Type.Array(words('A problem.', 'No column is the time.'), {
      description: 'Of a dry run: problems that query parameters must solve before anything can be stored.',
    }),
    problem_codes: Type.Array(saidObject, { description: 'The problems by their codes, in the same order.' }),
    notes: Type.Array(words('A note.', 'The times name no zone and are read as UTC.'), {
      description: 'Assumptions that were made.',
    }),
    note_codes: Type.Array(saidObject, { description: 'The notes by their codes, in the same order.' }),
    file: ImportedFile,
    samples: maybe(
      Type.Array(
        Type.Object({
          line: count('Number of the line in the file.', 2),
          device_id: maybe(DeviceIdSchema),
          sensor_id: SensorIdSchema,
          value: datapointFields.value,
          timestamp: datapointFields.timestamp,
        }),
        { description: 'Of a dry run: the first datapoints, as they would be stored.' },
      ),
    ),
    next: NextPart,
  },
  { title: 'ImportAnswer', description: 'What was stored of a file, what was not, and how the file was interpreted.' },
);

export function toImportRecord(
  { plan, report }: FileImportResult,
  query: ImportQuery,
  made: readonly CreatedSensor[],
): Record<string, unknown> {
  const { lines, accepted, refusedCount } = report;
  const isTimed = report.fromMs <= report.toMs;
  return {
    dry_run: query.dry_run,
    ...{ lines, accepted, duplicates: report.known, missing: report.missing, refused_count: refusedCount },
    refused: report.refused.map(({ said: by, ...field }) => ({ ...field, ...by })),
    from: isTimed ? formatTimestamp(report.fromMs) : undefined,
    to: isTimed ? formatTimestamp(report.toMs) : undefined,
    created: made.map(({ device, sensor }) => ({ device_id: device, sensor_id: sensor })),
    stopped: report.stopped && { line: report.stopped.line, detail: report.stopped.detail, ...report.stopped.said },
    problems: plan.problems.map(({ text }) => text),
    problem_codes: plan.problems.map(codeOf),
    notes: plan.notes.map(({ text }) => text),
    note_codes: plan.notes.map(codeOf),
    file: toFileRecord({ plan, report }, query),
    samples: query.dry_run ? toSamples({ plan, report }) : undefined,
    next: toNextPart({ plan, report }),
  };
}

function codeOf({ code, params }: Remark): object {
  return { code, params };
}

function toFileRecord({ plan, report }: FileImportResult, { timezone }: ImportQuery): object {
  const { dialect } = plan;
  return {
    format: plan.kind,
    ...formOf(plan),
    header: dialect?.hasHeader,
    timezone,
    columns: plan.columns().map((column) => ({
      column: column.number,
      name: column.name,
      role: roleText(column.role),
      unit: column.unit,
      ...report.countOf(column.number),
      examples: plan.examplesOf(column),
    })),
  };
}

/** The dialect in the terms of the query. */
function formOf({ dialect, timeFormat }: ImportPlan) {
  return {
    delimiter: dialect?.delimiter,
    decimal: dialect?.decimal,
    skip: dialect?.skip,
    time_format: timeFormat?.name,
  };
}

function toSamples({ report }: FileImportResult): object[] {
  return report.samples.map(({ line, device, sensor, reading }) => ({
    line,
    device_id: device === '' ? undefined : device,
    sensor_id: sensor,
    value: toJson(reading.value),
    timestamp: Number.isNaN(reading.timestampMs) ? undefined : formatTimestamp(reading.timestampMs),
  }));
}

function toNextPart({ plan, report }: FileImportResult): object {
  const { dialect, times } = plan;
  return {
    head_lines: dialect === undefined ? 0 : dialect.skip + Number(dialect.hasHeader),
    line: report.nextLine,
    after: times.lastMs === undefined ? undefined : formatTimestamp(times.lastMs),
    ...formOf(plan),
    header: dialect === undefined ? undefined : String(dialect.hasHeader),
  };
}
