// The readings of examples/motes as the demo sends them: two sensors a mote, each a row of datapoints in order of time.
// The label stays out of the sensors; it only says which window to look at afterwards.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Datapoint {
  readonly value: number;
  readonly timestamp: string;
}

export interface MoteSensor {
  readonly id: 'temperature' | 'humidity';
  readonly unit: string;
  readonly datapoints: readonly Datapoint[];
}

export interface Mote {
  /** The id of its device: mote-1 to mote-4. */
  readonly id: string;
  readonly indoor: boolean;
  readonly sensors: readonly MoteSensor[];
  /** First and last time at which an event was introduced, where there was one. */
  readonly event: { readonly from: string; readonly to: string } | undefined;
}

interface Row {
  readonly reading: number;
  readonly mote: number;
  readonly indoor: boolean;
  readonly humidity: number;
  readonly temperature: number;
  readonly labelled: boolean;
}

const csv = fileURLToPath(new URL('../../examples/motes/motes.csv', import.meta.url));
const header = 'reading,mote_id,indoor,humidity,temperature,label';

/** The hour is invented: the file does not say when the day started. */
const startMs = Date.UTC(2010, 6, 10, 9);
const stepMs = 5_000;

export function readMotes(): Mote[] {
  const [first, ...lines] = readFileSync(csv, 'utf8').trim().split('\n');
  if (first !== header) throw new Error(`${csv} must begin with the line ${header}.`);
  const rowsOf = Map.groupBy(lines.map(parseRow), (row) => row.mote);
  return [...rowsOf].map(([number, rows]) => toMote(number, rows));
}

function parseRow(line: string): Row {
  const numbers = line.split(',').map(Number);
  const [reading, mote, indoor, humidity, temperature, label] = numbers;
  if (numbers.length !== 6 || numbers.some((number) => !Number.isFinite(number)))
    throw new Error(`${csv} has a line that is not six numbers: ${line}`);
  return {
    reading: reading as number,
    mote: mote as number,
    indoor: indoor === 1,
    humidity: humidity as number,
    temperature: temperature as number,
    labelled: label === 1,
  };
}

function toMote(number: number, rows: readonly Row[]): Mote {
  const column = (id: 'temperature' | 'humidity') => rows.map((row) => ({ value: row[id], timestamp: timeOf(row) }));
  const labelled = rows.filter((row) => row.labelled);
  const [from, to] = [labelled[0], labelled.at(-1)];
  return {
    id: `mote-${number}`,
    indoor: rows[0]?.indoor === true,
    sensors: [
      { id: 'temperature', unit: '°C', datapoints: column('temperature') },
      { id: 'humidity', unit: '%', datapoints: column('humidity') },
    ],
    event: from && to && { from: timeOf(from), to: timeOf(to) },
  };
}

function timeOf({ reading }: Row): string {
  return new Date(startMs + stepMs * (reading - 1)).toISOString();
}
