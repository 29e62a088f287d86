// Makes a few files of the service with all that it imports, for tests that start it as a process (test-rounds.ts): half of what a start
// takes is to find, read and link some thousand files. It lies within the project, so that packages that are left out are found. Tests that start
// the service with other limits, by bin/dundun.js, or by themselves run the sources.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

const threads = [
  'embedded/threads/writer-thread',
  'embedded/threads/sealer-thread',
  'embedded/threads/reader-thread',
  'embedded/threads/search-thread',
  'postgres/threads/reader-thread',
  'postgres/threads/store-thread',
];

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

/** @returns the path of the service, which stands for src/main.ts until this process ends. */
export async function bundleService(): Promise<string> {
  const cache = resolve('node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'dundun-test-service-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  // Tests start it as nobody, too.
  chmodSync(folder, 0o755);
  const { NODE_ENV: before } = process.env;
  const files = threads.map((path) => [path.replace('/threads/', '-'), resolve('src/engines', `${path}.ts`)]);
  await build({
    configFile: false,
    logLevel: 'error',
    plugins: [placed],
    build: {
      ssr: true,
      outDir: folder,
      minify: false,
      target: 'esnext',
      rollupOptions: {
        // What only may throw is no waste.
        treeshake: false,
        input: { main: resolve('src/main.ts'), ...Object.fromEntries(files) },
        output: { minify: false, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
    // These are loaded by who needs them, and ask for parts that are not there.
    ssr: { noExternal: true, external: ['pg', 'yaml', 'twilio', 'twitter-api-v2', 'nodemailer'] },
  });
  // Vite sets it, and the tests would inherit it: npm leaves out what only develops then.
  if (before === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = before;
  return join(folder, 'main.mjs');
}
