// Puts test files together that can share a process, one after the other, so that the service is loaded once for many of
// them. Used by test-rounds.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Processes that run at a time; three keep two cores busy while one waits for the disk. */
export const bundlesAtOnce = 3;
/** As many files of one kind are worth a process of their own: to load the service and to warm up takes three seconds of a core. */
const bundleFiles = 20;
/** More make a process large. */
const bundleFilesMax = 70;

/** Loaded before files that start servers. */
const manyServers = pathToFileURL(resolve('test/support/many-servers.ts')).href;

interface Bundle {
  readonly files: string[];
  weight: number;
}

/** Writes the bundles into the folder, of so many `files` at least, so that the longest run first. @returns their paths. */
export function inBundles(
  files: readonly string[],
  folder: string,
  { files: least } = { files: bundleFiles },
): string[] {
  const alone = files.filter((file) => !canShare(file));
  const shared = files.filter(canShare);
  const bundles = [
    ...alone.map((file) => ({ files: [file], weight: weightOf(file) })),
    // Apart, because what has no server is quicker without the service.
    ...fill(shared.filter(hasServer), least),
    ...fill(
      shared.filter((file) => !hasServer(file)),
      least,
    ),
  ].sort((one, other) => other.weight - one.weight);
  return bundles.map(({ files: some }, at) => {
    // Node.js runs files in the order of their names.
    const path = join(folder, `bundle-${String(at).padStart(3, '0')}.test.mjs`);
    writeFileSync(path, textOf(some));
    return path;
  });
}

/** Whether the file is about a whole server, which it starts itself or by what it imports of test/support. */
function hasServer(file: string): boolean {
  const text = readFileSync(file, 'utf8');
  if (text.includes("/test-server.ts'")) return true;
  const support = [...text.matchAll(/from '(\.[^']*\/support\/[^']+\.ts)'/g)];
  return support.some(([, path = '']) => readFileSync(join(file, '..', path), 'utf8').includes("/test-server.ts'"));
}

/**
 * Whether the file changes and measures nothing that it shares with others in its process. What it changes within hooks and
 * tests, as `setLimits` does, it sets back before the next file.
 */
function canShare(file: string): boolean {
  const own = /^Object\.assign\(limits|\bmock\b|process\.(env|memoryUsage|on)\b|from 'node:(v8|vm|perf_hooks)'/m;
  return !own.test(readFileSync(file, 'utf8'));
}

/** Bundles of about the same weight: each file goes to the lightest, the heaviest file first. */
function fill(files: readonly string[], least: number): readonly Bundle[] {
  // All begin at once and end at about the same time, where there are more files than make it worth while.
  const atOnce = bundlesAtOnce * Math.ceil(files.length / (bundlesAtOnce * bundleFilesMax));
  const count = Math.min(Math.ceil(files.length / least), Math.ceil((atOnce * bundleFiles) / least));
  const bundles = Array.from({ length: count }, (): Bundle => ({ files: [], weight: 0 }));
  const weighed = files.map((file) => ({ file, weight: weightOf(file) }));
  for (const { file, weight } of weighed.sort((one, other) => other.weight - one.weight)) {
    const lightest = bundles.reduce((one, other) => (other.weight < one.weight ? other : one));
    lightest.files.push(file);
    lightest.weight += weight;
  }
  return bundles;
}

/** The length of the file with the suites that it imports: the best guess at how long it takes, without a list. */
function weightOf(file: string): number {
  const text = readFileSync(file, 'utf8');
  const suites = [...text.matchAll(/from '(\.[^']+\.suite\.ts)'/g)].map(([, path = '']) => join(file, '..', path));
  return suites.reduce((sum, suite) => sum + weightOf(suite), text.length);
}

/** Each file is a suite, so that its hooks are its own; node:test runs suites in turn. */
function textOf(files: readonly string[]): string {
  const suites = files.map(
    (file) => `suite(${JSON.stringify(file)}, () => import(${JSON.stringify(pathToFileURL(resolve(file)).href)}));`,
  );
  const imports = files.some(hasServer) ? [`import ${JSON.stringify(manyServers)};`] : [];
  return ["import { suite } from 'node:test';", ...imports, ...suites, ''].join('\n');
}
