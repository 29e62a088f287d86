// What is wrong with a field has a code that the dashboard says in its own languages: no fault of a form is shown in English in another
// language, nor as no more than "is not right".
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { codeOfFault, otherFault } from '../../../src/http/server/fault-codes.ts';

const root = new URL('../../../', import.meta.url);
/** What no form sends: queries, imports (whose sentences have codes of their own), datapoints, other doors. */
const elsewhere =
  /^src\/(http\/(import|docs|fast-path|lists)|http\/server\/idempotency|http\/v2\/datapoints|domain\/(datapoints|devices\/(filter|near))|engines|mqtt|cli|base)\b/;
/** Said to programs: hashes of passwords, paths, queries. */
const forPrograms =
  /PHC string|24 hex digits|cannot be filtered by|devices=|"with_devices"|needs a scope on devices|must be a JSON array|commas, without spaces/;

function sourceFiles(folder: string): string[] {
  return readdirSync(new URL(folder, root), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => `${entry.parentPath.slice(new URL(root).pathname.length)}/${entry.name}`.replaceAll('//', '/'));
}

/** Sentences that stand as faults of fields in a file, with something in each gap. */
function faultsIn(file: string): string[] {
  const source = readFileSync(new URL(file, root), 'utf8');
  const text = `(?:'((?:[^'\\\\\\n]|\\\\.)+)'|\`([^\`\\n]+)\`)`;
  const places = [
    `\\bfault\\(\\s*[^;]*?,\\s*${text},?\\s*\\)`,
    `faults: \\[\\{ pointer[^\\]]*?detail: ${text}`,
    `const detail =\\s*${text};\\n\\s*throw[^;]*faults: \\[\\{ pointer`,
  ];
  return places.flatMap((place) =>
    [...source.matchAll(new RegExp(place, 'g'))].map(
      ([, plain, made = '']) => plain ?? made.replace(/\$\{[^}]*\}/g, '7'),
    ),
  );
}

test('each sentence of the source about a field has a code', () => {
  const files = sourceFiles('src').filter((file) => !elsewhere.test(file));
  const found = files.flatMap((file) => faultsIn(file).map((detail) => ({ file, detail })));
  assert.ok(found.length > 40, `only ${found.length} were found`);
  const without = found.filter(({ detail }) => codeOfFault(detail).code === otherFault && !forPrograms.test(detail));
  assert.deepEqual(without, []);
});

test('each code has words in the catalogues', async () => {
  const { faults } = (await import(new URL('dashboard/src/strings/fr/faults.ts', root).href)) as {
    readonly faults: { readonly fields: Readonly<Record<string, unknown>> };
  };
  const source = readFileSync(new URL('src/http/server/fault-codes.ts', root), 'utf8');
  const codes = [...source.matchAll(/code: '([a-z-]+)'/g)].map(([, code]) => code as string);
  assert.deepEqual(new Set(Object.keys(faults.fields)), new Set([...codes, otherFault]));
});

test('a code says what the sentence names', () => {
  const rows = [
    ['must have at most 64 characters', 'long', { max: 64 }],
    ['must have at most 64 characters, not 70', 'long', { max: 64 }],
    ['must have at least 8 characters', 'short', { min: 8 }],
    ['must have at most 16384 bytes as JSON', 'bytes', { max: 16_384 }],
    ['must be whole seconds from 0 to 31536000', 'whole', { min: 0, max: 31_536_000 }],
    ['must be one of sms, voice', 'choice', { choices: 'sms, voice' }],
    ['must be <= 90', 'most', { max: 90 }],
    ['must be >= -180', 'least', { min: -180 }],
    ['cannot be read at column 4: expected a number', 'expression', { column: 4 }],
    ['is missing', 'missing', undefined],
    ['is missing: send your present password with it to change', 'password-needed', undefined],
    ['something nobody knows', 'wrong', undefined],
  ] as const;
  for (const [detail, code, params] of rows) {
    assert.deepEqual(codeOfFault(detail), params === undefined ? { code } : { code, params });
  }
});
