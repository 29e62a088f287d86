// Renews the vocabulary of units and quantity kinds: `node scripts/update-kinds.ts 7.1.0`. Takes ids, labels and symbols
// of QUDT out of the npm packages of qudtlib into one table (docs/decisions/0007). By hand, when a version is worth it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface Term {
  readonly iri: string;
  readonly labels: readonly { readonly text: string; readonly languageTag?: string }[];
  readonly symbol?: string;
  readonly deprecated?: boolean;
  readonly generated?: boolean;
  readonly quantityKindIris?: readonly string[];
  readonly broaderQuantityKindIris?: readonly string[];
}
interface Vocabulary {
  readonly config: { readonly units: Map<string, Term>; readonly quantityKinds: Map<string, Term> };
}

const target = 'src/domain/kinds/qudt.json';
const license = 'CC-BY-4.0';

const version = process.argv[2];
if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('Name the version: node scripts/update-kinds.ts 7.1.0');
  process.exitCode = 1;
} else {
  await update(version);
}

async function update(wanted: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kinds-'));
  try {
    const core = unpack(folder, '@qudtlib/core', wanted);
    if (core.license !== license) throw new Error(`The license is ${core.license} now, not ${license}.`);
    for (const [name, needed] of Object.entries(core.dependencies)) unpack(folder, name, needed);
    unpack(folder, '@qudtlib/allunits', wanted);
    const entry = join(folder, 'node_modules/@qudtlib/allunits/dist/cjs/units.js');
    const loaded = (await import(pathToFileURL(entry).href)) as { readonly default: Vocabulary };
    const { units, quantityKinds } = loaded.default.config;
    const lines = [...units.values()].filter(isKept).map(unitLine).sort();
    const kinds = [...quantityKinds.values()]
      .filter(({ iri }) => idOf(iri) !== 'Unknown')
      .map(kindLine)
      .sort();
    writeFileSync(target, tableText(wanted, lines, kinds));
    console.log(`QUDT by qudtlib ${wanted}: ${lines.length} units, ${kinds.length} quantity kinds.`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Puts a package of the registry where it is found as a module, and says what is in its package.json. */
function unpack(folder: string, name: string, version: string) {
  const place = join(folder, 'node_modules', name);
  mkdirSync(place, { recursive: true });
  const pack = ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`];
  const packed = execFileSync('npm', pack, { encoding: 'utf8' });
  execFileSync('tar', ['-xzf', join(folder, packed.trim()), '-C', place, '--strip-components=1']);
  return JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as {
    readonly license: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
}

/** Currencies and what nobody writes are left out. */
function isKept({ iri, symbol, deprecated, generated }: Term): boolean {
  return symbol !== undefined && deprecated !== true && generated !== true && !/^(CCY_|UNKNOWN$)/.test(idOf(iri));
}

function unitLine(unit: Term): string {
  const kinds = (unit.quantityKindIris ?? [])
    .map(idOf)
    .filter((id) => id !== 'Unknown')
    .sort()
    .join(' ');
  return [idOf(unit.iri), labelOf(unit), unit.symbol, kinds].join('\t');
}

function kindLine(kind: Term): string {
  return [idOf(kind.iri), labelOf(kind), (kind.broaderQuantityKindIris ?? []).map(idOf).sort().join(' ')].join('\t');
}

function idOf(iri: string): string {
  return iri.slice(iri.lastIndexOf('/') + 1);
}

function labelOf({ iri, labels }: Term): string {
  return (labels.find(({ languageTag }) => languageTag === 'en') ?? labels[0])?.text ?? idOf(iri);
}

/** JSON with a term a line, so that a new version shows what it changes. */
function tableText(version: string, units: readonly string[], kinds: readonly string[]): string {
  const about = {
    source: `Units and quantity kinds of QUDT (https://qudt.org), as qudtlib ${version} gives them (@qudtlib/core and @qudtlib/allunits by Florian Kleedorfer and the QUDTLib authors), shortened to ids, labels and symbols`,
    license,
    made_by: `node scripts/update-kinds.ts ${version}`,
    unit_fields: 'id, label, symbol, ids of the quantity kinds it measures',
    quantity_kind_fields: 'id, label, ids of the broader kinds, whose units it shares',
  };
  const array = (lines: readonly string[]) => `[\n${lines.map((line) => JSON.stringify(line)).join(',\n')}\n]`;
  const fields = [
    ...Object.entries(about).map(([key, text]) => [key, JSON.stringify(text)]),
    ...[
      ['units', array(units)],
      ['quantity_kinds', array(kinds)],
    ],
  ];
  return `{\n${fields.map(([key, json]) => `"${key}": ${json}`).join(',\n')}\n}\n`;
}
