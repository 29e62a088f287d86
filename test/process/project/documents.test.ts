// Statements of the documents about the code are compared with the code: messages of the log, tables, files.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { migratedInMemory } from '../../../src/engines/embedded/database/migrate.ts';
import { PostgresDatabase } from '../../../src/engines/postgres/database/postgres-database.ts';
import { createDatabase, withoutPostgres } from '../../support/postgres.ts';
import { root } from '../../support/process.ts';

const readText = (path: string) => readFileSync(join(root, path), 'utf8');
const source = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);
const call = /\blog\??\.(?:info|warn|error|fatal|audit)\(/g;
/** The text of a call such as `log.warn({ err }, 'text')`. */
const callWithText = new RegExp(`${call.source}[^']*?'((?:[^'\\\\]|\\\\.)+)'`, 'g');

test('docs/operations.md names each message of the log from level info on', () => {
  const runbook = readText('docs/operations.md');
  const texts = source.filter((name) => !name.endsWith('.test.ts')).map((name) => readText(join('src', name)));
  const messages = texts.flatMap((text) => [...text.matchAll(callWithText)].map(([, message = '']) => message));
  assert.equal(messages.length, texts.flatMap((text) => text.match(call) ?? []).length, 'each call has a text');
  assert.ok(messages.includes('the event loop was blocked'));
  // What comes behind a colon is advice, which the runbook may give in its own words.
  const unnamed = messages.filter((message) => !runbook.includes(message.replace(/(?<=.{20}): .*/, '')));
  assert.deepEqual(unnamed, []);
});

/** A section of ARCHITECTURE.md. */
function section(title: string): string {
  const text = readText('ARCHITECTURE.md')
    .split('\n## ')
    .find((part) => part.startsWith(`${title}\n`));
  assert.ok(text, title);
  return text;
}

test('ARCHITECTURE.md has each table of the database, and no other', async () => {
  const database = await migratedInMemory();
  const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").all();
  database.close();
  const tables = rows.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_'));
  const cells = section('Tables')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ')[0]);
  const named = cells.flatMap((cell = '') => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  assert.deepEqual(named.toSorted(), tables.toSorted());
});

test('ARCHITECTURE.md has each table on PostgreSQL, and no other', { skip: withoutPostgres }, async () => {
  const database = new PostgresDatabase(await createDatabase());
  const rows = await database.query(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  );
  await database.close();
  const embedded = await migratedInMemory();
  const shared = new Set(
    embedded
      .prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
      .all()
      .map(({ name }) => String(name)),
  );
  embedded.close();
  const own = rows.map(({ name }) => String(name)).filter((name) => !shared.has(name));
  const named = section('Tables on PostgreSQL')
    .split('\n')
    .flatMap((line) => (line.startsWith('| `') ? [...(line.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)] : []))
    .map(([, name]) => name);
  assert.deepEqual(named.filter((name) => !shared.has(name ?? '')).toSorted(), own.toSorted());
});

test('ARCHITECTURE.md has a line for each folder of src, and for no other', () => {
  const folders = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath }) => relative(join(root, 'src'), parentPath))
    .filter((folder) => folder !== '' && !folder.startsWith(join('http', 'docs', 'vendor')));
  const lines = section('Folders').split('```')[1]?.split('\n') ?? [];
  const described = lines.filter((line) => /^\w/.test(line)).map((line) => line.split(' ')[0]);
  assert.deepEqual(described.toSorted(), [...new Set(folders)].toSorted());
});

for (const [document, namedMin] of [
  ['ARCHITECTURE.md', 100],
  ['docs/one-process.md', 20],
] as const) {
  test(`each file that ${document} names is there`, () => {
    const named = [...readText(document).matchAll(/(?<![\w.-])[\w./-]+\.(?:test\.|suite\.)?tsx?\b/g)].map(
      ([name]) => name,
    );
    const files = [
      ...source.map((name) => `src/${name}`),
      ...['dashboard', 'test'].flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
      ),
    ];
    const isThere = (name: string) => existsSync(join(root, name)) || files.some((file) => file.endsWith(`/${name}`));
    assert.ok(named.length > namedMin);
    assert.deepEqual(
      [...new Set(named)].filter((name) => !isThere(name)),
      [],
    );
  });
}

test('decisions are numbered without gaps', () => {
  const numbers = readdirSync(join(root, 'docs/decisions')).map((name) => Number(name.slice(0, 4)));
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    numbers.map((_, place) => place + 1),
  );
});
