// Builds the dashboard into dashboard/dist and prints what a browser loads before it shows anything; fails beyond the
// bound. Called by scripts/prepare.js after `npm ci`, by tests that find no build, and by hand.
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/** Compressed script of the first load, bytes. */
const firstLoadBytesMax = 250_000;

const folder = fileURLToPath(new URL('../dashboard/', import.meta.url));
process.env['NODE_ENV'] = 'production';
await build({ configFile: `${folder}vite.config.ts`, logLevel: 'warn' });

const page = readFileSync(`${folder}dist/index.html`, 'utf8');
const scripts = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, path]) => path ?? '');
const bytes = scripts.reduce((sum, path) => sum + statSync(`${folder}dist${path}.gz`).size, 0);
console.log(`dashboard: ${scripts.length} scripts at first load, ${Math.round(bytes / 1000)} kB with gzip`);
if (bytes > firstLoadBytesMax) {
  console.error(`dashboard: the first load has more than ${firstLoadBytesMax / 1000} kB of script`);
  process.exitCode = 1;
}
