// What servers of two releases may do to one database: which migrations are run beside others, which wait, and who may not join.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { type Kysely, sql } from 'kysely';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { formats } from '../database/formats.ts';
import { holdTables } from '../database/held-tables.ts';
import { migrate } from '../database/migrate.ts';
import { type MarkedMigration, type MigrationKind, migrations } from '../database/migrations/migrations.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { goByShard } from '../distribute.ts';
import { Membership } from './membership.ts';
import { Upgrade } from './upgrade.ts';

const migration = (kind: MigrationKind, statement: string): MarkedMigration => ({
  kind,
  up: async (db: Kysely<unknown>) => {
    await sql.raw(statement).execute(db);
  },
});

const adding = migration('adding', 'ALTER TABLE node ADD COLUMN next integer');
const closing = migration('closing', 'CREATE TABLE closed (one integer)');

suite('a database that servers of two releases share', { skip: withoutPostgres }, () => {
  setLimits({ databaseBusyMs: 1_000, migrationLockMs: 100, upgradeSettledMs: 300, upgradeLookMs: 20 });
  let url: string;
  let database: PostgresDatabase;
  const open: { close(): Promise<void> }[] = [];

  beforeEach(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
  });
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
    for (const name of Object.keys(migrations)) if (name > '9') delete migrations[name];
    formats.log.newest = 1;
    await database.close();
    await dropDatabase(url);
  });

  const join = async (id: string) => {
    const member = await Membership.join(database, id);
    open.push(member);
    return member;
  };
  const begin = (member: Membership) => {
    const upgrade = new Upgrade({ url, database, written: member.formats });
    upgrade.start();
    open.push(upgrade);
    return upgrade;
  };
  const names = async () =>
    (await database.query<{ name: string }>("SELECT name FROM kysely_migration WHERE name > '9' ORDER BY name")).map(
      ({ name }) => name,
    );
  const stored = async () =>
    (await database.query<{ newest: number }>("SELECT newest FROM stored_format WHERE kind = 'log'"))[0]?.newest;
  /** A server of the release that has no other migrations than the test has given so far. */
  const knows = (id: string, name: string) => database.query('UPDATE node SET knows = $2 WHERE id = $1', [id, name]);
  /** All have been there for longer than one waits, and the one that looks has looked. */
  const settled = async () => {
    const young = 'SELECT 1 FROM node WHERE started > clock_timestamp() - make_interval(secs => 0.6)';
    await until(async () => (await database.query(young)).length === 0);
  };

  test('is given what only adds beside a server, and that one starts again; what closes comes when it is gone', async () => {
    const former = await join('former');
    migrations['9001-adding'] = adding;
    migrations['9002-closing'] = closing;
    await Promise.all([migrate(url), migrate(url)]);
    assert.deepEqual(await names(), ['9001-adding']);
    const next = await join('next');
    await knows('former', '0011-releases');
    const looking = begin(next);
    await settled();
    assert.deepEqual(await names(), ['9001-adding']);
    await looking.close();
    // The former release comes back: it does not know what was added.
    await former.close();
    const { '9001-adding': _one, '9002-closing': _two, ...before } = migrations;
    let again: Membership | undefined;
    await withMigrations(before, async () => {
      await migrate(url);
      again = await join('former again');
    });
    await knows('former again', '0011-releases');
    const lookingAgain = begin(next);
    await settled();
    assert.deepEqual(await names(), ['9001-adding']);
    await again?.close();
    await until(async () => (await names()).length === 2);
    await lookingAgain.close();
    await withMigrations(before, async () => {
      await assert.rejects(migrate(url), { code: 'conflict', message: /newer Dundun \(9002-closing\)/ });
      await assert.rejects(Membership.join(database, 'late'), { code: 'conflict', message: /newer Dundun/ });
    });
  });

  test('waits for a server that tells nothing of its release, and for a command', async () => {
    migrations['9002-closing'] = closing;
    const next = await join('next');
    await database.query("INSERT INTO node (id, renewed) VALUES ('silent', now() + interval '1 hour')");
    begin(next);
    await settled();
    assert.deepEqual(await names(), []);
    const command = await holdTables(database);
    await database.query("DELETE FROM node WHERE id = 'silent'");
    await settled();
    assert.deepEqual(await names(), []);
    await command.close();
    await until(async () => (await names()).length === 1);
  });

  test('two that look at once close it once', async () => {
    migrations['9002-closing'] = closing;
    const members = await Promise.all(['one', 'two', 'three'].map(join));
    for (const member of members) begin(member);
    await until(async () => (await names()).length === 1);
    await database.query('SELECT one FROM closed');
  });

  test('is written in a newer form once every server reads it, and who does not may not join', async () => {
    const former = await join('former');
    formats.log.newest = 2;
    const next = await join('next');
    begin(next);
    await settled();
    assert.deepEqual([await stored(), next.formats.of('log')], [1, 1]);
    await former.close();
    await until(() => next.formats.of('log') === 2);
    assert.equal(await stored(), 2);
    formats.log.newest = 1;
    const message = /newer Dundun \(log of version 2\)/;
    await assert.rejects(Membership.join(database, 'late'), { code: 'conflict', message });
    await assert.rejects(migrate(url), { code: 'conflict', message });
    await assert.rejects(holdTables(database), { code: 'conflict', message });
  });

  test('is shut to a release that does not know of shards from when servers are to go by them', async () => {
    const { '0012-distribution': _distribution, ...before } = migrations;
    await withMigrations(before, async () => {
      await migrate(url);
      await (await join('former')).close();
    });
    const command = await holdTables(database);
    await assert.rejects(goByShard(database), { code: 'busy', message: /A command uses the database/ });
    await command.close();
    await until(() => goByShard(database).then(() => true, () => false)); // biome-ignore format: short
    await withMigrations(before, async () => {
      const message = /newer Dundun \(0012-distribution\)/;
      await assert.rejects(migrate(url), { code: 'conflict', message });
      await assert.rejects(Membership.join(database, 'late'), { code: 'conflict', message });
    });
    await join('next');
    assert.equal(database.distribution.value, 1);
  });

  test('keeps servers waiting no longer than a moment where something has locked a table', async () => {
    migrations['9001-adding'] = adding;
    const reader = await database.connect('reader');
    await reader.query('BEGIN; LOCK TABLE node IN ACCESS SHARE MODE');
    const migrating = assert.rejects(migrate(url), { code: 'conflict', message: /something has locked them for long/ });
    let longestMs = 0;
    let isOver = false;
    void migrating.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const startMs = performance.now();
      await database.query('SELECT 1 FROM node');
      longestMs = Math.max(longestMs, performance.now() - startMs);
    }
    await migrating;
    assert.ok(longestMs < 900, `a read of the table waited ${longestMs} ms`);
    await reader.close();
    await migrate(url);
    assert.deepEqual(await names(), ['9001-adding']);
  });

  async function withMigrations(those: Record<string, MarkedMigration>, work: () => Promise<void>): Promise<void> {
    const all = { ...migrations };
    for (const name of Object.keys(all)) if (!(name in those)) delete migrations[name];
    try {
      await work();
    } finally {
      Object.assign(migrations, all);
    }
  }
});
