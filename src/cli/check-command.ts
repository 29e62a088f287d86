// `dundun check`: is a data folder, or a backup, whole? Exit codes: 0 clean, 1 something was found, 2 it could not look.
import { statSync } from 'node:fs';
import { Refusal } from '../base/refusal.ts';
import { readSealed } from '../engines/embedded/backup/backup-file.ts';
import { openFileForReading, openFolderForReading } from '../engines/embedded/backup/open-data.ts';
import { adviceOnDamage } from '../engines/embedded/check/check.ts';
import { forgetDamaged } from '../engines/embedded/check/forget-damaged.ts';
import { type CheckReport, isDamage, runChecks } from '../engines/embedded/check/run-checks.ts';
import { migratedInMemory } from '../engines/embedded/database/migrate.ts';
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
  const path = given ?? config.dataDir;
  try {
    if (options.forgetDamaged) {
      const { parts, datapoints } = forgetDamaged(path);
      console.error(`${path}: forgot ${parts} damaged chunks and rows, of ${datapoints} datapoints.`);
    }
    const reports = await lookInto(path);
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

async function lookInto(path: string): Promise<readonly CheckReport[]> {
  const progress = new Progress();
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  try {
    const changed = isFile ? await findChange(path, progress) : undefined;
    if (changed !== undefined) return [brokenFile(changed)];
    const database = isFile ? openFileForReading(path) : openFolderForReading(path).database;
    return await runAll(database, progress);
  } catch (error) {
    if (!isDamage((error as Error).cause)) throw error;
    return [brokenFile(reasonOf(error))];
  } finally {
    progress.end();
  }
}

/** In which way a backup is not what it was when it was made; undefined: in none. */
async function findChange(file: string, progress: Progress): Promise<string | undefined> {
  try {
    await readSealed(file, { onBytes: (done, all) => progress.show('reading the file', done, all) });
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conflict') return error.message;
    throw error;
  }
}

async function runAll(database: Parameters<typeof runChecks>[0], progress: Progress): Promise<CheckReport[]> {
  const example = await migratedInMemory();
  try {
    return runChecks(database, {
      example,
      onStart: ({ name }, { number, count }) => progress.show(`check ${number} of ${count}: ${name}`),
    });
  } finally {
    example.close();
    database.close();
  }
}

/** Of a file that cannot be opened as a database any more. */
function brokenFile(what: string): CheckReport {
  return { name: 'file', asks: 'the file can be read', findings: [{ what, advice: adviceOnDamage }], elapsedMs: 0 };
}
