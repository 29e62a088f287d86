// Makes one file of each thread of the engines with all that it imports, for files that share a process (test-rounds.ts): some three
// hundred servers start in them, and each starts threads, for which Node.js would otherwise look up and strip a hundred files. Threads
// load these files by light-test-context.ts. Files in processes of their own run the sources.
import { resolve } from 'node:path';
import { build } from 'vite';

const threads = {
  embedded: ['writer-thread', 'sealer-thread', 'reader-thread', 'search-thread'],
  postgres: ['reader-thread', 'store-thread'],
} as const;

/** Writes `embedded-writer-thread.mjs` and so on into the folder. */
export async function bundleThreads(folder: string, engine: keyof typeof threads): Promise<void> {
  const { NODE_ENV: before } = process.env;
  for (const name of threads[engine]) {
    await build({
      configFile: false,
      logLevel: 'error',
      build: {
        ssr: resolve('src/engines', engine, 'threads', `${name}.ts`),
        outDir: folder,
        emptyOutDir: false,
        minify: false,
        target: 'esnext',
        // What only may throw is no waste.
        rollupOptions: { treeshake: false, output: { minify: false, entryFileNames: `${engine}-[name].mjs` } },
      },
      // It asks for parts that are not there, and goes on without them.
      ssr: { noExternal: true, external: ['pg'] },
    });
  }
  // Vite sets it, and the tests would inherit it: npm leaves out what only develops then.
  if (before === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = before;
}
