// Makes a few files of the service with all that it imports, for tests that start it as a process (test-rounds.ts): half of what a start
// takes is to find, read and link some thousand files. It lies within the project, so that packages that are left out are found. The limits stay
// the file that they are, so that tests can set others (test/support/tight-limits.ts). Tests that start the service by bin/dundun.js or by
// themselves run the sources.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';
import { bundle, type Engine, threadSource, threads } from './thread-bundles.ts';

/** A file of a thread is looked for beside the bundle, all else where the source lies. */
const placed: Plugin = {
  name: 'placed',
  enforce: 'pre',
  transform(code, id) {
    if (!id.startsWith(resolve('src')) || !code.includes('import.meta.url')) return undefined;
    const engine = relative(resolve('src/engines'), id).split('/')[0];
    return code
      .replaceAll(
        /new URL\('\.\/(?:threads\/)?(\w+-thread)\.ts', import\.meta\.url\)/g,
        `new URL('./${engine}-$1.mjs', import.meta.URL)`,
      )
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      .replaceAll('import.meta.URL', 'import.meta.url');
  },
};

const limitsPath = resolve('src/config/limits.ts');

/** The limits are left out of the bundle: whoever sets others imports the same file. */
const limitsApart: Plugin = {
  name: 'limits-apart',
  enforce: 'pre',
  resolveId(id, importer) {
    if (importer === undefined || !id.startsWith('.') || resolve(dirname(importer), id) !== limitsPath)
      return undefined;
    return { id: pathToFileURL(limitsPath).href, external: true };
  },
};

/** @returns the path of the service, which stands for src/main.ts until this process ends. */
export async function bundleService(): Promise<string> {
  const cache = resolve('node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'dundun-test-service-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Tests start it as nobody, too.
  chmodSync(folder, 0o755);
  const files = Object.entries(threads).flatMap(([engine, names]) =>
    names.map((name) => [`${engine}-${name}`, threadSource(engine as Engine, name)]),
  );
  await bundle(folder, {
    input: { main: resolve('src/main.ts'), ...Object.fromEntries(files) },
    output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
    external: ['pg', 'yaml', 'twilio', 'twitter-api-v2', 'nodemailer'],
    plugins: [limitsApart, placed],
  });
  return join(folder, 'main.mjs');
}
