// The search thread: callers take turns. How long a search may take is in search-time.test.ts.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import { Head } from '../../shared/head/head.ts';
import { HeadLastSeen } from '../../shared/head/head-last-seen.ts';
import { openConnection } from '../database/connection.ts';
import { migrate } from '../database/migrate.ts';
import { SearchThread } from './search-thread-client.ts';

suite('searches', () => {
  let folder: string;
  let search: SearchThread;
  const run = (sql: string, caller: string) => search.run({ sql, parameters: [] }, { caller });
  const numbers = (count: number) => `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT ${count})`;
  const some = `${numbers(20_000)} SELECT count(*) AS count FROM n`;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dundun-search-'));
    const path = join(folder, 'search.sqlite');
    const database = openConnection(path, { readOnly: false });
    await migrate(database);
    database.close();
    search = new SearchThread({ path, lastSeen: new HeadLastSeen(new Head()) });
  });
  after(async () => {
    await search.close();
    rmSync(folder, { recursive: true });
  });

  test('a search that waits for a client that has gone is not made', async () => {
    let isGone = false;
    const leaving = { caller: 'leaving', isGone: () => isGone };
    const asked = Promise.allSettled(
      Array.from({ length: 40 }, () => search.run({ sql: some, parameters: [] }, leaving)),
    );
    isGone = true;
    const [row] = await run(some, 'modest');
    assert.equal((row as { readonly count: number }).count, 20_000);
    // The first had begun.
    assert.deepEqual(
      (await asked).map(({ status }) => status),
      ['fulfilled', ...Array.from({ length: 39 }, () => 'rejected')],
    );
  });

  test('a caller waits for one search of another, however many that one has asked for', async () => {
    const order: string[] = [];
    const ask = (caller: string) => run(some, caller).then(() => order.push(caller));
    await Promise.all([...Array.from({ length: 40 }, () => ask('greedy')), ask('modest'), ask('modest')]);
    // The first search is already running; the greedy caller's second one is still before the modest caller's first.
    assert.deepEqual(order.slice(0, 5), ['greedy', 'greedy', 'modest', 'greedy', 'modest']);
  });

  test('a caller who lets too many wait is refused, and others are not', async () => {
    const asked = Array.from({ length: limits.searchesPerCallerMax + 2 }, () => run('SELECT 1', 'greedy'));
    const other = run('SELECT 2 AS two', 'modest');
    const outcomes = await Promise.allSettled(asked);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 1);
    assert.deepEqual(
      (await other).map((row) => ({ ...(row as object) })),
      [{ two: 2 }],
    );
  });

  test('where many callers let as many wait as there may be, those with the most are refused, and a newcomer is not', async () => {
    const { searchesWaitingMax, searchesPerCallerMax } = limits;
    Object.assign(limits, { searchesWaitingMax: 20, searchesPerCallerMax: 10 });
    const ask = (caller: string) => Array.from({ length: 11 }, () => run(some, caller));
    const asked = Promise.allSettled(['a', 'b'].flatMap(ask));
    const modest = await Promise.all([run(some, 'modest'), run(some, 'modest')]);
    assert.equal(modest.length, 2);
    const refused = (await asked).filter(({ status }) => status === 'rejected');
    // One that was beyond its caller's own bound, and two that gave way.
    assert.equal(refused.length, 3);
    Object.assign(limits, { searchesWaitingMax, searchesPerCallerMax });
  });

  test('a fault of a query is told, and the next one is answered', async () => {
    await assert.rejects(run('SELECT * FROM absent', 'a'), /no such table/);
    assert.equal((await run('SELECT 1', 'a')).length, 1);
  });
});
