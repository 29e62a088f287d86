// The SQL of engines/shared is one text for SQLite and PostgreSQL, but for what each engine's SqlDialect says. Runs the suites
// of the registry with stores that say each statement for both, and holds the text against what SQLite alone understands.
// With DUNDUN_TEST_POSTGRES_SQL=file the tables and each statement as PREPARE are written there for psql, which says
// `ERROR` for each statement that PostgreSQL refuses.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { before, suite, test } from 'node:test';
import { migratedInMemory } from '../../../src/engines/embedded/database/migrate.ts';
import { countedUsage } from '../../../src/engines/shared/registry/accounts/usage-count.ts';
import { sqliteEngine } from '../engines.ts';
import { registryStoresSuite } from '../registry-stores.suite.ts';
import { storesInBoth } from './both-dialects.ts';

/** What a text of another engine does not have; some of it TypeScript has too, and so is looked for in statements alone. */
const ofSqliteAlone: readonly { readonly what: string; readonly found: RegExp; readonly isInCode?: boolean }[] = [
  {
    what: 'SQLite’s JSON functions',
    found: /\bjson_(each|tree|extract|type|group_\w+|array|object|insert|set|remove)\b/,
  },
  { what: 'dates of SQLite', found: /\b(unixepoch|strftime|julianday)\b/ },
  { what: 'INSERT OR …', found: /\bINSERT OR\b/i },
  { what: 'the rowid', found: /\browid\b/i },
  { what: 'an empty list', found: /\bIN \(\s*\)/i },
  { what: 'a limit below zero', found: /\bLIMIT -\d/i },
  { what: 'an upsert without its columns', found: /\bON CONFLICT DO UPDATE\b/i },
  { what: 'a join condition behind CROSS JOIN', found: /\bCROSS JOIN \S+ ON\b/i },
  { what: 'a pragma, or a table of SQLite', found: /\b(PRAGMA|sqlite_\w+)\b/i },
  { what: 'a function of SQLite', found: /\b(typeof|instr|total|ifnull|iif|zeroblob|glob)\s*\(/i, isInCode: true },
  { what: 'max or min of two values', found: /\b(max|min)\s*\((?:[^()]|\([^()]*\))*,/i, isInCode: true },
  { what: 'IS or IS NOT of two values', found: /\bIS (NOT )?(?!NOT|NULL\b|DISTINCT\b)/, isInCode: true },
  { what: 'the reserved word user unquoted', found: /(?<![\w."])user\b(?!")/i, isInCode: true },
];

const said = new Set<string>([countedUsage.select]);

const inBoth = sqliteEngine('both dialects', (engine, clock) => storesInBoth(engine, clock, (sql) => said.add(sql)));

suite('each statement of the registry', () => registryStoresSuite(inBoth));

suite('the SQL of engines/shared', () => {
  before(async () => {
    const file = process.env['DUNDUN_TEST_POSTGRES_SQL'];
    if (file !== undefined) writeFileSync(file, await postgresScript());
  });

  test('has no statement that SQLite alone understands', () => {
    assert.ok(said.size > 200, `the suites made ${said.size} statements alone`);
    for (const sql of said) {
      const plain = sql.replaceAll(/'(?:[^']|'')*'/g, "''");
      for (const { what, found } of ofSqliteAlone) assert.doesNotMatch(plain, found, what);
    }
  });

  test('has none in what the suites do not say either', () => {
    for (const file of globSync('src/engines/shared/**/*.ts')) {
      const code = readFileSync(file, 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '');
      for (const { what, found, isInCode } of ofSqliteAlone) {
        if (isInCode !== true) assert.doesNotMatch(code, found, `${file}: ${what}`);
      }
    }
  });
});

/** The tables as PostgreSQL would have them, without what no statement is compared with, and the statements. */
async function postgresScript(): Promise<string> {
  const database = await migratedInMemory();
  const types: Readonly<Record<string, string>> = { TEXT: 'text', BLOB: 'bytea', REAL: 'double precision' };
  const rowsOf = (sql: string, ...parameters: string[]) => database.prepare(sql).all(...parameters);
  const tables = rowsOf("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'");
  const created = tables.map(({ name }) => {
    const columns = rowsOf('SELECT name, type, pk, dflt_value AS "default" FROM pragma_table_info(?)', String(name));
    const keys = rowsOf("SELECT name FROM pragma_index_list(?) WHERE origin = 'u'", String(name)).map((index) =>
      rowsOf('SELECT name FROM pragma_index_info(?)', String(index['name'])),
    );
    const primary = columns.filter(({ pk }) => pk !== 0).sort((one, other) => Number(one['pk']) - Number(other['pk']));
    const unique = [primary, ...keys].filter((key) => key.length > 0);
    const parts = [
      ...columns.map((column) => `"${column['name']}" ${types[String(column['type'])] ?? 'bigint'}`),
      ...unique.map((key) => `UNIQUE (${key.map((column) => `"${column['name']}"`).join(', ')})`),
    ];
    return `CREATE TABLE "${name}" (${parts.join(', ')});`;
  });
  database.close();
  const withinTime = 'CREATE FUNCTION within_time() RETURNS integer IMMUTABLE LANGUAGE sql RETURN 1;';
  const prepared = [...said].map((sql, number) => `PREPARE statement_${number} AS ${sql};`);
  return [...created, withinTime, ...prepared, ''].join('\n');
}
