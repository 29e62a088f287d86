// What the command line of the bench says, checked; and the help that explains it. Called by main.ts alone.
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { doors } from './load/overload-doors.ts';

const sectionNames = [
  'rest',
  'mqtt',
  'fanout',
  'logins',
  'bulk',
  'lists',
  'notifications',
  'start',
  'codec',
  'disk',
  'overload',
  'soak',
  'series',
  'dashboard',
  'nodes',
  'engines',
] as const;
/** Those that run where they are named: one takes an hour, and two need PostgreSQL. */
const namedSections: readonly string[] = ['soak', 'nodes', 'engines'];
const usualSections = sectionNames.filter((name) => !namedSections.includes(name));
export type SectionName = (typeof sectionNames)[number];

export interface BenchOptions {
  readonly sections: readonly SectionName[];
  /** Length of one round, seconds. */
  readonly seconds: number;
  readonly rounds: number;
  /** Keep-alive connections of the REST and login sections, each with one request outstanding. */
  readonly connections: number;
  readonly mqttClients: number;
  /** Publishes outstanding for each MQTT client. */
  readonly mqttWindow: number;
  /** Sensors that REST, MQTT and bulk go to: these sections are measured once for each number. */
  readonly sensors: readonly number[];
  /** Datapoints of the series section; the disk section takes as many, up to a bound of its own. */
  readonly datapoints: number;
  /** Sensors that the disk section counts written bytes with, one after the other. */
  readonly diskSensors: readonly number[];
  /** For how long the disk section counts what is written to the device, seconds. */
  readonly diskSeconds: number;
  /** Doors of the overload section, by name. */
  readonly doors: readonly string[];
  /** How long the soak section lasts, minutes. */
  readonly minutes: number;
  /** Pushes and publishes a second of the soak section; undefined: half of what both reach at once. */
  readonly rates: readonly [restPerS: number, mqttPerS: number] | undefined;
  /** Where the data folders of the measured servers go. */
  readonly folder: string;
  /** Folder for the CPU profiles of the measured server; undefined: none. */
  readonly profile: string | undefined;
  /** Address of an empty database for the engines section; undefined: one on a server of its own. */
  readonly database: string | undefined;
  /** File for the report; undefined: none. */
  readonly write: string | undefined;
}

const doorNames = doors.map(({ name }) => name);

const help = `npm run bench -- [options]

Measures this checkout: a server of its own on one core in a temporary folder, the load generator on another, and for
REST and MQTT a baseline that stores nothing (a bare Fastify, a bare aedes) on the same core in turns, so that noise of
the machine meets both alike; for fanout a bare aedes, and Mosquitto where it is on the PATH (Debian: mosquitto); for bulk InfluxDB 1.x where influxd is on the PATH (Debian: influxdb), for series a plain
SQLite table with an index. The dashboard is built and opened in Chromium, where that is on the PATH (Debian: chromium).
Medians of the rounds count. For nodes and engines DUNDUN_TEST_POSTGRES names the
server of PostgreSQL. At the end everything is read back and counted.

  --only rest,mqtt,…    sections to run: ${sectionNames.join(', ')} (all but ${namedSections.join(', ')})
  --seconds 5           length of one round
  --rounds 5            rounds of each side; a shorter one before them warms up
  --connections 400     REST and logins: connections, each with one request outstanding
  --clients 50          MQTT: connections
  --window 100          MQTT: publishes outstanding on each connection
  --sensors 200         REST, MQTT, bulk: sensors; several numbers (200,100000) measure these sections several times
  --datapoints 49932000 series: datapoints, of 95 sensors, a minute apart (a year at most); disk takes up to 4 000 000
  --disk-sensors 10000,100000
                        disk: sensors that datapoints come from while writes to the device are counted
  --disk-seconds 60     disk: how long each way of sending lasts
  --doors rest,mqtt,…   overload: ${doorNames.join(', ')} (all; each takes two minutes a round or so)
  --minutes 60          soak: how long it lasts; figures are taken 60 times
  --rates 4000,20000    soak: pushes over REST and publishes over MQTT a second (half of what both reach at once)
  --folder <path>       where the data goes while it runs (${tmpdir()}); a disk in memory gives flattering figures
  --database <url>      engines: an empty database that is there, such as one of Citus, in place of a server of its own
  --profile <folder>    write CPU profiles of the server there (slows it by a tenth or so)
  --write <file>        write the report to this file as well, for example docs/performance.md
  --help

The exit code is 1 when a count is wrong, whatever the speed.

Examples:
  npm run bench -- --only rest --rounds 3
  npm run bench -- --only rest,mqtt,bulk --sensors 200,100000
  npm run bench -- --only series --datapoints 200000 --rounds 1 --seconds 2
  npm run bench -- --only overload --doors mqtt --seconds 10
  npm run bench -- --only fanout --rounds 3 --seconds 2
  npm run bench -- --write docs/performance.md`;

export function parseArguments(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: usualSections.join(',') },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      connections: { type: 'string', default: '400' },
      clients: { type: 'string', default: '50' },
      window: { type: 'string', default: '100' },
      sensors: { type: 'string', default: '200' },
      datapoints: { type: 'string', default: '49932000' },
      'disk-sensors': { type: 'string', default: '10000,100000' },
      'disk-seconds': { type: 'string', default: '60' },
      doors: { type: 'string', default: doorNames.join(',') },
      minutes: { type: 'string', default: '60' },
      rates: { type: 'string' },
      folder: { type: 'string', default: tmpdir() },
      database: { type: 'string' },
      profile: { type: 'string' },
      write: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    process.exit(0);
  }
  return {
    sections: values.only.split(',').map(parseSection),
    seconds: parsePositive(values.seconds, { name: '--seconds', max: 300 }),
    rounds: parsePositive(values.rounds, { name: '--rounds', max: 100 }),
    connections: parsePositive(values.connections, { name: '--connections', max: 10_000 }),
    mqttClients: parsePositive(values.clients, { name: '--clients', max: 10_000 }),
    mqttWindow: parsePositive(values.window, { name: '--window', max: 60_000 }),
    sensors: parseNumbers(values.sensors, { name: '--sensors', max: 1_000_000 }),
    datapoints: parsePositive(values.datapoints, { name: '--datapoints', max: 49_932_000 }),
    diskSensors: parseNumbers(values['disk-sensors'], { name: '--disk-sensors', max: 1_000_000 }),
    diskSeconds: parsePositive(values['disk-seconds'], { name: '--disk-seconds', max: 3_600 }),
    doors: values.doors.split(',').map(parseDoor),
    minutes: parsePositive(values.minutes, { name: '--minutes', max: 1_440 }),
    rates: values.rates === undefined ? undefined : parseRates(values.rates),
    folder: resolve(values.folder),
    database: values.database,
    profile: values.profile === undefined ? undefined : resolve(values.profile),
    write: values.write,
  };
}

function parseSection(text: string): SectionName {
  const found = sectionNames.find((name) => name === text.trim());
  if (found === undefined) throw new Error(`--only takes ${sectionNames.join(', ')}, not ${text}.`);
  return found;
}

function parseDoor(text: string): string {
  const found = doorNames.find((name) => name === text.trim());
  if (found === undefined) throw new Error(`--doors takes ${doorNames.join(', ')}, not ${text}.`);
  return found;
}

function parseNumbers(text: string, option: { readonly name: string; readonly max: number }): number[] {
  return text.split(',').map((number) => parsePositive(number, option));
}

function parseRates(text: string): readonly [number, number] {
  const [restPerS, mqttPerS, ...more] = parseNumbers(text, { name: '--rates', max: 1_000_000 });
  if (restPerS === undefined || mqttPerS === undefined || more.length > 0)
    throw new Error(`--rates takes two numbers, for REST and for MQTT, not ${text}.`);
  return [restPerS, mqttPerS];
}

function parsePositive(text: string, { name, max }: { readonly name: string; readonly max: number }): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > max)
    throw new Error(`${name} takes a whole number from 1 to ${max}, not ${text}.`);
  return number;
}
