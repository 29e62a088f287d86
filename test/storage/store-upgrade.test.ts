// Data folders of earlier versions: all of their data is there after the upgrade.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { Caller } from '../../src/domain/callers/caller.ts';
import { datapointsOf } from '../../src/domain/datapoints/columns.ts';
import { databaseFile, openConnection } from '../../src/engines/embedded/database/connection.ts';
import { NodeSqliteDialect } from '../../src/engines/embedded/database/dialect.ts';
import { migrations } from '../../src/engines/embedded/database/migrations/migrations.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dundun-upgrade-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('codes of rules become numbers, and what was no code of a provider goes', async () => {
  const codes = [['201', 'ECONNRESET'], [null, '550'], ['', '9'.repeat(10)]] as const; // biome-ignore format: one line
  await makeEarlierFolder('0027', (database) => {
    database.exec("INSERT INTO user (key, id, username, folded, profile, admin, created_time) VALUES (1, 'u', 'u', 'u', '{}', 0, 0)"); // biome-ignore format: one line
    const insert = database.prepare(`INSERT INTO notification
      (id, author, condition, action, status, throttling, last_success_code, last_failure_code)
      VALUES (?, 1, '{}', '{}', 'active', 0, ?, ?)`);
    for (const [n, [success, failure]] of codes.entries()) insert.run(`n${n}`, success, failure);
  });
  const opened = await openEmbeddedEngine(folder);
  const rules = await Promise.all(codes.map((_, n) => opened.stores.notifications.find(`n${n}`)));
  assert.deepEqual(
    rules.map((rule) => [rule?.lastSuccessCode, rule?.lastFailureCode]),
    [
      [201, undefined],
      [undefined, 550],
      [undefined, undefined],
    ],
  );
  assert.equal((await opened.stores.users.findById('u'))?.smsCredit, undefined);
  await opened.close();
});

test('datapoints of a log of single rows are read in their order, and seqs go on', async () => {
  await makeEarlierFolder('0003', (database) => {
    const insert = database.prepare(
      'INSERT INTO log (seq, sensor, at, stamped, received, value) VALUES (?, ?, ?, ?, ?, ?)',
    );
    insert.run(1, 1, 200, 1, 1000, '"text"');
    insert.run(2, 1, 100, 1, 1000, 1.5);
    insert.run(3, 1, 2000, 0, 2000, new Uint8Array(0));
    insert.run(4, 2, 2000, 0, 2000, 4);
  });
  const opened = await openEmbeddedEngine(folder);
  const read = async (sensor: number) =>
    datapointsOf(
      (await opened.series.range({ sensor, descending: false, limit: 100 }, { caller: new Caller('reader') })).columns,
    );
  assert.deepEqual(
    (await read(1)).map(({ timestampMs, receivedMs, value }) => [timestampMs, receivedMs, value]),
    [
      [100, 1000, 1.5],
      [200, 1000, '"text"'],
      [undefined, 2000, -0],
    ],
  );
  assert.deepEqual(
    (await read(2)).map(({ value }) => value),
    [4],
  );
  const latest = await opened.series.latest([1, 2]);
  assert.deepEqual([latest.get(1)?.seq, latest.get(2)?.seq], [3, 4]);
  const rows = Float64Array.from([2, Number.NaN, 3000, 5]);
  const seq = await opened.commitLog.append({
    rows,
    texts: [],
    rulesSkipped: [],
    receipts: [],
    publishes: new Uint32Array(),
  });
  assert.equal(seq, 5);
  await opened.close();
});

test('a receipt whose answer stood behind the hash of the body has it in its place', async () => {
  await makeEarlierFolder('0010', (database) => {
    const insert = database.prepare('INSERT INTO receipt (id, caller, body_hash, at) VALUES (?, ?, ?, ?)');
    insert.run('bulk', 'awa', 'abc/+= [1,["There is no device x y.",2]]', 1000);
    insert.run('push', 'awa', 'def=', 1000);
  });
  const opened = await openEmbeddedEngine(folder);
  const find = async (id: string) => ({ ...(await opened.commitLog.claimReceipt(id, { sinceMs: 0 })) });
  const rest = { caller: 'awa', atMs: 1000 };
  const answer = '[1,["There is no device x y.",2]]';
  assert.deepEqual(await find('bulk'), { ...rest, id: 'bulk', bodyHash: 'abc/+=', answer });
  assert.deepEqual(await find('push'), { ...rest, id: 'push', bodyHash: 'def=', answer: '' });
  await opened.close();
});

test('a refresh session keeps its row when its table gets its present name', async () => {
  const session = { id: 'id', family: 'family', hash: 'hash', user: 1, password_version: 1 };
  const times = { date_created: 1000, last_used: 2000, expires: 3000, ends: 4000 };
  await makeEarlierFolder('0023', (database) => {
    database.exec(
      "INSERT INTO user (id, username, profile, admin, created_time) VALUES ('awa-id', 'awa', '{}', 0, 1000)",
    );
    const fields = Object.entries({ ...session, ...times });
    const columns = fields.map(([name]) => name).join(', ');
    const values = fields.map(([, value]) => value);
    database.prepare(`INSERT INTO renewal (${columns}) VALUES (${values.map(() => '?').join(', ')})`).run(...values);
  });
  await (await openEmbeddedEngine(folder)).close();
  const database = openConnection(join(folder, databaseFile), { readOnly: true });
  const rows = database.prepare('SELECT * FROM refresh_session').all();
  const indexes = database
    .prepare(
      "SELECT name FROM sqlite_master WHERE tbl_name = 'refresh_session' AND sql LIKE 'CREATE INDEX%' ORDER BY name",
    )
    .all();
  database.close();
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ key: 1, previous: null, agent: null, address: null, ...session, ...times }],
  );
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ['refresh_session_expires', 'refresh_session_user'],
  );
});

test('what a hysteresis takes counts for its author, who keeps it where it is beyond their quota', async () => {
  const hysteresis = 'TC > 40';
  await makeEarlierFolder('0025', (database) => {
    database.exec(`
      INSERT INTO user (id, username, profile, admin, created_time) VALUES ('awa-id', 'awa', '{}', 0, 1000);
      INSERT INTO notification (id, author, condition, action, status, throttling, hysteresis)
        VALUES ('rule', 1, '{}', '{}', 'active', 0, '${hysteresis}');
      INSERT INTO quota_default (class, kind, max) VALUES ('user', 'description_bytes', 1);
      INSERT INTO quiet_run (first_seq, last_seq) VALUES (1, 2);
      INSERT INTO kept_log (first_seq, datapoints, rows) VALUES (1, 2, zeroblob(48))`);
  });
  await (await openEmbeddedEngine(folder)).close();
  const database = openConnection(join(folder, databaseFile), { readOnly: false });
  const bytes = () => database.prepare('SELECT description_bytes AS bytes FROM usage').get()?.['bytes'];
  assert.equal(bytes(), 'rule{}{}'.length + hysteresis.length);
  database.exec("UPDATE notification SET hysteresis = 'TC'");
  assert.equal(bytes(), 'rule{}{}TC'.length);
  assert.throws(() => database.exec("UPDATE notification SET hysteresis = 'TC > 9'"), /quota description_bytes 10 1/);
  for (const table of ['rules_skipped', 'replay_backlog'])
    assert.equal(database.prepare(`SELECT first_seq FROM ${table}`).get()?.['first_seq'], 1);
  database.close();
});

/** With what `fill` puts into the tables as they were before the migration of that number. */
async function makeEarlierFolder(before: string, fill: (database: DatabaseSync) => void): Promise<void> {
  const database = openConnection(join(folder, databaseFile), { readOnly: false });
  const db = new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) });
  const earlier = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < before));
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => earlier } }).migrateToLatest();
  assert.equal(error, undefined);
  fill(database);
  database.close();
}
