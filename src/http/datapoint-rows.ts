// How datapoints and aggregates are written in lists: as records, and as lines of CSV. Rows of several sensors carry
// the ids of device and sensor.
import { formatTimestamp } from '../base/timestamp.ts';
import type { Aggregate } from '../domain/datapoints/aggregate.ts';
import type { Datapoint, StoredValue } from '../domain/datapoints/datapoint.ts';
import type { Located } from '../domain/datapoints/history.ts';
import { csvLineOf, valueText } from './csv.ts';
import { toDatapointRecord, toJson } from './records.ts';
import type { RowText } from './row-streams.ts';

export const aggregateNames = ['min', 'max', 'avg', 'sum', 'count', 'first', 'last'] as const;
export type AggregateName = (typeof aggregateNames)[number];

export const datapointRows: RowText<Located<Datapoint>> = {
  csvHeader: csvLineOf(['timestamp', 'date_received', 'value']),
  csvLine: ({ row }) => csvLineOf(fieldsOf(row)),
  record: ({ row }) => toDatapointRecord(row),
};

export const locatedDatapointRows: RowText<Located<Datapoint>> = {
  csvHeader: csvLineOf(['device_id', 'sensor_id', 'timestamp', 'date_received', 'value']),
  csvLine: ({ device, sensor, row }) => csvLineOf([device, sensor, ...fieldsOf(row)]),
  record: ({ device, sensor, row }) => ({ device_id: device, sensor_id: sensor, ...toDatapointRecord(row) }),
};

/** Rows of buckets with what was asked for, in the order of the names above. */
export function aggregateRows(
  asked: readonly AggregateName[],
  options: { readonly isLocated: boolean },
): RowText<Located<Aggregate>> {
  const names = aggregateNames.filter((name) => asked.includes(name));
  const place = ({ device, sensor }: Located<Aggregate>) =>
    options.isLocated ? { device_id: device, sensor_id: sensor } : {};
  return {
    csvHeader: csvLineOf([...(options.isLocated ? ['device_id', 'sensor_id'] : []), 'timestamp', ...names]),
    csvLine: (located) => {
      const fields = names.map((name) => aggregateText(located.row[name]));
      return csvLineOf([...Object.values(place(located)), formatTimestamp(located.row.startMs), ...fields]);
    },
    record: (located) => {
      const record: Record<string, unknown> = { ...place(located), timestamp: formatTimestamp(located.row.startMs) };
      for (const name of names) {
        const value = located.row[name];
        if (value !== undefined) record[name] = toJson(value);
      }
      return record;
    },
  };
}

function fieldsOf(point: Datapoint): string[] {
  const timestamp = point.timestampMs === undefined ? '' : formatTimestamp(point.timestampMs);
  return [timestamp, formatTimestamp(point.receivedMs), valueText(point.value)];
}

function aggregateText(value: StoredValue | undefined): string {
  return value === undefined ? '' : valueText(value);
}
