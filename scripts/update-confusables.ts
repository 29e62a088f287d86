// Renews the table of characters that look alike (Unicode Technical Standard 39): `node scripts/update-confusables.ts
// 1.0.6`. Takes it out of the npm package unhomoglyph, which has Unicode's confusables.txt as JSON. By hand, when a
// version is worth it.
import { writeFileSync } from 'node:fs';
import { readPackageFile } from './unpack-package.ts';

const target = 'src/domain/users/confusables.json';

const version = process.argv[2];
if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('Name the version: node scripts/update-confusables.ts 1.0.6');
  process.exitCode = 1;
} else {
  update(version);
}

function update(wanted: string): void {
  const name = 'unhomoglyph';
  const read = (file: string) => readPackageFile({ name, version: wanted, license: 'MIT', file });
  const unicode = /confusables\.txt\), v(\d+\.\d+\.\d+)/.exec(read('README.md'))?.[1];
  if (unicode === undefined) throw new Error('The package does not name its version of confusables.txt any more.');
  const pairs = Object.entries(JSON.parse(read('data.json')) as Readonly<Record<string, string>>);
  const lines = pairs.map(([from, to]) => `${hexOf(from)} ${hexOf(to)}`).sort();
  const table = {
    source: `Characters and what they look like: confusables.txt of Unicode ${unicode}, from ${name} ${wanted}`,
    license: 'MIT; the data under the Unicode License',
    made_by: `node scripts/update-confusables.ts ${wanted}`,
    entries: 'character, space, its prototype of one or more characters joined by dots, as hexadecimal code points',
    characters: lines.join(','),
  };
  writeFileSync(target, `${JSON.stringify(table, null, 1)}\n`);
  console.log(`${lines.length} characters of Unicode ${unicode}.`);
}

function hexOf(text: string): string {
  return [...text].map((character) => character.codePointAt(0)?.toString(16)).join('.');
}
