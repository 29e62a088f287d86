// Makes one file of each thread of the embedded engine with all that it imports, for `npm test -- fast`: some three hundred
// servers start in it, and each starts threads, for which Node.js would otherwise look up and strip a hundred files. Threads
// load these files by light-test-context.ts. Used by test.ts; `npm test` runs the sources.
import { resolve } from 'node:path';
import { build } from 'vite';

const threads = ['writer-thread', 'sealer-thread', 'reader-thread', 'search-thread'];

/** Writes `writer-thread.mjs` and so on into the folder. */
export async function bundleThreads(folder: string): Promise<void> {
  for (const thread of threads) {
    await build({
      configFile: false,
      logLevel: 'error',
      build: {
        ssr: resolve('src/engines/embedded/threads', `${thread}.ts`),
        outDir: folder,
        emptyOutDir: false,
        minify: false,
        target: 'esnext',
        rollupOptions: { output: { entryFileNames: '[name].mjs' } },
      },
      ssr: { noExternal: true },
    });
  }
}
