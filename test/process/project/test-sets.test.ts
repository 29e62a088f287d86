// Holds the sets of scripts/test-sets.ts against what the test files use: whatever starts a process or a browser is left
// out of `npm test -- fast` by where it lies or what it is called, and nothing else is.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { suite, test } from 'node:test';
import {
  findTestFiles,
  heavyFiles,
  isTriedOnPostgres,
  longFiles,
  mayShare,
  notOnPostgres,
  slowSetOf,
} from '../../../scripts/test-sets.ts';

/** What only slow tests import, themselves or through what they import of test/ and scripts/. */
const slowImports = ['node:child_process', 'playwright-core', 'test/support/process.ts'];

/** What the file imports in the end of packages and of files. */
function importsOf(file: string, known = new Set<string>()): Set<string> {
  const text = readFileSync(file, 'utf8');
  for (const [, name = ''] of text.matchAll(/^(?:import|export|\}) .*from '([^']+)';$/gm)) {
    const path = name.startsWith('.') ? normalize(join(file, '..', name)) : name;
    if (known.has(path)) continue;
    known.add(path);
    if (/^(test|scripts)\//.test(path)) importsOf(path, known);
  }
  return known;
}

const slowImportOf = (file: string) => [...importsOf(file)].find((name) => slowImports.includes(name));

suite('the fast tests', () => {
  const files = findTestFiles();

  test('start neither a process nor a browser', () => {
    for (const file of files.filter((name) => slowSetOf(name) === undefined)) {
      const found = slowImportOf(file);
      assert.equal(found, undefined, `${file} imports ${found}: name it .process.test.ts or .browser.test.ts`);
    }
  });

  test('lack nothing that starts neither, but is called so', () => {
    for (const file of files.filter((name) => /\.(process|browser)\.test\.ts$/.test(name))) {
      assert.notEqual(slowImportOf(file), undefined, `${file} starts neither a process nor a browser`);
    }
  });

  test('leave out no file by a name that it does not have any more', () => {
    for (const file of [...heavyFiles, ...longFiles]) assert.ok(files.includes(file), file);
    for (const file of longFiles) assert.ok(!heavyFiles.includes(file), file);
  });

  test('are most of all', () => {
    const fast = files.filter((file) => slowSetOf(file) === undefined);
    assert.ok(fast.length > files.length / 2, `${fast.length} of ${files.length}`);
  });

  test('of the public door are tried on PostgreSQL, but for those that exist and say why not', () => {
    const atDoor = files.filter((file) => /^test\/(http|mqtt)\//.test(file) && mayShare(file));
    for (const { file, because } of notOnPostgres) {
      assert.ok(atDoor.includes(file), file);
      assert.match(because, /\w/, file);
    }
    const tried = files.filter(isTriedOnPostgres);
    assert.deepEqual([...tried, ...notOnPostgres.map(({ file }) => file)].sort(), atDoor.sort());
  });
});
