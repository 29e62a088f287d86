// What came back, as tables for people.
import type { Datapoint, Mote, MoteSensor } from './motes.ts';
import { grouped } from './progress.ts';

export interface SensorResult {
  readonly mote: Mote;
  readonly sensor: MoteSensor;
  readonly way: string;
  readonly stored: readonly Datapoint[];
}

/** True when what came back is what was sent: as many, in order, same values, same times. */
export function isSame({ sensor, stored }: SensorResult): boolean {
  const sent = sensor.datapoints;
  return (
    sent.length === stored.length &&
    sent.every(({ value, timestamp }, i) => {
      const back = stored[i];
      return back?.value === value && Date.parse(back.timestamp) === Date.parse(timestamp);
    })
  );
}

export function renderSensors(results: readonly SensorResult[]): string {
  return renderTable(
    ['device', 'sensor', 'sent over', 'in', 'out', 'first', 'last', ''],
    results.map((result) => [
      result.mote.id,
      `${result.sensor.id} ${result.sensor.unit}`,
      result.way,
      grouped(result.sensor.datapoints.length),
      grouped(result.stored.length),
      renderPoint(result.stored[0]),
      renderPoint(result.stored.at(-1)),
      isSame(result) ? 'same' : 'DIFFERENT',
    ]),
  );
}

/** Every tenth reading of a window and its last one, the sensors side by side. */
export function renderWindow(
  columns: readonly { readonly title: string; readonly points: readonly Datapoint[] }[],
): string {
  const times = columns[0]?.points ?? [];
  const rows = times.flatMap((point, i) =>
    i % 10 === 0 || i === times.length - 1
      ? [[timeOf(point), ...columns.map(({ points }) => points[i]?.value.toFixed(2) ?? '–')]]
      : [],
  );
  return renderTable(['time', ...columns.map(({ title }) => title)], rows);
}

function renderPoint(point: Datapoint | undefined): string {
  return point === undefined ? '–' : `${timeOf(point)}  ${point.value.toFixed(2).padStart(5)}`;
}

function timeOf(point: Datapoint): string {
  return point.timestamp.slice(11, 19);
}

function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]) =>
    `  ${widths.map((width, i) => (cells[i] ?? '').padEnd(width)).join('  ')}`.trimEnd();
  return [line(header), `  ${widths.map((width) => '─'.repeat(width)).join('  ')}`, ...rows.map(line)].join('\n');
}
