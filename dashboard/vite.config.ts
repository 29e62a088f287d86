// How the dashboard is built: hashed files below dist/assets, each with its brotli and gzip beside it, so that the
// server compresses nothing. `%NONCE%` is filled in by the server with each page, for what may run there.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { coastlines } from './build/coastlines.ts';
import { firstWords } from './build/first-words.ts';

const server = process.env['DUNDUN_DEV_SERVER'] ?? 'http://localhost:8080';

/** What charts and maps need, for pages that have some. */
const ofSomePages = /leaflet|uplot|shared\/(chart\/chart|map\/(map-|device-map|cluster|graticule|own-position))/;

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react(), coasts(), preloadShared(), firstWords(), compress()],
  html: { cspNonce: '%NONCE%' },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    // Names, versions and texts of the licences of all packages that are built in; served beside the page.
    license: { fileName: 'licenses.json' },
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: {
        codeSplitting: {
          // Few files: a browser fetches six at a time, and each costs it more than a little script too many.
          groups: [
            { name: 'first', tags: ['$initial'], priority: 3 },
            { name: 'shared', test: (id) => !ofSomePages.test(id), minShareCount: 4, priority: 2 },
            { name: 'map', test: /leaflet|map-view|map-marker|cluster|graticule|own-position/, priority: 1 },
            { name: 'chart', test: /uplot|shared\/chart\/chart/, priority: 1 },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/docs', '/openapi.json', '/dashboard.json', '/mqtt'].map((path) => [
        path,
        { target: server, ws: true },
      ]),
    ),
  },
});

/** Every page needs it, so a browser fetches it beside the first file, not after that has run. */
function preloadShared(): Plugin {
  return {
    name: 'dundun-preload-shared',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) =>
        Object.keys(bundle)
          .filter((file) => /^assets\/shared-[\w-]{8}\.js$/.test(file))
          .map((file) => ({
            tag: 'link',
            attrs: { rel: 'modulepreload', crossorigin: true, href: `/${file}` },
            injectTo: 'head' as const,
          })),
    },
  };
}

/** `virtual:coastlines`, which is loaded with maps that have no tiles. */
function coasts(): Plugin {
  const id = '\0virtual:coastlines';
  return {
    name: 'dundun-coastlines',
    resolveId: (source) => (source === 'virtual:coastlines' ? id : undefined),
    load: (source) => (source === id ? `export const coastlines = ${JSON.stringify(coastlines())};` : undefined),
  };
}

function compress(): Plugin {
  return {
    name: 'dundun-compress',
    apply: 'build',
    writeBundle: {
      sequential: true,
      order: 'post',
      async handler({ dir = '' }) {
        const entries = await readdir(dir, { recursive: true });
        const files = entries.filter((name) => /\.(js|css|svg)$/.test(name)).map((name) => `${dir}/${name}`);
        await Promise.all(files.map(compressFile));
      },
    },
  };
}

async function compressFile(file: string): Promise<void> {
  const bytes = await readFile(file);
  const [br, gz] = await Promise.all([promisify(brotliCompress)(bytes), promisify(gzip)(bytes, { level: 9 })]);
  await Promise.all([writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)]);
}
