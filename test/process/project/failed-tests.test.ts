// What scripts/failed-tests.ts, the reporter behind the end of `npm test`, tells of tests that fail.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { failuresIn } from '../../../scripts/failed-tests.ts';

const failing = `
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
suite('a suite', () => {
  test('that holds', () => {});
  test('is met', async (t) => {
    await t.test('by what is thrown', () => assert.equal(1, 2));
  });
  test('is to do', { todo: true }, () => assert.fail('not yet'));
});
suite('another', () => {
  before(() => { throw new Error('no server'); });
  test('has no turn', () => {});
});
`;

suite('the end of npm test', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'dundun-failed-tests-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  /** The report of a test file with this text. */
  const reportOf = (text: string): string => {
    const file = join(folder, 'some.test.mjs');
    writeFileSync(file, text);
    const reporter = resolve('scripts/failed-tests.ts');
    const flags = ['--test', `--test-reporter=${reporter}`, '--test-reporter-destination=stdout'];
    // Within a run of `node --test` another one would only be a part of it.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    return spawnSync(process.execPath, [...flags, file], { encoding: 'utf8', env }).stdout;
  };

  test('names each test that failed, with its file, its suites, its message and where it was thrown', () => {
    const report = reportOf(failing);
    assert.match(report, /some\.test\.mjs:7: a suite\.is met > by what is thrown\n {4}AssertionError.*:/);
    assert.match(report, /\n {4}1 !== 2\n/);
    assert.match(report, /\n {8}at TestContext.*some\.test\.mjs:7/);
    assert.match(report, /: another\n {4}Error: no server\n/);
  });

  test('names neither what held, nor what may fail, nor a suite that failed only by its tests', () => {
    const report = reportOf(failing);
    assert.doesNotMatch(report, /that holds|is to do|subtest/);
    assert.doesNotMatch(report, /: a suite\n/);
  });

  test('names a file that cannot be loaded', () => {
    assert.match(reportOf("import './nowhere.ts';"), /some\.test\.mjs:1: .*some\.test\.mjs\n {4}test failed\n/);
  });

  test('says beside each name, and there alone, where its test has failed', () => {
    const report = reportOf(failing);
    const names = (text: string) => text.split('\n').filter((line) => /^\S/.test(line));
    const told = failuresIn(report, 'on PostgreSQL');
    assert.deepEqual(
      names(told),
      names(report).map((name) => `${name} (on PostgreSQL)`),
    );
    assert.equal(told.replaceAll(' (on PostgreSQL)', ''), report);
    assert.equal(failuresIn(report), report);
  });

  test('is empty where nothing failed', () => {
    assert.equal(reportOf("import { test } from 'node:test'; test('holds', () => {});"), '');
  });
});
