// What `npm test` runs in which round (scripts/test-rounds.ts): no file is lost, none is run twice, and what is tried on PostgreSQL comes
// on top.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { filesAgain } from '../../../scripts/failed-again.ts';
import { type Choice, planRounds, prepareRun, type Round } from '../../../scripts/test-rounds.ts';
import { findTestFiles, isTriedOnPostgres, slowSetOf } from '../../../scripts/test-sets.ts';

suite('the rounds', () => {
  const files = findTestFiles();
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'dundun-rounds-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const plan = (choice: Choice, data: 'folder' | 'postgres' | 'both', some = files) =>
    planRounds(some, { choice, data, folder: mkdtempSync(join(folder, 'run-')) });

  test('inherit the environment as it was before threads and the service were bundled', async () => {
    const before = { ...process.env };
    await prepareRun({ choice: 'all', data: 'both', folder: mkdtempSync(join(folder, 'run-')) });
    assert.deepEqual({ ...process.env }, before);
  });

  test('of a whole run have each file once, and those of the public door once more on PostgreSQL', () => {
    const rounds = plan('all', 'both');
    const onPostgres = rounds.filter(({ env }) => env?.['DUNDUN_TEST_ENGINE'] === 'postgres');
    assert.deepEqual(onPostgres.flatMap(filesOf).sort(), files.filter(isTriedOnPostgres));
    assert.deepEqual(
      onPostgres.map(({ where }) => where),
      ['on PostgreSQL'],
    );
    const others = rounds.filter((round) => !onPostgres.includes(round));
    assert.deepEqual(others.flatMap(filesOf).sort(), files);
    // Alone, because it measures how long others wait.
    assert.deepEqual(
      filesOf(rounds.at(-1) as Round),
      files.filter((file) => file.startsWith('test/attacks/')),
    );
    for (const { name } of rounds) assert.match(name ?? '', /\w/);
  });

  test('try properties as often as without bundles', () => {
    for (const { env } of plan('all', 'both')) assert.equal(env?.['DUNDUN_TEST_FAST'], undefined);
  });

  test('have nothing more on PostgreSQL where it is missing, or has the data of all', () => {
    for (const data of ['folder', 'postgres'] as const) {
      const rounds = plan('all', data);
      assert.deepEqual(rounds.flatMap(filesOf).sort(), files, data);
    }
  });

  test('of chosen files give each a process of its own', () => {
    const some = files.filter((file) => file.startsWith('test/http/datapoints/'));
    const rounds = plan('chosen', 'folder', some);
    assert.deepEqual(
      rounds.flatMap(({ paths }) => paths),
      some,
    );
  });

  test('ask once more, of few files that failed where time is real; of laws, and of what may be lost, never', () => {
    const failure = (file: string) =>
      `${file}:27: a suite > a test\n    Error: late\n        at test (file:///x.ts:1:2)\n`;
    const [page, other] = files.filter((file) => file.startsWith('test/dashboard/')) as [string, string];
    const ofFiles = (...failed: readonly string[]) =>
      filesAgain({ isAskedAgain: true }, failed.map(failure).join(''), files);
    assert.deepEqual(ofFiles(page, other, page), [page, other]);
    assert.equal(filesAgain({}, failure(page), files), undefined, 'in a round on the clock of the tests');
    assert.equal(ofFiles(...files.slice(0, 4)), undefined, 'more than chance');
    assert.equal(ofFiles(), undefined, 'nothing that can be run');
    assert.equal(ofFiles(page, 'bundles/0.mjs'), undefined, 'a process that ended');
    const certain = files.filter((file) => /^test\/laws\/|crash|kill|outage|moves|damage/.test(file));
    assert.ok(certain.length > 3);
    for (const file of certain) assert.equal(ofFiles(file), undefined, file);
    const asked = plan('all', 'both').filter(({ isAskedAgain }) => isAskedAgain);
    const isReal = (file: string) => ['.process.', 'dashboard', 'process/'].some((word) => file.includes(word));
    assert.ok(asked.length === 2 && asked.some((round) => filesOf(round).some(isReal)));
  });

  test('of the fast files are one', () => {
    const fast = files.filter((file) => slowSetOf(file) === undefined);
    const [round, ...others] = plan('fast', 'folder', fast);
    assert.deepEqual(others, []);
    assert.deepEqual(filesOf(round as Round).sort(), fast);
  });
});

/** The test files of the round, also those that are in bundles. */
function filesOf({ paths }: Round): string[] {
  const inBundle = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^suite\("([^"]+)"/gm)].map(([, file = '']) => file);
  return paths.flatMap((path) => (path.endsWith('.mjs') ? inBundle(path) : [path]));
}
