// The plan for reading an imported file: the caller's settings, completed by what its first lines show. Made once for a
// file by import-run.ts; a dry run shows it before anything is stored.

import { Refusal, type Said } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { TimeZone } from '../../base/time/time-zone.ts';
import { parseTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import {
  assertMapped,
  type Column,
  ColumnGuesses,
  type KnownSensor,
  type Mapping,
  parseMapping,
  readColumns,
} from './columns.ts';
import { type CsvDialect, sampleCsv } from './csv-dialect.ts';
import type { ImportQuery } from './import-query.ts';
import { LocalTimes } from './local-times.ts';
import { arrayRows, csvRows, KeyColumns, ndjsonRows, type RowReader } from './rows.ts';
import { parseTimeFormat, recogniseTimes, type TimeFormat } from './time-format.ts';
import { missingWords, quoted, shortened, type ValueForm } from './value-texts.ts';

export type FileKind = 'csv' | 'ndjson' | 'json';

export interface ImportFile {
  readonly kind: FileKind;
  /** The beginning of the text; all of it where `isWhole`. */
  readonly sample: string;
  readonly isWhole: boolean;
  /** Of a JSON array: all entries. */
  readonly items: readonly Json[];
  /** Sensors of the request's device, where the caller may see them. */
  readonly knownSensors: readonly (KnownSensor & { readonly unit?: string })[] | undefined;
}

/** A sentence for the caller, in English and by its code. */
export interface Remark extends Said {
  readonly text: string;
}

export interface ImportPlan {
  readonly kind: FileKind;
  readonly rows: RowReader;
  /** The dialect of a CSV file. */
  readonly dialect: CsvDialect | undefined;
  /** The columns; of JSON those seen so far. */
  columns(): readonly Column[];
  /** Some values of a column. */
  examplesOf(column: Column): readonly string[];
  readonly timeFormat: TimeFormat | undefined;
  readonly times: LocalTimes;
  readonly values: ValueForm;
  /** What the caller has to specify before anything can be stored. */
  readonly problems: readonly Remark[];
  /** Remarks for the caller. */
  readonly notes: readonly Remark[];
}

/** @throws Refusal `malformed` for settings that do not fit the file. */
export function makePlan(query: ImportQuery, file: ImportFile): ImportPlan {
  const guessing = new ColumnGuesses(parseMapping(query.columns), file.knownSensors ?? []);
  const table = file.kind === 'csv' ? csvTable(query, file, guessing.mapping) : jsonTable(query, file);
  const columnsNow = () => readColumns(table.names(), guessing);
  const columns = columnsNow();
  assertMapped(guessing.mapping, columns);
  const texts = timesAmong(columns, table.examples);
  const { format, notes } = formatOf(query, texts);
  const values = {
    decimal: table.dialect?.decimal ?? 'point',
    kind: query.values,
    missing: new Set(query.missing === undefined ? missingWords : query.missing.toLowerCase().split(',')),
  };
  return {
    kind: file.kind,
    rows: table.rows,
    dialect: table.dialect,
    columns: remembering(columns, table.names, columnsNow),
    examplesOf: ({ number }) => table.examples.slice(0, 3).map((cells) => textOf(cells[number - 1])),
    timeFormat: format,
    times: localTimes(query),
    values,
    problems: problemsOf(query, columns, { texts, format }),
    notes: [...notes, ...zoneNotes(query, texts, format), ...sensorNotes(query, columns, file.knownSensors)],
  };
}

interface ImportTable {
  readonly rows: RowReader;
  readonly dialect: CsvDialect | undefined;
  readonly names: () => readonly (string | undefined)[];
  readonly examples: readonly (readonly (Json | undefined)[])[];
}

function csvTable(query: ImportQuery, file: ImportFile, mapping: Mapping): ImportTable {
  const { delimiter, decimal, skip, header } = query;
  const given = {
    delimiter: delimiter === 'auto' ? undefined : delimiter,
    decimal: decimal === 'auto' ? undefined : decimal,
    hasHeader: header === 'auto' ? undefined : header === 'true',
    skip,
  };
  const sample = sampleCsv(file.sample, given, file);
  // Where the first lines have fewer columns than later ones, mapped columns count.
  const last = Math.max(0, ...[...mapping.keys()].map(Number).filter((n) => n <= limits.importColumnsMax));
  const names = [...sample.names];
  while (!sample.hasHeader && names.length < last) names.push(undefined);
  const examples = sample.records.map(({ fields }) => fields);
  return { dialect: sample, examples, names: () => names, rows: csvRows(sample, query) };
}

function jsonTable(query: ImportQuery, { kind, sample, isWhole, items }: ImportFile): ImportTable {
  const keys = new KeyColumns();
  const rows = kind === 'json' ? arrayRows(keys, items) : ndjsonRows(keys, query);
  const first = kind === 'json' ? arrayRows(keys, items.slice(0, limits.importSampleLines)) : ndjsonRows(keys, query);
  const whole = isWhole ? sample : sample.slice(0, sample.lastIndexOf('\n') + 1);
  const examples: ImportTable['examples'][number][] = [];
  for (const { cells } of first.read(whole, { isEnd: true })) {
    examples.push(cells);
    if (keys.keysRead >= limits.importSampleKeys) break;
  }
  return { dialect: undefined, examples, names: () => keys.names, rows };
}

/** Caches the columns; determines them again when a new key appears. */
function remembering(first: readonly Column[], names: () => readonly unknown[], read: () => readonly Column[]) {
  let columns = first;
  return () => {
    if (names().length !== columns.length) columns = read();
    return columns;
  };
}

/** The texts of times in the first lines. */
function timesAmong(columns: readonly Column[], examples: ImportTable['examples']): string[] {
  const places = ['timestamp', 'date', 'time'].flatMap((role) => columns.filter((column) => column.role === role));
  if (places.length === 0) return [];
  return examples
    .map((cells) => places.map(({ number }) => textOf(cells[number - 1])).join(' ').trim()) // biome-ignore format: one line
    .filter((text) => /\d/.test(text));
}

/** A cell as text, for display and for parsing times. */
export function textOf(cell: Json | undefined): string {
  if (cell === undefined) return '';
  return typeof cell === 'string' ? cell.trim() : JSON.stringify(cell);
}

function formatOf(query: ImportQuery, texts: readonly string[]) {
  if (query.time_format !== undefined && query.time_format !== 'auto') {
    return { format: parseTimeFormat(query.time_format), notes: [] };
  }
  // Without examples, times are expected in the form of an export.
  if (texts.length === 0) return { format: parseTimeFormat('iso'), notes: [] };
  const found = recogniseTimes(texts);
  const notes = found?.isDoubtful
    ? [
        {
          code: 'day-first',
          params: { format: found.format.name },
          text: `Times are read as ${found.format.name}, the day first. If the month comes first, say so by time_format.`,
        },
      ]
    : [];
  return { format: found?.format, notes };
}

function localTimes({ timezone, after }: ImportQuery): LocalTimes {
  const zone = TimeZone.find(timezone.replace(/^ /, '+'));
  if (zone === undefined) fault('timezone', 'must be a time zone of the IANA database, such as Africa/Dakar or UTC');
  const afterMs = after === undefined ? undefined : parseTimestamp(after);
  if (after !== undefined && afterMs === undefined) fault('after', 'must be a timestamp such as 2016-06-08T18:20:27Z');
  return new LocalTimes(zone, { name: timezone, afterMs });
}

function zoneNotes(query: ImportQuery, texts: readonly string[], format: TimeFormat | undefined): Remark[] {
  const [text] = texts;
  if (query.timezone !== 'UTC' || text === undefined || format === undefined) return [];
  const time = format.parse(text);
  if (time === undefined || time.offsetMs !== undefined) return [];
  const utc = 'The times name no zone and are read as UTC. If a clock on the wall showed them, say where by timezone.';
  return [{ code: 'utc', text: utc }];
}

function sensorNotes(query: ImportQuery, columns: readonly Column[], known: ImportFile['knownSensors']): Remark[] {
  const own = columns.flatMap(({ name, role, unit }) =>
    typeof role === 'string' || role.device !== undefined ? [] : [{ name, unit, id: role.sensor }],
  );
  if (known === undefined) return [];
  const byId = new Map(known.map((sensor) => [sensor.id, sensor]));
  const notes: Remark[] = own.flatMap(({ name, unit, id }) => {
    const sensor = byId.get(id);
    if (unit === undefined || sensor?.unit === undefined || sensor.unit === unit) return [];
    const params = { column: shortened(name ?? ''), sensor: id, unit: shortened(sensor.unit) };
    const text = `Column ${quoted(name ?? '')} goes to sensor ${id}, whose unit is ${quoted(sensor.unit)}.`;
    return [{ code: 'other-unit', params, text }];
  });
  const missing = own.map(({ id }) => id).filter((id) => !byId.has(id));
  if (missing.length === 0 || query.create_sensors) return notes;
  const names = missing.slice(0, 10).join(', ') + (missing.length > 10 ? ', …' : '');
  const advice = 'create_sensors=true makes what is missing; columns says that a column is another sensor, or ignored.';
  const params = { device: query.device ?? '', sensors: names };
  return [
    ...notes,
    { code: 'missing-sensors', params, text: `Device ${query.device} has no sensor ${names}: ${advice}` },
  ];
}

function problemsOf(
  query: ImportQuery,
  columns: readonly Column[],
  { texts, format }: { readonly texts: readonly string[]; readonly format: TimeFormat | undefined },
): Remark[] {
  const has = (wanted: string) => columns.some(({ role }) => role === wanted);
  const sensors = columns.map(({ role }) => role).filter((role) => typeof role !== 'string');
  const problems: Remark[] = [];
  const say = 'Say so by columns, such as columns=';
  // Data from another service may have only the time of receiving.
  const hasArrival = query.received === 'keep' && has('received');
  if (!has('timestamp') && !has('date') && !hasArrival)
    problems.push({ code: 'no-time-column', text: `No column is the time. ${say}1=timestamp` });
  else if (texts.length > 0 && format === undefined) {
    const text = `The times are written in no way that is recognised: ${quoted(texts[0] ?? '')}. Say how by time_format.`;
    problems.push({ code: 'times-unknown', params: { text: shortened(texts[0] ?? '') }, text });
  }
  if (!has('value') && sensors.length === 0) {
    const text = `No column holds values. ${say}2=TC for the values of the sensor TC, or columns=4=value`;
    problems.push({ code: 'no-value-column', text });
  }
  if (has('value') && !has('sensor') && query.sensor === undefined) {
    const text = `Nothing says which sensor the values are of. ${say}2=sensor, or name one by sensor`;
    problems.push({ code: 'no-sensor-named', text });
  }
  const needsDevice = has('value') || sensors.some((role) => role.device === undefined);
  if (needsDevice && !has('device') && query.device === undefined) {
    const text = `Nothing says which device the values are of. Name it by device, or ${say.toLowerCase()}1=device`;
    problems.push({ code: 'no-device-named', text });
  }
  return problems;
}

function fault(field: string, detail: string): never {
  throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}
