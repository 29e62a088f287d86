// `npm run bench`: load on a server of this checkout, a report on standard output, progress on standard error.
// Fails only when a count is wrong: what was acknowledged must be there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchOptions, parseArguments, type SectionName } from './arguments.ts';
import { leaveServerCore } from './cores.ts';
import { describeMachine, renderReport } from './report.ts';
import type { Section } from './section.ts';
import { measureBulk } from './sections/bulk.ts';
import { measureCodec } from './sections/codec.ts';
import { measureDashboard } from './sections/dashboard.ts';
import { measureDisk } from './sections/disk.ts';
import { measureEngines } from './sections/engines.ts';
import { measureFanOut } from './sections/fan-out.ts';
import { measureLists } from './sections/lists.ts';
import { measureLogins } from './sections/logins.ts';
import { measureMqtt } from './sections/mqtt.ts';
import { measureNodes } from './sections/nodes.ts';
import { measureNotifications } from './sections/notifications.ts';
import { measureOverload } from './sections/overload.ts';
import { measureRest } from './sections/rest.ts';
import { measureSeries } from './sections/series.ts';
import { measureSoak } from './sections/soak.ts';
import { measureStart } from './sections/start.ts';
import { ServerProcess } from './server-process.ts';

type Measure = (options: BenchOptions, dataDir: string, sensors: number) => Promise<Section>;

const measures: Readonly<Record<SectionName, Measure>> = {
  rest: measureRest,
  mqtt: measureMqtt,
  fanout: measureFanOut,
  logins: measureLogins,
  bulk: measureBulk,
  lists: measureLists,
  notifications: measureNotifications,
  start: measureStart,
  codec: measureCodec,
  disk: measureDisk,
  overload: measureOverload,
  soak: measureSoak,
  series: measureSeries,
  dashboard: measureDashboard,
  nodes: measureNodes,
  engines: measureEngines,
};

/** Those that are measured for each number of sensors. */
const manySensors: readonly SectionName[] = ['rest', 'mqtt', 'bulk'];

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
/** The data of the section that runs. */
let dataDir: string | undefined;
process.once('exit', tidyUp);

try {
  await bench(parseArguments(process.argv.slice(2)));
} catch (error) {
  console.error(`bench: ${(error as Error).message} (--help explains the options)`);
  process.exitCode = 2;
}

async function bench(options: BenchOptions): Promise<void> {
  leaveServerCore();
  const machine = describeMachine(options.folder);
  const sections: Section[] = [];
  for (const name of options.sections) {
    const numbers = manySensors.includes(name) ? options.sensors : [0];
    for (const sensors of numbers) sections.push(await measure(name, { options, sensors }));
  }
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ').replace(/ --$/, '');
  const report = renderReport(sections, machine, command);
  console.log(report);
  if (options.write !== undefined) writeFileSync(options.write, `${report}\n`);
  if (sections.some((section) => section.faults.length > 0)) process.exitCode = 1;
}

async function measure(
  name: SectionName,
  { options, sensors }: { readonly options: BenchOptions; readonly sensors: number },
): Promise<Section> {
  dataDir = mkdtempSync(join(options.folder, 'dundun-bench-'));
  try {
    return await measures[name](options, dataDir, sensors);
  } finally {
    tidyUp();
  }
}

function tidyUp(): void {
  ServerProcess.killAll();
  if (dataDir !== undefined) rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
}
