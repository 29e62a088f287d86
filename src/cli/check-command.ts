// `dundun check`: verifies a data folder or a backup. Exit codes: 0 clean, 1 findings, 2 could not check.
import type { CheckReport } from '../domain/ports/maintenance.ts';
import { dataLocationOf, maintenance } from '../engines/open.ts';
import { countFindings, findingsAsJson, printFindings } from './findings.ts';
import { Progress } from './progress.ts';
import { readConfig, reasonOf } from './read-config.ts';

interface Options {
  readonly json?: true;
  readonly forgetDamaged?: true;
}

export async function check(given: string | undefined, options: Options): Promise<void> {
  const { json } = options;
  const { config } = readConfig();
  const data = given ?? dataLocationOf(config);
  // The address of a database holds a password.
  const path = given ?? (config.databaseUrl === undefined ? config.dataDir : 'the database');
  try {
    if (options.forgetDamaged) {
      const { parts, datapoints, losses } = await maintenance.forgetDamaged(data);
      const lost = losses === 0 ? '' : `, and ${losses} losses by a damaged write-ahead log`;
      console.error(`${path}: forgot ${parts} damaged chunks and rows, of ${datapoints} datapoints${lost}.`);
    }
    const reports = await lookInto(data);
    const count = countFindings(reports);
    if (json) console.log(JSON.stringify({ place: path, clean: count === 0, checks: findingsAsJson(reports) }));
    else {
      printFindings(reports, console.log);
      console.log(`${path}: ${reports.length} checks, ${count === 0 ? 'all is well' : `${count} findings`}.`);
    }
    process.exitCode = count === 0 ? 0 : 1;
  } catch (error) {
    if (json) console.log(JSON.stringify({ place: path, error: reasonOf(error) }));
    console.error(`dundun: could not check ${path}. ${reasonOf(error)}`);
    process.exitCode = 2;
  }
}

async function lookInto(data: string): Promise<readonly CheckReport[]> {
  const progress = new Progress();
  try {
    return await maintenance.check(data, (step, done, all) => progress.show(step, done, all));
  } finally {
    progress.end();
  }
}
