// What the command line of the bench says, checked; and the help that explains it. Called by main.ts alone.
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const sectionNames = ['rest', 'mqtt', 'logins', 'bulk', 'lists', 'notifications', 'start'] as const;
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
  /** Where the data folders of the measured servers go. */
  readonly folder: string;
  /** Folder for the CPU profiles of the measured server; undefined: none. */
  readonly profile: string | undefined;
  /** File for the report; undefined: none. */
  readonly write: string | undefined;
}

const help = `npm run bench -- [options]

Measures this checkout: a server of its own on one core in a temporary folder, the load generator on another, and for
REST and MQTT a baseline that stores nothing (a bare Fastify, a bare aedes) on the same core in turns, so that noise of
the machine meets both alike. Medians of the rounds count. At the end everything is read back and counted.

  --only rest,mqtt,…    sections to run: ${sectionNames.join(', ')} (all)
  --seconds 5           length of one round
  --rounds 5            rounds of each side; a shorter one before them warms up
  --connections 400     REST and logins: connections, each with one request outstanding
  --clients 50          MQTT: connections
  --window 100          MQTT: publishes outstanding on each connection
  --folder <path>       where the data goes while it runs (${tmpdir()}); a disk in memory gives flattering figures
  --profile <folder>    write CPU profiles of the server there (slows it by a tenth or so)
  --write <file>        write the report to this file as well, for example docs/performance.md
  --help

The exit code is 1 when a count is wrong, whatever the speed.

Examples:
  npm run bench -- --only rest --rounds 3
  npm run bench -- --write docs/performance.md`;

export function parseArguments(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: sectionNames.join(',') },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      connections: { type: 'string', default: '400' },
      clients: { type: 'string', default: '50' },
      window: { type: 'string', default: '100' },
      folder: { type: 'string', default: tmpdir() },
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
    folder: resolve(values.folder),
    profile: values.profile === undefined ? undefined : resolve(values.profile),
    write: values.write,
  };
}

function parseSection(text: string): SectionName {
  const found = sectionNames.find((name) => name === text.trim());
  if (found === undefined) throw new Error(`--only takes ${sectionNames.join(', ')}, not ${text}.`);
  return found;
}

function parsePositive(text: string, { name, max }: { readonly name: string; readonly max: number }): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > max)
    throw new Error(`${name} takes a whole number from 1 to ${max}, not ${text}.`);
  return number;
}
