// bin/dundun.js in a folder of its own, with a substitute for src/main.ts, on an old and on a new Node.js. The old one
// is the present one with another version reported; the one from npm is a link to the present one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { until } from '../support/until.ts';

const root = resolve(import.meta.dirname, '../..');
const main = `
process.once('SIGTERM', () => { console.log('stopped'); process.exit(7); });
const args = process.argv.slice(2);
console.log(JSON.stringify(args.includes('flags') ? process.execArgv : { pid: process.pid, args }));
if (process.argv.includes('serve')) setInterval(() => {}, 1000);
`;

suite('the launcher', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dundun-launcher-'));
    await cp(join(root, 'bin'), join(folder, 'bin'), { recursive: true });
    await cp(join(root, 'package.json'), join(folder, 'package.json'));
    await mkdir(join(folder, 'src'));
    await writeFile(join(folder, 'src/main.ts'), main);
  });

  after(() => rm(folder, { recursive: true, force: true }));

  test('a Node.js that is new enough runs the service in its own process', async () => {
    const launcher = launch(folder, ['users', 'list']);
    assert.deepEqual(JSON.parse(await text(launcher.stdout)), { pid: launcher.pid, args: ['users', 'list'] });
  });

  test('an old Node.js with none beside it says what is needed in one line and fails', async () => {
    const launcher = launch(folder, ['serve'], 'v20.20.2');
    const [error, output, [code]] = await Promise.all([
      text(launcher.stderr),
      text(launcher.stdout),
      once(launcher, 'exit'),
    ]);
    assert.match(error, /^Dundun needs Node\.js \d+\.\d+\.\d+ or newer, and this is v20\.20\.2\. .+\n$/);
    assert.equal(output, '');
    assert.equal(code, 1);
  });

  test('a version is compared number by number', async () => {
    const { isNewEnough } = await import('../../bin/runtime.js');
    const versions = ['v9.99.99', 'v24.3.0', 'v24.20.9', 'v24.21.0', 'v24.100.0', 'v25.0.0-nightly', 'v100.0.0'];
    assert.deepEqual(versions.filter(isNewEnough), versions.slice(3));
  });

  const needsExecve = { skip: process.platform !== 'linux' };
  test(
    'V8 seldom collects all of a heap that has room, and takes its own time where that is small',
    needsExecve,
    async () => {
      const flagsAt = async (ceiling: string) => {
        const launcher = launch(folder, ['serve', 'flags'], undefined, { DUNDUN_MEMORY_MAX: ceiling });
        const [line] = await once(launcher.stdout, 'data');
        launcher.kill('SIGKILL');
        return JSON.parse(line) as string[];
      };
      const seldom = ['--heap-growing-percent=60', '--incremental-marking-soft-trigger=80'];
      const [large, small] = [await flagsAt('512MiB'), await flagsAt('300MB')];
      assert.deepEqual(
        seldom.filter((flag) => large.includes(flag)),
        seldom,
      );
      assert.deepEqual(
        seldom.filter((flag) => small.includes(flag)),
        [],
      );
      // Both have a bound, so that neither was started without any flags.
      for (const flags of [large, small]) assert.ok(flags.some((flag) => flag.startsWith('--max-old-space-size=')));
    },
  );

  suite('on an old Node.js with the right one beside it', { skip: process.platform !== 'linux' }, () => {
    before(async () => {
      const beside = join(folder, 'node_modules', `node-linux-${process.arch}`);
      await mkdir(join(beside, 'bin'), { recursive: true });
      await writeFile(join(beside, 'package.json'), '{}');
      await symlink(process.execPath, join(beside, 'bin/node'));
    });

    test('runs the service on that one, with the same arguments', async () => {
      const launcher = launch(folder, ['users', 'list'], 'v20.20.2');
      const told = JSON.parse(await text(launcher.stdout));
      assert.deepEqual(told.args, ['users', 'list']);
      assert.notEqual(told.pid, launcher.pid);
    });

    test('passes SIGTERM on and ends with the code of the service', async () => {
      const launcher = launch(folder, ['serve'], 'v20.20.2');
      await once(launcher.stdout, 'data');
      launcher.kill('SIGTERM');
      assert.deepEqual(await once(launcher, 'exit'), [7, null]);
    });

    test('a child whose parent was killed stops as by SIGTERM', async () => {
      const launcher = launch(folder, ['serve'], 'v20.20.2');
      const [line] = await once(launcher.stdout, 'data');
      const { pid } = JSON.parse(line);
      assert.notEqual(pid, launcher.pid);
      // The last that the child says comes when the pipe to its parent has closed.
      const rest = text(launcher.stdout);
      launcher.kill('SIGKILL');
      assert.equal(await rest, 'stopped\n');
      await until(() => !isAlive(pid));
    });

    test('a child that keeps its own way to take memory ends with its parent too', async () => {
      const launcher = launch(folder, ['serve'], 'v20.20.2', { MALLOC_ARENA_MAX: '1' });
      await once(launcher.stdout, 'data');
      const rest = text(launcher.stdout);
      launcher.kill('SIGKILL');
      assert.equal(await rest, 'stopped\n');
    });

    test('ends with 128 and the number of the signal that ended the service', async () => {
      const launcher = launch(folder, ['serve'], 'v20.20.2');
      const [line] = await once(launcher.stdout, 'data');
      process.kill(JSON.parse(line).pid, 'SIGKILL');
      assert.deepEqual(await once(launcher, 'exit'), [128 + 9, null]);
    });
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function launch(folder: string, args: readonly string[], version?: string, env: NodeJS.ProcessEnv = {}) {
  const preload = `data:text/javascript,Object.defineProperty(process,'version',{value:'${version}'})`;
  const flags = version === undefined ? [] : ['--import', preload];
  const options = { env: { ...process.env, ...env } };
  return spawn(process.execPath, [...flags, join(folder, 'bin/dundun.js'), ...args], options);
}
