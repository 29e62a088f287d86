// What `npm test` runs in which round (scripts/test-rounds.ts): no file is lost, none is run twice, and what is tried on PostgreSQL comes
// on top.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
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
