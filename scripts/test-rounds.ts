// What `npm test` runs one after the other, and how: which files share processes, which data are on PostgreSQL, and how many
// processes run at a time. Used by test.ts.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundlesAtOnce, inBundles } from './test-bundles.ts';
import { isOfDashboard, isTriedOnPostgres, mayShare } from './test-sets.ts';

/**
 * `fast`: what neither starts a process nor a browser. `all`: each file that there is. `chosen`: what was named by words, or is run for
 * long, each file in a process of its own.
 */
export type Choice = 'fast' | 'all' | 'chosen';

export interface Round {
  /** Said when it begins; the first round of a `fast` run and of chosen files need no name. */
  readonly name?: string;
  /** Test files, or bundles of them. */
  readonly paths: readonly string[];
  /** Processes at a time; where time is measured there are two. */
  readonly atOnce: number;
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Said beside each of its tests that failed. */
  readonly where?: string;
  /** Time is real in it, and others take the processor: what failed is asked once more, by itself (failed-again.ts). */
  readonly isAskedAgain?: true;
}

interface Run {
  readonly choice: Choice;
  /** Where whole servers have their data: in a folder, or (`both`) also in a database in a round of its own. */
  readonly data: 'folder' | 'postgres' | 'both';
  /** For bundles. */
  readonly folder: string;
  /** What stands for src/main.ts where tests start the service as a process (service-bundle.ts). */
  readonly service?: string | undefined;
  /** The folder of which each server of PostgreSQL is a copy. */
  readonly postgres?: string;
}

/**
 * Of V8, for many servers in one process: each leaves much garbage, and where three processes share two cores helpers of the
 * collector only take them from the others. With room from the start there is less to collect: a tenth of the time of a core each.
 */
const collectLess = [
  '--single-threaded-gc',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--initial-heap-size=768',
];

/** The rounds of the files, without those that have none. */
export function planRounds(files: readonly string[], run: Run): readonly Round[] {
  const measuring: Round = { name: 'what measures how long others wait', paths: files.filter(isMeasuring), atOnce: 2 };
  const others = files.filter((file) => !isMeasuring(file));
  const rounds =
    run.choice === 'chosen'
      ? [{ paths: others, atOnce: 2 }, measuring]
      : run.choice === 'fast'
        ? [shared(others, run)]
        : [...all(others, run), measuring];
  return rounds.filter(({ paths }) => paths.length > 0);
}

/** Most of what a short file takes is to load the service, and to start threads: as many as can share a process do. */
function all(files: readonly string[], run: Run): readonly Round[] {
  const sharing = files.filter(mayShare);
  const pages = files.filter(isOfDashboard);
  const alone = files.filter((file) => !mayShare(file) && !isOfDashboard(file));
  const atDoor = run.data === 'both' ? files.filter(isTriedOnPostgres) : [];
  const first = shared(sharing, run);
  return [
    { ...first, name: `files that share processes: ${sharing.length} files` },
    {
      ...first,
      name: `the suite at the public door, on PostgreSQL: ${atDoor.length} files`,
      paths: inBundles(atDoor, folderIn(run.folder, 'postgres')),
      env: { ...first.env, DUNDUN_TEST_ENGINE: 'postgres' },
      where: 'on PostgreSQL',
    },
    {
      ...first,
      name: `the dashboard in a browser: ${pages.length} files`,
      paths: inBundles(pages, folderIn(run.folder, 'pages'), { files: 6 }),
      // The browser takes as much of a core as the test.
      atOnce: 2,
      isAskedAgain: true,
    },
    {
      name: `files in processes of their own: ${alone.length} files`,
      paths: alone,
      atOnce: 2,
      env: environment(run),
      isAskedAgain: true,
    },
  ];
}

/** Threads are loaded from the folder (`prepareThreads`). */
function shared(files: readonly string[], run: Run): Round {
  const paths = inBundles(files, folderIn(run.folder, 'bundles'));
  return { paths, atOnce: bundlesAtOnce, nodeFlags: collectLess, env: environment(run) };
}

/** What tests load and copy in place of making it again. */
function environment({ folder, service, postgres }: Run): Readonly<Record<string, string>> {
  return {
    DUNDUN_TEST_THREADS: folder,
    ...(service === undefined ? {} : { DUNDUN_TEST_SERVICE: service }),
    ...(postgres === undefined ? {} : { DUNDUN_TEST_POSTGRES_FOLDER: postgres }),
  };
}

/** Makes what rounds of files that share processes load their threads from, and the service for those that start it. */
export async function prepareRun(run: Run): Promise<Run> {
  if (run.choice !== 'chosen') await prepareThreads(run);
  if (run.choice !== 'all') return run;
  const { bundleService } = await import('./service-bundle.ts');
  const service = await bundleService();
  return { ...run, service, ...(run.data === 'both' ? { postgres: preparePostgres() } : {}) };
}

/** To make a server and its tables takes each file that has one five seconds of a slow core; to copy both, a tenth of one. */
function preparePostgres(): string {
  const folder = execFileSync(process.execPath, ['scripts/prepare-postgres.ts'], { encoding: 'utf8' }).trim();
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function prepareThreads({ data, folder }: Run): Promise<void> {
  // Loads much that others do not need.
  const { bundleThreads } = await import('./thread-bundles.ts');
  await bundleThreads(folder, 'embedded');
  if (data !== 'folder') await bundleThreads(folder, 'postgres');
}

/** Whether the file measures how long others wait, which other tests beside it would falsify. */
function isMeasuring(file: string): boolean {
  return file.startsWith('test/attacks/');
}

function folderIn(folder: string, name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}
