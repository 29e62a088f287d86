// What scripts/light-test-context.ts must not change: which suite a test is in, and which test an error fails that nobody
// caught. The same file is run with and without it, and must be told of alike.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const nested = `
import assert from 'node:assert/strict';
import { before, beforeEach, suite, test } from 'node:test';
let each = 0;
await null;
before(() => { each = 0; });
suite('inner of an import', () => {
  beforeEach(() => { each += 1; });
  test('has its own hooks', () => assert.equal(each, 1));
});
`;

const erring = `
import { createServer, get } from 'node:http';
import { suite, test } from 'node:test';
const forever = () => new Promise((resolve) => setTimeout(resolve, 60_000).unref());
suite('outer', () => {
  suite('that takes time', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    test('has a test', async (t) => { await t.test('with a part', () => {}); });
  });
  test('fails by a timer', async () => {
    setTimeout(() => { throw new Error('of a timer'); }, 1);
    await forever();
  });
  test('fails by a server', async (t) => {
    const server = createServer(() => { throw new Error('of a server'); });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => { server.closeAllConnections(); server.close(); });
    get({ port: server.address().port, host: '127.0.0.1' }).on('error', () => {});
    await forever();
  });
  test('fails by a rejection', async () => {
    setTimeout(() => void Promise.reject(new Error('of a rejection')), 1);
    await forever();
  });
  test('fails after an await', async () => {
    void Promise.resolve().then(() => { throw new Error('of a promise'); });
    await forever();
  });
  test('has ended before its error', () => { setTimeout(() => { throw new Error('late'); }, 1); });
  test('is another', async () => { await new Promise((resolve) => setTimeout(resolve, 50)); });
});
suite('imported', () => import('./nested.mjs'));
`;

suite('tests that know by an AsyncLocalStorage where they are', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'dundun-light-context-'));
    writeFileSync(join(folder, 'nested.mjs'), nested);
    writeFileSync(join(folder, 'some.test.mjs'), erring);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** What `node --test` says, without times. */
  const reportOf = (...flags: string[]) => {
    const args = [...flags, '--test', '--test-reporter=spec', 'some.test.mjs'];
    // Within a run of `node --test` another one would only be a part of it.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: folder, env });
    return { status, stdout: stdout.replaceAll(/ \(\d[\d.]*ms\)|(?<=duration_ms )[\d.]+/g, '') };
  };

  test('nest and fail as those that node:test follows by itself', () => {
    const light = reportOf(`--import=${pathToFileURL(resolve('scripts/light-test-context.ts')).href}`);
    assert.match(light.stdout, /▶ imported\n {2}▶ inner of an import\n {4}✔ has its own hooks\n/);
    for (const [failing, by] of [
      ['fails by a timer', 'of a timer'],
      ['fails by a server', 'of a server'],
      ['fails by a rejection', 'of a rejection'],
      ['fails after an await', 'of a promise'],
    ] as const) {
      assert.match(light.stdout, new RegExp(`✖ ${failing}\n {2}Error: ${by}\n`), failing);
    }
    assert.match(light.stdout, /"has ended before its error".*"Error: late"/);
    assert.equal(light.status, 1);
    assert.deepEqual(light, reportOf());
  });
});
