// `dundun database distribute`: has Citus distribute the tables of the database. Exit codes: 0 done, or the plan was printed and can be run;
// 1 refused, or something stands in the way.
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import { distribution } from '../engines/open.ts';
import { Progress } from './progress.ts';
import { fail, readConfig } from './read-config.ts';

export async function distributeDatabase(options: { readonly shards: string; readonly dryRun?: true }): Promise<void> {
  const { config } = readConfig();
  const progress = new Progress();
  try {
    const shards = parseShards(options.shards);
    if (options.dryRun) return await printPlan(config.databaseUrl, shards);
    const tables = await distribution.distribute({
      ...{ databaseUrl: config.databaseUrl, shards },
      onStep: (step, done, all) => progress.show(step, done, all),
    });
    progress.end();
    console.log(
      tables.length === 0
        ? 'All tables were distributed before.'
        : `Distributed ${tables.join(', ')}. The servers go on by themselves.`,
    );
  } catch (error) {
    progress.end();
    fail(error);
  }
}

async function printPlan(databaseUrl: string | undefined, shards: number): Promise<void> {
  const { statements, hindrances } = await distribution.plan({ databaseUrl, shards });
  for (const sql of statements) console.log(`${sql};`);
  if (statements.length === 0) console.log('-- All tables were distributed before.');
  for (const hindrance of hindrances) console.error(`dundun: ${hindrance}`);
  if (hindrances.length > 0) process.exitCode = 1;
}

/** @throws Refusal `malformed` */
function parseShards(text: string): number {
  const shards = Number(text);
  if (/^\d+$/.test(text) && shards >= 1 && shards <= limits.citusShardsMax) return shards;
  throw new Refusal('malformed', `The number of shards is one from 1 to ${limits.citusShardsMax}, not ${text}.`);
}
