// The archive of everything a user has, opened by a program that is not ours.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { filesOf } from '../../support/archive.ts';
import { TestServer } from '../../support/test-server.ts';

const skip = spawnSync('python3', ['--version']).status === 0 ? false : 'Python is missing';
let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

/** Checks the sums of all files, and prints them by their names. */
const program = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
print(json.dumps({name: archive.read(name).decode("utf-8") for name in archive.namelist()}))
`;

test('zipfile of Python opens an archive and finds the same files, and refuses one that was cut off', {
  skip,
}, async () => {
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', name: 'Féld 太鼓', sensors: [{ id: 'T' }] } });
  const values = Array.from({ length: 5_000 }, (_, index) => ({ value: index / 7 }));
  await server.call('owner', 'POST', '/devices/d/sensors/T/values', { json: values });
  const { status, bytes } = await server.call('owner', 'GET', '/users/me/export');
  assert.equal(status, 200);
  const file = join(server.folder, 'archive.zip');
  const opened = async (archive: Buffer) => {
    await writeFile(file, archive);
    return spawnSync('python3', ['-c', program, file], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  };
  const whole = await opened(bytes);
  assert.equal(whole.status, 0, whole.stderr);
  assert.deepEqual(JSON.parse(whole.stdout), Object.fromEntries(filesOf(bytes)));
  assert.equal(filesOf(bytes).get('datapoints/0001-d.csv')?.trimEnd().split('\r\n').length, 5_001);
  for (const share of [0.3, 0.9]) {
    const cut = await opened(bytes.subarray(0, Math.floor(bytes.length * share)));
    assert.match(cut.stderr, /BadZipFile/);
  }
});
