// Proves that the checks of `npm run check` find what they should: slow patterns are planted and must be named; and
// each rule of .dependency-cruiser.cjs is broken once in a copy of the sources and must be named. All breaches are
// checked in one run, because each run reads the whole tree.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');
const config: { readonly forbidden: readonly { readonly name: string }[] } = createRequire(import.meta.url)(
  '../../../.dependency-cruiser.cjs',
);

/** One file that breaks `rule` by importing `to`, which is planted as well where it is a file of ours. */
type Breach = { readonly rule: string; readonly file: string; readonly to: string; readonly type?: true };

const breaches: readonly Breach[] = [
  { rule: 'base-is-the-lowest-floor', file: 'src/base/planted.ts', to: '../domain/planted-below.ts' },
  { rule: 'domain-knows-only-base', file: 'src/domain/planted.ts', to: '../engines/planted.ts' },
  {
    rule: 'domain-knows-only-base',
    file: 'src/domain/devices/planted-type.ts',
    to: '../../http/planted.ts',
    type: true,
  },
  { rule: 'domain-imports-no-packages', file: 'src/domain/planted-package.ts', to: 'fastify' },
  { rule: 'domain-imports-no-packages', file: 'src/domain/planted-package-type.ts', to: 'typebox', type: true },
  { rule: 'domain-imports-no-builtins', file: 'src/domain/planted-files.ts', to: 'node:fs' },
  { rule: 'domain-imports-no-builtins', file: 'src/domain/planted-sqlite.ts', to: 'node:sqlite' },
  { rule: 'words-of-all-nouns-know-none', file: 'src/domain/planted-word.ts', to: './callers/planted.ts' },
  { rule: 'every-noun-has-its-place', file: 'src/domain/planted/planted.ts', to: '../planted-below.ts' },
  { rule: 'ports-are-types', file: 'src/domain/ports/planted-code.ts', to: '../planted-below.ts' },
  ...brokenOrders(),
  {
    rule: 'rules-know-no-outbox',
    file: 'src/domain/notifications/rules/planted-back.ts',
    to: '../outbox/planted.ts',
    type: true,
  },
  {
    rule: 'outbox-knows-no-watching',
    file: 'src/domain/notifications/outbox/planted-back.ts',
    to: '../watching/planted.ts',
    type: true,
  },
  { rule: 'edges-never-meet', file: 'src/http/planted-engine.ts', to: '../engines/planted.ts' },
  { rule: 'edges-never-meet', file: 'src/engines/planted-mqtt.ts', to: '../mqtt/planted.ts' },
  { rule: 'edges-never-meet', file: 'src/mqtt/planted-delivery.ts', to: '../delivery/planted.ts' },
  { rule: 'edges-never-meet', file: 'src/delivery/planted-http.ts', to: '../http/planted.ts', type: true },
  { rule: 'engines-share-downwards', file: 'src/engines/shared/planted-engine.ts', to: '../embedded/planted.ts' },
  { rule: 'engines-never-meet', file: 'src/engines/embedded/planted-other.ts', to: '../postgres/planted.ts' },
  { rule: 'engines-have-one-door', file: 'src/cli/planted-engine.ts', to: '../engines/embedded/planted.ts' },
  { rule: 'every-part-has-its-place', file: 'src/engines/embedded/planted/planted.ts', to: '../database/planted.ts' },
  {
    rule: 'every-part-on-postgres-has-its-place',
    file: 'src/engines/postgres/planted/planted.ts',
    to: '../database/planted.ts',
  },
  {
    rule: 'parts-on-postgres-know-not-who-opens-them',
    file: 'src/engines/postgres/log/planted.ts',
    to: '../planted-door.ts',
  },
  { rule: 'parts-know-not-who-opens-them', file: 'src/engines/embedded/log/planted.ts', to: '../planted-door.ts' },
  { rule: 'every-part-of-http-has-its-place', file: 'src/http/planted/planted.ts', to: '../server/planted.ts' },
  { rule: 'versions-know-not-who-registers-them', file: 'src/http/v2/planted-top.ts', to: '../planted-server.ts' },
  { rule: 'packets-know-no-broker', file: 'src/mqtt/protocol/planted.ts', to: '../planted-broker.ts' },
  { rule: 'versions-never-meet', file: 'src/http/v1/planted.ts', to: '../v2/planted-below.ts' },
  { rule: 'versions-never-meet', file: 'src/http/v2/planted.ts', to: '../v1/planted-below.ts' },
  { rule: 'version-1-only-translates', file: 'src/http/v1/planted-rule.ts', to: '../../domain/planted-below.ts' },
  { rule: 'config-is-read-where-parts-are-wired', file: 'src/engines/planted-config.ts', to: '../config/planted.ts' },
  { rule: 'config-knows-only-base', file: 'src/config/planted-http.ts', to: '../http/planted.ts' },
  { rule: 'config-knows-no-edge', file: 'src/config/planted-http-type.ts', to: '../http/planted.ts', type: true },
  { rule: 'limits-are-constants', file: 'src/config/limits.ts', to: '../base/planted-below.ts' },
  { rule: 'server-is-above-all-but-main', file: 'src/http/planted-server.ts', to: '../server.ts' },
  { rule: 'wiring-is-of-the-server', file: 'src/http/planted-wiring.ts', to: '../wiring/wire-rules.ts' },
  { rule: 'server-knows-no-verbs', file: 'src/server.ts', to: './cli/planted.ts' },
  { rule: 'nothing-imports-main', file: 'src/cli/planted-main.ts', to: '../main.ts' },
  { rule: 'nothing-imports-tests', file: 'src/cli/planted-test.ts', to: '../base/planted.test.ts' },
  { rule: 'no-development-packages', file: 'src/mqtt/planted-client.ts', to: 'mqtt' },
  {
    rule: 'the-dashboard-is-a-client',
    file: 'dashboard/src/api/planted-server.ts',
    to: '../../../src/base/planted.ts',
  },
  { rule: 'nothing-imports-the-dashboard', file: 'src/http/planted-page.ts', to: '../../dashboard/src/planted.ts' },
  { rule: 'features-never-meet', file: 'dashboard/src/features/devices/planted.tsx', to: '../users/planted-below.tsx' },
  { rule: 'features-know-no-app', file: 'dashboard/src/features/users/planted.tsx', to: '../../app/planted-below.tsx' },
  {
    rule: 'shared-is-below-features',
    file: 'dashboard/src/shared/planted.tsx',
    to: '../features/users/planted-below.tsx',
  },
  { rule: 'dashboard-api-draws-nothing', file: 'dashboard/src/api/planted.ts', to: '../shared/planted-below.tsx' },
  { rule: 'no-cycles', file: 'src/base/planted-one.ts', to: './planted-two.ts' },
  { rule: 'no-unresolved', file: 'src/base/planted-lost.ts', to: 'package-nobody-has' },
  { rule: 'no-barrels', file: 'src/base/planted-barrel.ts', to: './planted/index.ts' },
  { rule: 'no-vague-names', file: 'src/base/planted-vague.ts', to: './planted-utils.ts' },
];

/**
 * Each noun of the domain with a type of the one behind it, and each part of the embedded engine and of http likewise:
 * the smallest step against their order.
 */
function brokenOrders(): Breach[] {
  const orders = [
    { folder: 'src/domain', rule: 'know-no-later-noun', last: 'notifications' },
    { folder: 'src/engines/embedded', rule: 'knows-no-later-part', last: 'move' },
    { folder: 'src/engines/postgres', rule: 'knows-no-later-part-on-postgres', last: 'move' },
    { folder: 'src/http', rule: 'knows-no-later-part-of-http', last: 'v2' },
  ];
  return orders.flatMap(({ folder, rule, last }) => {
    const names = config.forbidden.flatMap(({ name }) => new RegExp(`^([a-z-]+)-${rule}$`).exec(name)?.[1] ?? []);
    return names.map((name, place) => ({
      rule: `${name}-${rule}`,
      file: `${folder}/${name}/planted-order.ts`,
      to: `../${names[place + 1] ?? last}/planted-later.ts`,
      type: true as const,
    }));
  });
}

/** Closes the cycle of the breach of `no-cycles`, with a type only, which is told of where the cycle begins. */
const wayBack = { file: 'src/base/planted-two.ts', to: './planted-one.ts', type: true } as const;

/** What must stay allowed beside them. */
const allowed: readonly Omit<Breach, 'rule'>[] = [
  { file: 'src/domain/allowed-base.ts', to: '../base/planted-below.ts' },
  { file: 'src/domain/notifications/allowed-order.ts', to: '../callers/planted-earlier.ts' },
  { file: 'src/domain/ports/allowed-type.ts', to: '../planted-below.ts', type: true },
  { file: 'src/domain/allowed-crypto.ts', to: 'node:crypto' },
  { file: 'src/domain/allowed.test.ts', to: '../engines/planted.ts' },
  { file: 'src/engines/embedded/allowed.ts', to: '../shared/planted.ts' },
  { file: 'src/engines/embedded/sealing/allowed-order.ts', to: '../log/planted-earlier.ts' },
  { file: 'src/http/v2/allowed.ts', to: '../server/planted.ts' },
  { file: 'src/http/v2/allowed-package.ts', to: 'typebox', type: true },
  { file: 'src/mqtt/allowed-limits.ts', to: '../config/limits.ts' },
  { file: 'src/config/allowed-type.ts', to: '../domain/planted-below.ts', type: true },
  { file: 'src/cli/allowed-engine.ts', to: '../engines/open.ts' },
  { file: 'src/cli/allowed-server.ts', to: '../server.ts' },
  { file: 'src/cli/allowed-config.ts', to: '../config/planted.ts' },
  { file: 'dashboard/src/features/users/allowed.tsx', to: '../../shared/planted-below.tsx' },
  { file: 'dashboard/src/app/allowed.tsx', to: '../features/users/planted-below.tsx' },
  { file: 'test/allowed.test.ts', to: '../src/server.ts' },
];

suite('the check of the floors', () => {
  let folder: string;
  let untouched: CheckResult;
  let planted: CheckResult;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dundun-floors-'));
    for (const part of ['src', 'dashboard/src', 'test/support', 'scripts']) {
      await cp(join(root, part), join(folder, part), { recursive: true });
    }
    for (const file of ['package.json', '.dependency-cruiser.cjs']) await cp(join(root, file), join(folder, file));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    untouched = await cruise(folder);
    await plant(folder);
    planted = await cruise(folder);
  });

  after(() => rm(folder, { recursive: true, force: true }));

  test('it sees the modules of src and passes them', () => {
    assert.equal(untouched.exitCode, 0, untouched.output);
    const [, modules, dependencies] = /\((\d+) modules, (\d+) dependencies cruised\)/.exec(untouched.output) ?? [];
    assert.ok(Number(modules) > 0, untouched.output);
    assert.ok(Number(dependencies) > 0, untouched.output);
  });

  test('it fails on a tree with forbidden imports', () => {
    assert.notEqual(planted.exitCode, 0, planted.output);
  });

  for (const { rule, file, to, type } of breaches) {
    test(`${rule} is named when ${file} imports ${type ? 'a type of ' : ''}${to}`, () => {
      assert.ok(rulesBrokenBy(file, planted).includes(rule), planted.output);
    });
  }

  for (const { file, to, type } of allowed) {
    test(`${file} may import ${type ? 'a type of ' : ''}${to}`, () => {
      assert.deepEqual(rulesBrokenBy(file, planted), [], planted.output);
    });
  }

  test('every rule has a breach that it is tried on', () => {
    const tried = new Set(breaches.map((breach) => breach.rule));
    assert.deepEqual([...tried].sort(), config.forbidden.map((rule) => rule.name).sort());
  });
});

suite('the check of patterns', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dundun-patterns-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** What the check says of one file with this in it. */
  async function check(source: string): Promise<CheckResult> {
    await writeFile(join(folder, 'planted.ts'), source);
    const args = [join(root, 'scripts/check-patterns.ts'), folder];
    return new Promise((done) => {
      execFile(process.execPath, args, { cwd: root }, (error, stdout, stderr) =>
        done({ exitCode: error === null ? 0 : 1, output: stdout + stderr }),
      );
    });
  }

  const refused: Readonly<Record<string, string>> = {
    'takes a square of time': String.raw`export const number = /^\d+\.?\d*$/;`,
    'takes for ever': 'export const words = /^(a+)+$/;',
    'begins anew at each place': String.raw`export const slashes = 'a'.replace(/\/+$/, '');`,
    'is put together': "export const made = (word: string) => new RegExp('^' + word);",
    'is put together without new': "export const made = (word: string) => RegExp('^' + word);",
  };
  for (const [what, source] of Object.entries(refused)) {
    test(`a pattern that ${what} is named with its place`, async () => {
      const { exitCode, output } = await check(`// first line\n${source}`);
      assert.notEqual(exitCode, 0, output);
      assert.match(output, /planted\.ts:2: /);
    });
  }

  test('patterns whose time grows with the text alone pass', async () => {
    const { exitCode, output } = await check(
      'export const hex = /^[0-9a-f]{2,64}$/;\nexport const id = /^[a-z]+-[0-9]+$/;',
    );
    assert.equal(exitCode, 0, output);
    assert.match(output, /^2 patterns in 1 files, 0 of them/m);
  });

  test('a folder without a pattern is taken for one that was not read', async () => {
    assert.notEqual((await check('export const nothing = 1;')).exitCode, 0);
  });
});

type CheckResult = { readonly exitCode: number; readonly output: string };

function cruise(folder: string): Promise<CheckResult> {
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  return new Promise((done) => {
    execFile(process.execPath, [program, 'src', 'test', 'dashboard/src'], { cwd: folder }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code ?? 1);
      done({ exitCode, output: `${stdout}${stderr}` });
    });
  });
}

/** The checker writes `error <rule>: <file> → <imported>`; a cycle goes on over further lines. */
function rulesBrokenBy(file: string, { output }: CheckResult): string[] {
  const told = output.matchAll(/^ *error (?<rule>[\w-]+): (?<from>\S+)/gm);
  return [...told].filter(({ groups }) => groups?.from === file).map(({ groups }) => groups?.rule ?? '');
}

async function plant(folder: string): Promise<void> {
  const plants: readonly Omit<Breach, 'rule'>[] = [...breaches, ...allowed, wayBack];
  // First empty files to import, then those that import, which may be the same.
  for (const { file, to } of plants) {
    if (to.startsWith('.')) await write(join(folder, dirname(file), to), 'export type Planted = string;\n');
  }
  for (const { file, to, type } of plants) {
    const statement = type ? `import type { Planted } from '${to}';` : `import '${to}';`;
    await write(join(folder, file), `${statement}\nexport type Planted = string;\n`);
  }
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
