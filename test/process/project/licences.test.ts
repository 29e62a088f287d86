// The packages that are shipped and their licences: docs/licences.md names every package, and each licence allows
// distribution with ours.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { buildWhereStale } from '../../support/dashboard-build.ts';
import { root } from '../../support/process.ts';

interface Bom {
  readonly metadata: { readonly component: { readonly name: string; readonly type: string } };
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

/** Licences that ask for no more than that their text goes along. */
const permissive = new Set([
  'MIT',
  'MIT-0',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
]);

suite('licences', () => {
  let rows: readonly (readonly string[])[] = [];
  before(() => {
    buildWhereStale();
    const lines = readFileSync(join(root, 'docs/licences.md'), 'utf8').split('\n');
    const cells = lines.filter((line) => line.startsWith('| ')).map((line) => line.slice(2, -2).split(' | '));
    rows = cells.slice(1);
  });

  test('docs/licences.md names each package that the bill of materials has, and no other', () => {
    const script = join(root, 'scripts/sbom.ts');
    const bom = JSON.parse(
      execFileSync(process.execPath, [script], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }),
    ) as Bom;
    assert.equal(bom.bomFormat, 'CycloneDX');
    const { name: whole, type } = bom.metadata.component;
    assert.deepEqual([whole, type], ['dundun', 'application'], 'whatever the folder is called');
    const shipped = new Set(bom.components.map(({ name, version }) => `${name} ${version}`));
    const named = new Set(rows.map(([name, version]) => `${name} ${version}`));
    assert.deepEqual([...shipped].filter((part) => !named.has(part)).filter(isOfThisMachine), []);
    assert.deepEqual([...named].filter((part) => !shipped.has(part)).filter(isOfThisMachine), []);
    for (const part of ['fastify', 'react', 'leaflet', '@scalar/api-reference']) {
      assert.ok(
        rows.some(([name]) => name === part),
        part,
      );
    }
    assert.ok(!rows.some(([name]) => name === '@biomejs/biome'), 'a tool of development is not shipped');
  });

  test('every licence is one that asks for no more than that its text goes along', () => {
    assert.ok(rows.length > 100);
    assert.deepEqual(
      rows.filter(([, , licence = '']) => !permissive.has(licence)),
      [],
    );
  });
});

/** The runtime is another package on another machine. */
function isOfThisMachine(part: string): boolean {
  return !part.startsWith('node-linux-');
}
