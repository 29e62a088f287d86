// The demo as users run it: with a server of its own, and on a running server, repeatedly.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { adminPassword, type Dundun, makeFolder, Running, root, startDundun } from '../../support/process.ts';

const allCounted = /\n37 520 datapoints in, 37 520 out\.\n$/;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function runDemo(args: readonly string[], folder = makeFolder()): Promise<Ended> {
  const settings = { PATH: process.env['PATH'], TMPDIR: folder };
  const demo = new Running([process.execPath, join(root, 'scripts/demo.ts'), ...args], { settings });
  const { code } = await demo.exit;
  return { code, stdout: demo.stdout, stderr: demo.stderr };
}

test('without options the demo gets every datapoint back and leaves nothing behind', async () => {
  const folder = makeFolder();
  const { code, stdout, stderr } = await runDemo([], folder);
  assert.equal(code, 0, stderr);
  assert.match(stdout, allCounted);
  for (const sensor of ['temperature °C', 'humidity %']) {
    for (const [mote, way] of [
      ['mote-1', 'REST'],
      ['mote-2', 'REST'],
      ['mote-3', 'MQTT'],
      ['mote-4', 'MQTT'],
    ])
      assert.match(stdout, new RegExp(`${mote} +${sensor} +${way} +4 690 +4 690 .* same\n`));
  }
  assert.match(stdout, /event introduced at mote-3 \(100 and 100 datapoints/);
  assert.match(stdout, /\n +12:21:55 +35\.49 +71\.01\n/);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('dundun-')),
    [],
  );
});

test('--help says what the demo does and how to run it on a server that is there', async () => {
  const { code, stdout } = await runDemo(['--help']);
  assert.equal(code, 0);
  assert.match(stdout, /--fresh .*delete devices mote-1 to mote-4/);
});

suite('on a server that runs already', () => {
  let server: Dundun;
  let address: readonly string[];

  before(async () => {
    server = await startDundun();
    const mqtt = `mqtt://127.0.0.1:${server.ports.mqtt}`;
    address = ['--url', server.url, '--mqtt', mqtt, '--user', 'admin', '--password', adminPassword];
  });

  test('the demo runs, then refuses to mix with its own devices, then runs afresh', async () => {
    const first = await runDemo(address);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, allCounted);

    const second = await runDemo(address);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /There is a device mote-1 on this server already, and nothing was changed\..*--fresh/);
    assert.doesNotMatch(second.stdout, /Sending/);

    const afresh = await runDemo([...address, '--fresh']);
    assert.equal(afresh.code, 0, afresh.stderr);
    assert.match(afresh.stdout, allCounted);
  });

  test('a wrong password is told in one line', async () => {
    const { code, stderr } = await runDemo([...address.slice(0, -1), 'not-the-password']);
    assert.equal(code, 1);
    assert.match(stderr, /^demo: Signing in as admin: 401, The username or the password is wrong\.\n$/);
  });

  test('half an address is refused', async () => {
    const { code, stderr } = await runDemo(address.slice(0, 2));
    assert.equal(code, 1);
    assert.match(stderr, /^demo: A server that runs already needs --url, --mqtt, --user and --password, all four\.\n$/);
  });
});
