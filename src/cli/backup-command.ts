// `dundun backup FILE` and `dundun restore FILE`. Exit codes: 0 done, 1 refused or something was found.
import { systemClock } from '../base/time/clock.ts';
import type { CheckReport } from '../domain/ports/maintenance.ts';
import { dataLocationOf, maintenance } from '../engines/open.ts';
import { countFindings, printFindings } from './findings.ts';
import { Progress } from './progress.ts';
import { fail, readConfig } from './read-config.ts';

export async function backUp(file: string, options: { readonly force?: true; readonly damaged?: true }): Promise<void> {
  const data = dataLocationOf(readConfig().config);
  const progress = new Progress();
  try {
    const { seal, reports } = await maintenance.backUp({
      data,
      file,
      isForced: options.force === true,
      keepsDamaged: options.damaged === true,
      nowMs: systemClock.now(),
      onStep: (step, done, all) => progress.show(step, done, all),
    });
    progress.end();
    printFindings(reports, console.error);
    if (seal === undefined) throw new Error(`The data in ${data} is damaged; no backup was made. --damaged makes one.`);
    console.log(
      `Backed up ${data} to ${file}: ${megabytes(seal.bytes)}, ${verdict(reports)}. It holds secrets: passwords' hashes and keys.`,
    );
  } catch (error) {
    progress.end();
    fail(error);
  }
}

export async function restore(
  file: string,
  options: { readonly replace?: true; readonly damaged?: true },
): Promise<void> {
  const data = dataLocationOf(readConfig().config);
  const progress = new Progress();
  try {
    const { seal, reports, isRestored } = await maintenance.restore({
      data,
      file,
      isReplacing: options.replace === true,
      takesDamaged: options.damaged === true,
      onStep: (step, done, all) => progress.show(step, done, all),
    });
    progress.end();
    printFindings(reports, console.error);
    if (!isRestored)
      throw new Error(`The data in ${file} is damaged; nothing was restored. --damaged restores it as it is.`);
    const made = new Date(seal.madeMs).toISOString();
    console.log(
      `Restored ${data} to the state of ${made}: ${megabytes(seal.bytes)}, ${verdict(reports)}. \`dundun serve\` goes on from there.`,
    );
  } catch (error) {
    progress.end();
    fail(error);
  }
}

function verdict(reports: readonly CheckReport[]): string {
  const count = countFindings(reports);
  return `${reports.length} checks, ${count === 0 ? 'all is well' : `${count} findings`}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
