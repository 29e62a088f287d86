// The suites of datapoint stores on every engine there is.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/engines/embedded/open.ts';
import { datapointStoreSuite, type OpenedStore } from './datapoint-store-suite.ts';
import { rememberedSuite } from './remembered-suite.ts';

datapointStoreSuite('SQLite', openSqlite);
rememberedSuite('SQLite', openSqlite);

async function openSqlite(): Promise<OpenedStore> {
  const folder = await mkdtemp(join(tmpdir(), 'dundun-store-'));
  let embedded = await openEmbeddedStore(folder);
  return {
    get store() {
      return embedded.datapoints;
    },
    seal: () => embedded.writer.seal(),
    reopen: async () => {
      await embedded.close();
      embedded = await openEmbeddedStore(folder);
    },
    close: async () => {
      await embedded.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
