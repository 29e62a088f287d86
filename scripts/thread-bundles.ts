// Makes one file of each thread of the engines with all that it imports, for files that share a process (test-rounds.ts): some three
// hundred servers start in them, and each starts threads, for which Node.js would otherwise look up and strip a hundred files. Threads
// load these files by light-test-context.ts. Files in processes of their own run the sources.
import { resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'vite';

type RollupOptions = NonNullable<BuildOptions['rollupOptions']>;

/** Threads of each engine, by the name of their file. */
export const threads = {
  embedded: ['writer-thread', 'sealer-thread', 'reader-thread', 'search-thread'],
  postgres: ['reader-thread', 'store-thread'],
} as const;

export type Engine = keyof typeof threads;

/** The source of a thread. */
export function threadSource(engine: Engine, name: string): string {
  return resolve('src/engines', engine, 'threads', `${name}.ts`);
}

/** Writes `embedded-writer-thread.mjs` and so on into the folder. */
export async function bundleThreads(folder: string, engine: Engine): Promise<void> {
  for (const name of threads[engine]) {
    const output = { entryFileNames: `${engine}-[name].mjs` };
    await bundle(folder, { input: threadSource(engine, name), output, external: ['pg'] });
  }
}

/** What a bundle is made of: its files, their names, what is left to packages, and what changes sources before. */
interface Bundled {
  readonly input: string | Record<string, string>;
  readonly output: NonNullable<RollupOptions['output']> & { readonly entryFileNames: string };
  /** Packages that are loaded by who needs them, and ask for parts that are not there. */
  readonly external: string[];
  readonly plugins?: Plugin[];
}

/** Writes files with all that they import into the folder, which keeps what it has. */
export async function bundle(folder: string, { input, output, external, plugins = [] }: Bundled): Promise<void> {
  const { NODE_ENV: before } = process.env;
  await build({
    configFile: false,
    logLevel: 'error',
    plugins,
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      target: 'esnext',
      // What only may throw is no waste: neither to the bundler nor to what shortens its output.
      rollupOptions: { treeshake: false, input, output: { minify: false, ...output } },
    },
    ssr: { noExternal: true, external },
  });
  // Vite sets it, and the tests would inherit it: npm leaves out what only develops then.
  if (before === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = before;
}
