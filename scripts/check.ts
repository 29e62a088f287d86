// `npm run check`: types, lint and format, floors, patterns, dead code. Runs all of them, shows what each that failed has to
// say, and fails if any did.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';

type Check = {
  readonly name: string;
  readonly command: readonly string[];
  readonly accepts?: (output: string) => string;
};
type Outcome = { readonly check: Check; readonly fault: string; readonly output: string; readonly elapsedMs: number };

const folders = ['src', 'test', 'bench', 'scripts', 'dashboard/src'].filter((folder) => existsSync(folder));

const checks: readonly Check[] = [
  { name: 'types', command: ['tsc', '--project', '.'] },
  { name: 'types of the dashboard', command: ['tsc', '--project', 'dashboard'] },
  { name: 'types of the API', command: ['node', 'scripts/update-api-types.ts', '--check'] },
  { name: 'lint and format', command: ['biome', 'check', '--error-on-warnings', '--diagnostic-level=warn'] },
  { name: 'floors', command: ['depcruise', '--output-type', 'err-long', ...folders], accepts: sawModules },
  { name: 'patterns', command: ['node', 'scripts/check-patterns.ts'] },
  { name: 'dead code', command: ['knip', '--no-progress'] },
];

const outcomes = await Promise.all(checks.map(run));
for (const { check, fault, output, elapsedMs } of outcomes) {
  if (fault !== '') console.log(`\n${output.trim()}\n`);
  console.log(
    `${fault === '' ? 'ok    ' : 'FAILED'} ${check.name} (${elapsedMs} ms)${fault === '' ? '' : `: ${fault}`}`,
  );
}
const failed = outcomes.filter((outcome) => outcome.fault !== '').map((outcome) => outcome.check.name);
if (failed.length > 0) {
  console.log(`\nFailed: ${failed.join(', ')}. \`npm run format\` repairs format and the order of imports.`);
  process.exitCode = 1;
}

async function run(check: Check): Promise<Outcome> {
  const [program = '', ...args] = check.command;
  const startMs = performance.now();
  const child = spawn(`node_modules/.bin/${program}`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(`cannot run ${program}: ${error.message}. Is \`npm ci\` done?`));
    child.on('close', (code) => resolve(code === 0 ? '' : `${program} ended with ${code}`));
  });
  const [out, err, ended] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  const output = `${out}\n${err}`;
  const fault = ended === '' ? (check.accepts?.(output) ?? '') : ended;
  return { check, fault, output, elapsedMs: Math.round(performance.now() - startMs) };
}

// With a TypeScript it does not support, dependency-cruiser sees no imports at all and passes everything.
function sawModules(output: string): string {
  const counts = /\((\d+) modules, (\d+) dependencies cruised\)/.exec(output);
  return Number(counts?.[1] ?? 0) > 0 && Number(counts?.[2] ?? 0) > 0 ? '' : 'no modules seen, so nothing was checked';
}
