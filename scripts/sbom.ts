// `npm run sbom`: the software bill of materials of what users get, as CycloneDX on standard output; with --licences, writes
// docs/licences.md from it instead. npm makes it of what is installed; left out are packages that only develop and test,
// kept are those that the dashboard is built from, and added is the reference at /docs, which is kept in the source.
// Needs `npm ci` to have run. test/process/project/licences.test.ts holds docs/licences.md against it.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly metadata: { readonly component: { readonly name: string; readonly type: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

interface BuiltIn {
  readonly name: string;
  readonly version: string;
}

const folder = new URL('../', import.meta.url);
const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, folder), 'utf8'));

const builtIn = new Set(
  (read('dashboard/dist/licenses.json') as readonly BuiltIn[]).map(({ name, version }) => `${name}@${version}`),
);
const bom = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    // npm warns of settings of the machine.
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as Bom;
const reference = read('src/http/docs/vendor/scalar/origin.json') as Record<
  'package' | 'version' | 'license' | 'sha256',
  string
>;

const components = bom.components.filter((component) => !isForDevelopment(component) || builtIn.has(nameOf(component)));
const kept = new Set(components.map((component) => component['bom-ref']));
const root = bom.dependencies.find(({ ref }) => ref.startsWith('dundun@'));
const dependencies = bom.dependencies
  .filter((dependency) => dependency === root || kept.has(dependency.ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
const scalar = {
  'bom-ref': `${reference.package}@${reference.version}`,
  type: 'library',
  name: reference.package,
  version: reference.version,
  purl: `pkg:npm/${reference.package.replace('@', '%40')}@${reference.version}`,
  hashes: [{ alg: 'SHA-256', content: reference.sha256 }],
  licenses: [{ license: { id: reference.license } }],
};

// npm names it by the folder of the checkout.
const metadata = { ...bom.metadata, component: { ...bom.metadata.component, name: 'dundun' } };

const shipped: readonly Component[] = [...components, scalar];
if (process.argv.includes('--licences')) writeFileSync(new URL('docs/licences.md', folder), licencesOf(shipped));
else console.log(JSON.stringify({ ...bom, metadata, components: shipped, dependencies }, null, 2));

function isForDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
}

function nameOf({ name, version }: Component): string {
  return `${name}@${version}`;
}

function licencesOf(parts: readonly Component[]): string {
  const rows = parts.map((part) => `| ${part.name} | ${part.version} | ${licenceOf(part)} |`).sort();
  const head = [
    '# Licences of what is shipped',
    '',
    'Written by `npm run sbom -- --licences`. The texts lie in `node_modules` beside each package; those of what the dashboard',
    'is built from are served at `/licenses.json`, that of the reference at `/docs` lies in `src/http/docs/vendor/scalar`.',
    '',
    '| package | version | licence |',
    '|---|---|---|',
  ];
  return `${[...head, ...new Set(rows)].join('\n')}\n`;
}

function licenceOf({ licenses = [] }: Component): string {
  return licenses.map(({ license, expression }) => license?.id ?? expression ?? 'unknown').join(', ') || 'unknown';
}
