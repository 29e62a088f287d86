// Kysely over node:sqlite: behaviour that the service relies on and Kysely does not promise.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { NodeSqliteDialect } from './dialect.ts';

test('a migration that breaks off leaves nothing behind, and can be run again', async () => {
  const database = new DatabaseSync(':memory:');
  const db = new Kysely<unknown>({ dialect: new NodeSqliteDialect(database) });
  const migrator = (breaksOff: boolean) => {
    const up = async (on: Kysely<unknown>) => {
      await sql.raw('CREATE TABLE first (x)').execute(on);
      if (breaksOff) throw new Error('broken off');
      await sql.raw('CREATE TABLE second (x)').execute(on);
    };
    const migrations: Record<string, Migration> = { '0001': { up } };
    return new Migrator({ db, provider: { getMigrations: async () => migrations } });
  };
  assert.match(String((await migrator(true).migrateToLatest()).error), /broken off/);
  assert.equal((await migrator(false).migrateToLatest()).error, undefined);
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE name IN ('first', 'second')").all();
  assert.equal(tables.length, 2);
  database.close();
});
