// Migrations of PostgreSQL from 0011 on are run beside servers of the release before, or when those are gone. What is called adding must
// be nothing but that.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { migrations } from '../../src/engines/postgres/database/migrations/migrations.ts';

/** Tables with so many rows, or so many writes, that an index, which keeps writes from them while it is made, is not for beside servers. */
const large = /^(chunk|series|log_\d|log|announcement|receipt|mqtt_\w+)$/;

/** The statements of a migration, without a database. */
async function statementsOf(name: string): Promise<string[]> {
  const statements: string[] = [];
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql),
  });
  await migrations[name]?.up(db);
  return statements;
}

/** What is wrong with the statements of a migration that is called adding. */
function faultsOf(statements: readonly string[]): string[] {
  const made = new Set<string>();
  const columns = new Set<string>();
  return statements.flatMap((statement) => {
    const text = statement.replaceAll(/\s+/g, ' ').trim();
    const fault = faultOf(text, { made, columns });
    return fault === undefined ? [] : [`${fault}: ${text.slice(0, 120)}`];
  });
}

interface Added {
  /** Tables that the migration has made, and columns that it has added, as `table.column`. */
  readonly made: Set<string>;
  readonly columns: Set<string>;
}

function faultOf(text: string, { made, columns }: Added): string | undefined {
  const table = /^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?"?(\w+)"? ?\(/i.exec(text)?.[1];
  if (table !== undefined) {
    made.add(table);
    return undefined;
  }
  const changed = /^ALTER TABLE "?(\w+)"? /i.exec(text)?.[1];
  if (changed !== undefined && made.has(changed)) return undefined;
  if (/;\s*\S/.test(text) && !/^CREATE FUNCTION /i.test(text)) return 'several statements';
  const column = /^ALTER TABLE "?(\w+)"? ADD COLUMN (?:IF NOT EXISTS )?"?(\w+)"? (.*)$/i.exec(text);
  if (column !== null) {
    const [, of = '', name = '', rest = ''] = column;
    columns.add(`${of}.${name}`);
    if (/,\s*(ADD|ALTER|DROP|RENAME)\b/i.test(rest)) return 'several changes';
    if (/\b(PRIMARY KEY|UNIQUE|GENERATED|CHECK)\b/i.test(rest)) return 'a column that binds what others write';
    if (/\bNOT NULL\b/i.test(rest) && !/\bDEFAULT\b/i.test(rest)) return 'a column that others do not fill';
    // It would have every row written anew, under a lock.
    return /\bDEFAULT .*\(/i.test(rest) ? 'a default that is computed' : undefined;
  }
  const index = /^CREATE (UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+ ON "?(\w+)"?/i.exec(text);
  if (index !== null) {
    const [, isUnique, of = ''] = index;
    if (made.has(of)) return undefined;
    if (isUnique !== undefined) return 'an index that binds what others write';
    return large.test(of) ? 'an index on a large table' : undefined;
  }
  const insert = /^INSERT INTO "?(\w+)"?/i.exec(text)?.[1];
  if (insert !== undefined) return made.has(insert) ? undefined : 'rows in a table that others read';
  const update = /^UPDATE "?(\w+)"? SET "?(\w+)"? = [^,]+$/i.exec(text);
  if (update !== null) return columns.has(`${update[1]}.${update[2]}`) ? undefined : 'changes what others read';
  // Not OR REPLACE: what others run stays.
  if (/^CREATE (FUNCTION|TRIGGER|VIEW) /i.test(text)) return undefined;
  return 'no adding statement';
}

suite('migrations of PostgreSQL', () => {
  const names = Object.keys(migrations).sort();

  test('that need the database alone are those of old: once one was run beside servers, all later ones are', () => {
    const beside = names.filter((name) => migrations[name]?.kind !== 'alone');
    assert.deepEqual(names.slice(-beside.length), beside);
    assert.ok(beside.length > 0);
  });

  test('that are called adding only add', async () => {
    const adding = names.filter((name) => migrations[name]?.kind === 'adding');
    assert.ok(adding.length > 0);
    for (const name of adding) {
      const statements = await statementsOf(name);
      assert.ok(statements.length > 0, `${name} runs nothing`);
      assert.deepEqual(faultsOf(statements), [], name);
    }
  });

  test('are held to that: whatever a server of the release before could not live with is found', async () => {
    const bad = [
      ...['DROP TABLE device', 'ALTER TABLE device RENAME COLUMN id TO name', 'ALTER TABLE device RENAME TO devices'],
      ...['ALTER TABLE device ALTER COLUMN id TYPE bigint', 'ALTER TABLE device ALTER COLUMN id SET NOT NULL'],
      ...['ALTER TABLE device DROP COLUMN id', 'ALTER TABLE device ADD COLUMN hue text NOT NULL'],
      ...['ALTER TABLE device ADD COLUMN hue text UNIQUE', 'ALTER TABLE device ADD COLUMN hue text, DROP COLUMN id'],
      ...['ALTER TABLE device ADD COLUMN hue bigint GENERATED ALWAYS AS IDENTITY', 'DROP VIEW log'],
      ...['ALTER TABLE device ADD COLUMN hue double precision DEFAULT random()', 'DELETE FROM device'],
      ...['ALTER TABLE device ADD CONSTRAINT named CHECK (id <> 1)', 'CREATE UNIQUE INDEX one ON device (name)'],
      ...['CREATE INDEX one ON chunk (id)', 'UPDATE device SET name = 1', 'INSERT INTO device VALUES (1)'],
      ...['CREATE OR REPLACE FUNCTION f() RETURNS trigger', 'TRUNCATE device', 'SELECT 1; DROP TABLE device'],
      ...['ALTER TABLE device DISABLE TRIGGER USER', 'DROP INDEX one', 'LOCK TABLE device'],
    ];
    for (const statement of bad) assert.equal(faultsOf([statement]).length, 1, statement);
    const good = [
      'CREATE TABLE hue (one integer PRIMARY KEY)',
      'INSERT INTO hue VALUES (1)',
      'CREATE UNLOGGED TABLE shade (one integer PRIMARY KEY)',
      'CREATE UNIQUE INDEX one ON hue (one)',
      'ALTER TABLE hue ALTER COLUMN one SET STATISTICS 10',
      'ALTER TABLE device ADD COLUMN hue text',
      "ALTER TABLE device ADD COLUMN hues text NOT NULL DEFAULT 'none'",
      "UPDATE device SET hue = 'none'",
      'CREATE INDEX device_hue ON device (hue)',
      'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.hue = 1; RETURN new; END $$',
      'CREATE TRIGGER f BEFORE INSERT ON device FOR EACH ROW EXECUTE FUNCTION f()',
    ];
    assert.deepEqual(faultsOf(good), []);
  });
});
