// Builds the dashboard into dashboard/dist and prints what script a browser loads before a guest sees the first page: what
// index.html names, and what that page, the list of devices, loads beside it. Fails beyond the bound. Called by scripts/prepare.js
// after `npm ci`, by tests that find no build, and by hand.
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** Compressed script of the first load, bytes. */
const firstLoadBytesMax = 260_000;
const firstPage = 'features/devices/devices-page.tsx';

interface Chunk {
  readonly fileName: string;
  readonly facadeModuleId?: string | null;
  readonly moduleIds?: readonly string[];
  readonly imports?: readonly string[];
}

const folder = fileURLToPath(new URL('../dashboard/', import.meta.url));
process.env['NODE_ENV'] = 'production';
const built = (await build({ configFile: `${folder}vite.config.ts`, logLevel: 'warn' })) as { output: Chunk[] };

const chunks = new Map(built.output.map((chunk) => [chunk.fileName, chunk]));
const html = readFileSync(`${folder}dist/index.html`, 'utf8');
const named = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path ?? '');
const page = built.output.find(({ moduleIds = [] }) => moduleIds.some((id) => id.endsWith(firstPage)));
if (page === undefined) throw new Error(`No file of the build has ${firstPage}.`);
const first = sizeOf(withImports(named));
const whole = sizeOf(withImports([...named, page.fileName]));
console.log(
  `dashboard: ${named.length} scripts at first load, ${inKilobytes(first)} kB with gzip; with a guest's first page ${inKilobytes(whole)} kB`,
);
if (whole > firstLoadBytesMax) {
  console.error(`dashboard: a guest's first page loads more than ${firstLoadBytesMax / 1000} kB of script`);
  process.exitCode = 1;
}

/** The files and all that they import before they run. */
function withImports(files: readonly string[]): ReadonlySet<string> {
  const found = new Set(files);
  for (const file of found) for (const other of chunks.get(file)?.imports ?? []) found.add(other);
  return found;
}

function sizeOf(files: ReadonlySet<string>): number {
  return [...files].reduce((sum, file) => sum + statSync(`${folder}dist/${file}.gz`).size, 0);
}

function inKilobytes(bytes: number): number {
  return Math.round(bytes / 1000);
}
