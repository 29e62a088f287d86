// Loaded before each test file (`--import`, test.ts). node:test knows which test an asynchronous callback belongs to by a
// hook on every promise, timer and handle, and on their collection as garbage: half of the processor time of tests of a
// whole server. Here it is told the same by an AsyncLocalStorage, which costs next to nothing: tests still nest in the suite that
// was being defined, and an error that nobody caught still fails its test (test/process/project/test-context.test.ts). Where a
// later Node.js has no such hook, nothing of this is used.
import asyncHooks, { AsyncLocalStorage, AsyncResource, type HookCallbacks } from 'node:async_hooks';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Tests run on the main thread; other threads inherit the flag, and have no tests to tell apart.
if (isMainThread) replaceHook();
else if (process.env['DUNDUN_TEST_THREADS'] !== undefined) loadBundles(process.env['DUNDUN_TEST_THREADS']);

/** Has threads of the engines load what thread-bundles.ts has made of them. */
function loadBundles(folder: string): void {
  registerHooks({
    load(url, context, nextLoad) {
      const [, engine, thread] = /\/src\/engines\/(\w+)\/threads\/(\w+-thread)\.ts$/.exec(url) ?? [];
      const path = `${folder}/${engine}-${thread}.mjs`;
      if (thread === undefined || !existsSync(path)) return nextLoad(url, context);
      return { format: 'module', source: readFileSync(path), shortCircuit: true };
    },
  });
}

function replaceHook(): void {
  const { createHook, executionAsyncId } = asyncHooks;
  const current = new AsyncLocalStorage<number>();
  let noteResource: HookCallbacks['init'];
  asyncHooks.createHook = (callbacks) => {
    // node:test keeps a resource where it is one of its tests, and what is triggered by one that it has kept.
    noteResource = callbacks.init;
    return createHook({ trackPromises: false });
  };
  asyncHooks.executionAsyncId = () => current.getStore() ?? executionAsyncId();
  // It reads both when it is loaded; others get those of Node.js.
  createRequire(import.meta.url)('node:test');
  Object.assign(asyncHooks, { createHook, executionAsyncId });

  const { runInAsyncScope } = AsyncResource.prototype;
  AsyncResource.prototype.runInAsyncScope = function <This, Result>(
    this: AsyncResource,
    fn: (this: This, ...args: unknown[]) => Result,
    thisArg?: This,
    ...args: unknown[]
  ): Result {
    if (noteResource === undefined || !isTest(this))
      return Reflect.apply(runInAsyncScope, this, [fn, thisArg, ...args]);
    const asyncId = this.asyncId();
    noteResource(asyncId, 'Test', this.triggerAsyncId(), this);
    const run = (...given: unknown[]) => current.run(asyncId, () => fn.apply(thisArg as This, given));
    return Reflect.apply(runInAsyncScope, this, [run, undefined, ...args]);
  };
}

/** Whether node:test made it: a test, a suite, or a hook of one. */
function isTest(resource: AsyncResource): boolean {
  return 'createSubtest' in resource;
}
