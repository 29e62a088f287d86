// A search that takes too long is ended. Apart from the other tests of the search thread, because this takes that long.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Refusal } from '../../../base/refusal.ts';
import { Head } from '../../shared/head/head.ts';
import { HeadLastSeen } from '../../shared/head/head-last-seen.ts';
import { openConnection } from '../database/connection.ts';
import { migrate } from '../database/migrate.ts';
import { SearchThread } from './search-thread-client.ts';

test('a search that takes too long is ended, and the next one is answered', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-search-'));
  const path = join(folder, 'search.sqlite');
  const database = openConnection(path, { readOnly: false });
  await migrate(database);
  database.close();
  const search = new SearchThread({ path, lastSeen: new HeadLastSeen(new Head()) });
  t.after(async () => {
    await search.close();
    rmSync(folder, { recursive: true });
  });
  const run = (sql: string) => search.run({ sql, parameters: [] }, { caller: 'a' });
  const numbers = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000000)';
  const endless = `${numbers} SELECT count(*) FROM n WHERE (x & 63) <> 0 OR within_time() = 1`;
  const isBusy = (error: unknown) => error instanceof Refusal && error.code === 'busy' && error.retryAfterS === 1;
  await assert.rejects(run(endless), isBusy);
  assert.equal((await run('SELECT 1')).length, 1);
});
