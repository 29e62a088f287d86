// `npm run bench`: load on a server of this checkout, a report on standard output, progress on standard error.
// Fails only when a count is wrong: what was acknowledged must be there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchOptions, parseArguments, type SectionName } from './arguments.ts';
import { leaveServerCore } from './cores.ts';
import { describeMachine, renderReport } from './report.ts';
import type { Section } from './section.ts';
import { measureBulk } from './sections/bulk.ts';
import { measureLists } from './sections/lists.ts';
import { measureLogins } from './sections/logins.ts';
import { measureMqtt } from './sections/mqtt.ts';
import { measureNotifications } from './sections/notifications.ts';
import { measureRest } from './sections/rest.ts';
import { measureStart } from './sections/start.ts';
import { ServerProcess } from './server-process.ts';

const measures: Readonly<Record<SectionName, (options: BenchOptions, dataDir: string) => Promise<Section>>> = {
  rest: measureRest,
  mqtt: measureMqtt,
  logins: measureLogins,
  bulk: measureBulk,
  lists: measureLists,
  notifications: measureNotifications,
  start: measureStart,
};

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
  for (const name of options.sections) sections.push(await measure(name, options));
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ').replace(/ --$/, '');
  const report = renderReport(sections, machine, command);
  console.log(report);
  if (options.write !== undefined) writeFileSync(options.write, `${report}\n`);
  if (sections.some((section) => section.faults.length > 0)) process.exitCode = 1;
}

async function measure(name: SectionName, options: BenchOptions): Promise<Section> {
  dataDir = mkdtempSync(join(options.folder, 'dundun-bench-'));
  try {
    return await measures[name](options, dataDir);
  } finally {
    tidyUp();
  }
}

function tidyUp(): void {
  ServerProcess.killAll();
  if (dataDir !== undefined) rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
}
