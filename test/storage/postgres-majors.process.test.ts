// The tests of the engine on PostgreSQL, with the majors that Debian's package is not: in the long tests alone, which install them
// into a temporary folder as the lock file in postgres-majors/ has them. DUNDUN_TEST_MAJORS=17,18 tries these majors alone, in that order.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const majors = [14, 16, 17, 18];
const chosen = process.env['DUNDUN_TEST_MAJORS']?.split(',').map(Number) ?? majors;
const parts = ['storage/engines.test', 'src/engines/postgres'];
const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const locked = 'test/storage/postgres-majors/package-lock.json';

interface Locked {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

test('the lock file has PostgreSQL of each major that is tried, and what it must hash to', () => {
  const { packages } = JSON.parse(readFileSync(locked, 'utf8')) as Locked;
  for (const major of majors) {
    const { version = '', integrity = '' } = packages[`node_modules/postgres-${major}-x64`] ?? {};
    assert.match(version, new RegExp(`^${major}\\.`));
    assert.match(integrity, /^sha512-/);
  }
});

test('DUNDUN_TEST_MAJORS names majors that the lock file has, so that no run passes for having tried none', () => {
  for (const major of chosen) assert.ok(majors.includes(major), `${major} is none of ${majors.join(', ')}`);
});

if (isLong) suite('PostgreSQL of other majors', { timeout: 2 * 3_600_000 }, () => holdOnAll());

function holdOnAll(): void {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-majors-'));

  before(async () => {
    // PostgreSQL does not run as root: its own user must get there, too.
    chmodSync(folder, 0o755);
    cpSync(resolve('test/storage/postgres-majors'), folder, { recursive: true });
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const major of chosen)
    test(`the engine holds all its tests on PostgreSQL ${major}`, async (t) => {
      const here = join(folder, 'node_modules');
      const name = readdirSync(here).find((one) => one === `postgres-${major}-${process.arch}`);
      if (name === undefined) return t.skip(`no PostgreSQL ${major} for ${process.arch}`);
      // Links among its libraries, which packages of npm cannot hold.
      await run('node', ['scripts/hydrate-symlinks.js'], { cwd: join(here, name) });
      const program = join(here, name, 'native/bin/postgres');
      assert.ok(existsSync(program));
      const { stdout: version } = await run(program, ['--version']);
      assert.match(version, new RegExp(`\\(PostgreSQL\\) ${major}\\.`));
      const env: NodeJS.ProcessEnv = { ...process.env, DUNDUN_TEST_POSTGRES: program };
      // They are not long, and know nothing of this one.
      for (const variable of ['DUNDUN_TEST_LONG', 'DUNDUN_TEST_MAJORS', 'NODE_TEST_CONTEXT']) delete env[variable];
      const { stdout } = await run('node', ['scripts/test.ts', ...parts], { env, maxBuffer: 64 * 1024 * 1024 }).catch(
        // What it says at its end is which tests failed.
        (error: { readonly stdout: string }) => assert.fail(error.stdout.slice(-10_000)),
      );
      const [, passed = '0'] = /^ℹ pass (\d+)$/m.exec(stdout) ?? [];
      assert.match(stdout, /^ℹ fail 0$/m);
      assert.ok(Number(passed) > 400, stdout.slice(-2_000));
      const [, skipped = '0'] = /^ℹ skipped (\d+)$/m.exec(stdout) ?? [];
      t.diagnostic(`${version.trim()}: ${passed} tests, ${skipped} left out`);
    });
}
