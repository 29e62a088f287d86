// Formats datapoints and aggregates for lists: records, CSV lines, Parquet columns. Rows of several sensors carry the
// ids of device and sensor.
import type { TimeZone } from '../../base/time/time-zone.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { type Datapoint, doubleOfStored, type StoredValue } from '../../domain/datapoints/datapoint.ts';
import type { Aggregate } from '../../domain/datapoints/history/aggregate.ts';
import type { SensorRow } from '../../domain/datapoints/history/history.ts';
import { toJson } from '../schemas/records.ts';
import { csvLineOf, exactValueText, spreadsheetCell, valueText } from './csv.ts';
import type { ParquetColumn } from './parquet.ts';
import type { RowText } from './row-streams.ts';

export const aggregateNames = ['min', 'max', 'avg', 'sum', 'count', 'first', 'last'] as const;
export type AggregateName = (typeof aggregateNames)[number];

/**
 * Rows of datapoints. `isExact`: CSV distinguishes texts from numbers, and null from an empty text. `isForSpreadsheet`:
 * no CSV cell can be taken for a formula. `zone`: tables have local times beside those in UTC.
 */
export function datapointRows(options: {
  readonly isLocated: boolean;
  readonly isExact: boolean;
  readonly isForSpreadsheet: boolean;
  readonly zone?: TimeZone | undefined;
}): RowText<SensorRow<Datapoint>> {
  const { isLocated, zone } = options;
  const textOf = options.isExact ? exactValueText : valueText;
  const fieldsOf = ({ row }: SensorRow<Datapoint>) => [
    row.timestampMs === undefined ? '' : formatTimestamp(row.timestampMs),
    formatTimestamp(row.receivedMs),
    textOf(row.value),
    ...(zone === undefined ? [] : [localText(zone, row.timestampMs), localText(zone, row.receivedMs)]),
  ];
  const lineOf = lineWriter(options);
  const local = zone === undefined ? [] : ['timestamp_local', 'date_received_local'];
  const header = ['timestamp', 'date_received', 'value', ...local];
  return {
    csvHeader: csvLineOf(isLocated ? ['device_id', 'sensor_id', ...header] : header),
    csvLine: isLocated
      ? (located) => lineOf([located.device, located.sensor, ...fieldsOf(located)])
      : (located) => lineOf(fieldsOf(located)),
    json: isLocated
      ? ({ device, sensor, row }) =>
          `{"device_id":${JSON.stringify(device)},"sensor_id":${JSON.stringify(sensor)},${datapointFields(row)}}`
      : ({ row }) => `{${datapointFields(row)}}`,
    columns: [
      ...(isLocated ? placeColumns : []),
      { name: 'timestamp', kind: 'time', of: ({ row }) => row.timestampMs },
      { name: 'date_received', kind: 'time', of: ({ row }) => row.receivedMs },
      ...valueColumns<SensorRow<Datapoint>>('value', ({ row }) => row.value),
      ...localColumn<SensorRow<Datapoint>>('timestamp_local', zone, ({ row }) => row.timestampMs),
      ...localColumn<SensorRow<Datapoint>>('date_received_local', zone, ({ row }) => row.receivedMs),
    ],
  };
}

/** The time by the clocks of the zone, with its offset; empty where there is none. */
function localText(zone: TimeZone, ms: number | undefined): string {
  if (ms === undefined) return '';
  const offsetMs = zone.offsetAt(ms);
  const minutes = Math.round(Math.abs(offsetMs) / 60_000);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${formatTimestamp(ms + offsetMs).slice(0, -1)}${offsetMs < 0 ? '-' : '+'}${hour}:${minute}`;
}

/** The time by the clocks of the zone, as a column of a Parquet file; none without a zone. */
function localColumn<T>(
  name: string,
  zone: TimeZone | undefined,
  of: (row: T) => number | undefined,
): ParquetColumn<T>[] {
  if (zone === undefined) return [];
  const wallAt = (ms: number | undefined) => (ms === undefined ? undefined : zone.wallAt(ms));
  return [{ name, kind: 'localTime', of: (row) => wallAt(of(row)) }];
}

function lineWriter({ isForSpreadsheet }: { readonly isForSpreadsheet: boolean }) {
  return isForSpreadsheet ? (fields: readonly string[]) => csvLineOf(fields.map(spreadsheetCell)) : csvLineOf;
}

/** The fields of `toDatapointRecord` as JSON; built by hand, because a list may have millions. */
function datapointFields({ value, timestampMs, receivedMs }: Datapoint): string {
  const measured = timestampMs === undefined ? '' : `,"timestamp":"${formatTimestamp(timestampMs)}"`;
  return `"value":${jsonText(value)}${measured},"date_received":"${formatTimestamp(receivedMs)}"`;
}

/** Values that are not numbers are stored as JSON text. */
function jsonText(value: StoredValue): string {
  if (typeof value === 'string') return value;
  return Object.is(value, -0) ? '-0' : String(value);
}

const placeColumns: readonly ParquetColumn<SensorRow<unknown>>[] = [
  { name: 'device_id', kind: 'text', of: ({ device }) => device },
  { name: 'sensor_id', kind: 'text', of: ({ sensor }) => sensor },
];

/** Numbers in a column of doubles; what no double carries as JSON in a second column. */
function valueColumns<T>(name: string, of: (row: T) => StoredValue | undefined): ParquetColumn<T>[] {
  return [
    { name, kind: 'number', of: (row) => numberOf(of(row)) },
    { name: `${name}_json`, kind: 'text', of: (row) => jsonTextOf(of(row)) },
  ];
}

function numberOf(value: StoredValue | undefined): number | undefined {
  return value === undefined ? undefined : doubleOfStored(value);
}

function jsonTextOf(value: StoredValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Rows of buckets with the requested aggregates, in the order of `aggregateNames`. */
export function aggregateRows(
  asked: readonly AggregateName[],
  options: {
    readonly isLocated: boolean;
    readonly isForSpreadsheet: boolean;
    readonly zone?: TimeZone | undefined;
  },
): RowText<SensorRow<Aggregate>> {
  const { zone } = options;
  const lineOf = lineWriter(options);
  const local = zone === undefined ? [] : ['timestamp_local'];
  const names = aggregateNames.filter((name) => asked.includes(name));
  const place = ({ device, sensor }: SensorRow<Aggregate>) =>
    options.isLocated ? { device_id: device, sensor_id: sensor } : {};
  return {
    csvHeader: csvLineOf([...(options.isLocated ? ['device_id', 'sensor_id'] : []), 'timestamp', ...names, ...local]),
    csvLine: (located) => {
      const fields = names.map((name) => aggregateText(located.row[name]));
      const localFields = zone === undefined ? [] : [localText(zone, located.row.startMs)];
      const utc = formatTimestamp(located.row.startMs);
      return lineOf([...Object.values(place(located)), utc, ...fields, ...localFields]);
    },
    json: (located) => {
      const record: Record<string, unknown> = { ...place(located), timestamp: formatTimestamp(located.row.startMs) };
      for (const name of names) {
        const value = located.row[name];
        if (value !== undefined) record[name] = toJson(value);
      }
      return JSON.stringify(record);
    },
    columns: [
      ...(options.isLocated ? placeColumns : []),
      { name: 'timestamp', kind: 'time', of: ({ row }) => row.startMs },
      ...names.flatMap((name) => aggregateColumns(name)),
      ...localColumn<SensorRow<Aggregate>>('timestamp_local', zone, ({ row }) => row.startMs),
    ],
  };
}

/** First and last value of a bucket may be any JSON; the others are numbers. */
function aggregateColumns(name: AggregateName): ParquetColumn<SensorRow<Aggregate>>[] {
  if (name === 'first' || name === 'last') return valueColumns(name, ({ row }) => row[name]);
  return [{ name, kind: name === 'count' ? 'count' : 'number', of: ({ row }) => row[name] }];
}

function aggregateText(value: StoredValue | undefined): string {
  return value === undefined ? '' : valueText(value);
}
