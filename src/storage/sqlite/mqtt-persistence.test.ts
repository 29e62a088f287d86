// The suite that aedes-persistence publishes for every implementation of its interface, against a real database.
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SqliteMqttPersistence } from './mqtt-persistence.ts';
import { openEmbeddedStore } from './open.ts';

interface Suite {
  readonly test: typeof test;
  /** Whether the methods return promises. */
  readonly testAsync: boolean;
  readonly persistence: () => Promise<SqliteMqttPersistence>;
}

const runSuite = createRequire(import.meta.url)('aedes-persistence/abstract.js') as (suite: Suite) => void;

/** Runs the test, then closes what it opened, however it ended. */
function closingTest(name: string, run: (t: TestContext) => Promise<void>): Promise<void> {
  return test(name, async (t) => {
    try {
      await run(t);
    } finally {
      for (const close of opened.splice(0)) await close();
    }
  });
}

const opened: (() => Promise<void>)[] = [];

runSuite({
  test: closingTest as typeof test,
  testAsync: true,
  persistence: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dundun-'));
    const store = await openEmbeddedStore(folder);
    opened.push(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });
    return new SqliteMqttPersistence({ writer: store.writer, reader: store.reader, matchesForm: () => true });
  },
});
