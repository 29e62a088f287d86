// `npm test`: finds what the tests may use beside Node.js, says what is missing and what is left out for it, builds the
// dashboard where it is to be looked at and is not built, then runs them. Words after `--` choose test files by a part of
// their path; options after it (`--test-name-pattern=…`) go to `node --test`. The word `fast` stands for the files that neither
// start a process nor a browser (test-sets.ts). Without words there are several rounds (test-rounds.ts), one of them on PostgreSQL;
// what failed in any is said again at the very end, behind a second try of what may be a matter of the machine (failed-again.ts). --long adds the long tests. With CI=true or
// --all-required a missing program is a failure, so that nothing is left out silently.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants as osConstants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildWhereStale } from '../test/support/dashboard-build.ts';
import { filesAgain } from './failed-again.ts';
import { failuresIn } from './failed-tests.ts';
import { findPaho, findPgBouncer, findPostgres, findProgram, isExecutable } from './find-program.ts';
import { type Choice, planRounds, prepareRun, type Round } from './test-rounds.ts';
import { findTestFiles, isOfDashboard, slowSetOf, slowSets } from './test-sets.ts';

/** Loaded before each file: which test an error belongs to is known without a hook on every promise. */
const lightContext = `--import=${pathToFileURL(resolve('scripts/light-test-context.ts')).href}`;

type Program = { readonly name: string; readonly variable: string; readonly package: string; readonly tests: string };

const programs: readonly Program[] = [
  { name: 'chromium', variable: 'DUNDUN_TEST_CHROMIUM', package: 'chromium', tests: 'tests in a browser' },
  {
    name: 'mosquitto_pub',
    variable: 'DUNDUN_TEST_MOSQUITTO_PUB',
    package: 'mosquitto-clients',
    tests: 'publishing with a foreign MQTT client',
  },
  {
    name: 'mosquitto_sub',
    variable: 'DUNDUN_TEST_MOSQUITTO_SUB',
    package: 'mosquitto-clients',
    tests: 'subscribing with a foreign MQTT client',
  },
  {
    name: 'mosquitto_rr',
    variable: 'DUNDUN_TEST_MOSQUITTO_RR',
    package: 'mosquitto-clients',
    tests: 'requests and responses of a foreign MQTT client',
  },
  {
    name: 'python3 with paho',
    variable: 'DUNDUN_TEST_PAHO',
    package: 'python3-paho-mqtt',
    tests: 'the Paho client of MQTT',
  },
  { name: 'cc', variable: 'DUNDUN_TEST_CC', package: 'gcc libc6-dev', tests: 'power cuts and small disks' },
  {
    name: 'prlimit',
    variable: 'DUNDUN_TEST_PRLIMIT',
    package: 'util-linux',
    tests: 'attacks on a service with few descriptors',
  },
  {
    name: 'postgres',
    variable: 'DUNDUN_TEST_POSTGRES',
    package: 'postgresql',
    tests: 'the engine on PostgreSQL',
  },
  { name: 'pgbouncer', variable: 'DUNDUN_TEST_PGBOUNCER', package: 'pgbouncer', tests: 'servers behind PgBouncer' },
];

/** Of those that are not found by their name on the PATH. */
const finders: Readonly<Record<string, () => string | undefined>> = {
  DUNDUN_TEST_POSTGRES: findPostgres,
  DUNDUN_TEST_PGBOUNCER: findPgBouncer,
  DUNDUN_TEST_PAHO: findPaho,
};

const allRequired = process.env.CI === 'true' || process.argv.includes('--all-required');
const args = process.argv.slice(2).filter((arg) => arg !== '--all-required' && arg !== '--long');
if (process.argv.includes('--long')) process.env.DUNDUN_TEST_LONG = '1';
const isFast = args.includes('fast');
if (isFast) process.env.DUNDUN_TEST_FAST = '1';
// Half a second of each test is Node.js reading the source: what it makes of it is kept.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/dundun-tests');

const words = args.filter((arg) => !arg.startsWith('-') && arg !== 'fast');
const chosen = findTestFiles().filter(
  (file) => words.length === 0 || words.some((word) => file.includes(word.replace(/^\.\//, ''))),
);
const files = isFast ? chosen.filter((file) => slowSetOf(file) === undefined) : chosen;

const choice: Choice = isFast ? 'fast' : words.length > 0 || process.env.DUNDUN_TEST_LONG === '1' ? 'chosen' : 'all';

// The fast ones need none of them, unless PostgreSQL is to have the data of whole servers (test/support/data.ts).
const onPostgres = process.env.DUNDUN_TEST_ENGINE === 'postgres';
const needed = programs.filter(({ name }) => !isFast || (onPostgres && name === 'postgres'));
const missing = needed.filter((program) => !provide(program));
for (const { name, tests, package: debianPackage } of missing) {
  console.log(`${name} is not on the PATH: left out are ${tests} (Debian: apt-get install ${debianPackage}).`);
}

if (isFast) tellWhatIsLeftOut();
const isPostgresHere = !missing.some(({ name }) => name === 'postgres');
if (choice === 'all' && !isPostgresHere) console.log('Left out is also the suite at the public door, on PostgreSQL.');

if (allRequired && missing.length > 0) {
  fail('Nothing may be left out here, so this is a failure.');
} else if (onPostgres && !isPostgresHere) {
  fail('DUNDUN_TEST_ENGINE=postgres needs PostgreSQL.');
} else if (files.length === 0) {
  fail(words.length === 0 ? 'There are no test files.' : `No test file has ${words.join(' or ')} in its path.`);
} else {
  void runTests();
}

/** Puts the program's path into the environment of the tests; false where there is none. */
function provide({ name, variable }: Program): boolean {
  const path = process.env[variable] ?? findProgram(name) ?? finders[variable]?.();
  if (path === undefined || !isExecutable(path)) {
    delete process.env[variable];
    return false;
  }
  process.env[variable] = path;
  return true;
}

async function runTests(): Promise<void> {
  // Before the first file, so that no server starts while what it serves is being written.
  if (process.env.DUNDUN_TEST_CHROMIUM !== undefined && files.some(isOfDashboard)) buildWhereStale();
  // Holds the bundles, and what failed.
  const folder = mkdtempSync(join(tmpdir(), 'dundun-tests-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const data = onPostgres ? 'postgres' : choice === 'all' && isPostgresHere ? 'both' : 'folder';
  const run = await prepareRun({ choice, data, folder });
  await runRounds(planRounds(files, run), folder);
}

function tellWhatIsLeftOut(): void {
  console.log(`fast: ${files.length} of ${chosen.length} test files. Left out are`);
  for (const set of slowSets) {
    const count = chosen.filter((file) => slowSetOf(file) === set).length;
    if (count > 0) console.log(`  ${String(count).padStart(3)} files: ${set.name} (npm test -- ${set.words})`);
  }
  console.log('      and of twenty runs of each property nineteen. `npm test` runs all.');
}

/** Runs the rounds one after the other, then says what failed in any of them. */
async function runRounds(rounds: readonly Round[], folder: string): Promise<void> {
  let failed = '';
  let heldAlone = '';
  const again: { readonly round: Round; readonly files: readonly string[]; readonly told: string }[] = [];
  const run = async (round: Round, name: string) => {
    const failedPath = join(folder, `failed-${name}.txt`);
    const exitCode = await runFiles(round, failedPath);
    return { exitCode, written: existsSync(failedPath) ? readFileSync(failedPath, 'utf8') : '' };
  };
  for (const [at, round] of rounds.entries()) {
    if (round.name !== undefined) console.log(`\n== ${round.name}\n`);
    const { exitCode, written } = await run(round, String(at));
    const told = failuresIn(written, round.where);
    const files = filesAgain(round, written, findTestFiles());
    if (files !== undefined && exitCode < 128) {
      again.push({ round, files, told });
      continue;
    }
    failed += told;
    // A later round does not hide what failed before.
    if (exitCode !== 0) process.exitCode = exitCode;
    if (exitCode > 128) {
      // Somebody has ended it: nothing more is run.
      failed += again
        .splice(0)
        .map(({ told }) => told)
        .join('');
      break;
    }
  }
  for (const [at, { round, files, told }] of again.entries()) {
    console.log(`\n== once more, because they failed beside others: ${files.join(', ')}\n`);
    const { exitCode, written } = await run({ ...round, paths: files, atOnce: 1 }, `again-${at}`);
    if (exitCode === 0) heldAlone += told;
    else {
      failed += told + failuresIn(written, 'once more');
      process.exitCode = exitCode;
    }
  }
  if (heldAlone !== '') console.log(`\nfailed beside others, and held alone; please look at it:\n${heldAlone}`);
  if (failed !== '') console.log(`\nfailed:\n${failed}`);
}

/** Runs some files, and writes to `failedPath` what failed; gives the exit code, 128 and more where a signal ended them. */
function runFiles({ paths, atOnce, nodeFlags = [], env = {} }: Round, failedPath: string): Promise<number> {
  const options = args.filter((arg) => arg.startsWith('-'));
  const flags = [
    ...nodeFlags,
    lightContext,
    '--test',
    `--test-concurrency=${atOnce}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${resolve('scripts/failed-tests.ts')}`,
    `--test-reporter-destination=${failedPath}`,
  ];
  // A test that hangs is a failure too; the long ones know their own time. The time holds for a whole file, which takes
  // three minutes at most: the rest is for a machine that is slow.
  if (process.env.DUNDUN_TEST_LONG !== '1') flags.push('--test-timeout=1800000');
  const child = spawn(process.execPath, [...flags, ...options, ...paths], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const pass = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, pass);
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      for (const known of ['SIGTERM', 'SIGINT'] as const) process.off(known, pass);
      resolve(code ?? 128 + osConstants.signals[signal ?? 'SIGTERM']);
    });
  });
}

function fail(reason: string): void {
  console.error(reason);
  process.exitCode = 1;
}
