// Renews the list of common passwords: `node scripts/update-password-list.ts 4.1.3`. Takes the ten thousand most
// common ones out of the npm package @zxcvbn-ts/language-common, whose list is in order of frequency. By hand, when a
// version is worth it.
import { writeFileSync } from 'node:fs';
import { readPackageFile } from './unpack-package.ts';

const target = 'src/domain/users/password-list.json';
const passwordsKept = 10_000;

const version = process.argv[2];
if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('Name the version: node scripts/update-password-list.ts 4.1.3');
  process.exitCode = 1;
} else {
  update(version);
}

function update(wanted: string): void {
  const name = '@zxcvbn-ts/language-common';
  const text = readPackageFile({ name, version: wanted, license: 'MIT', file: 'src/passwords.json' });
  const all = JSON.parse(text) as readonly string[];
  const folded = all.map((password) => password.normalize('NFKC').toLowerCase());
  const kept = [...new Set(folded)].filter((password) => !/\s/.test(password)).slice(0, passwordsKept);
  if (kept.length < passwordsKept) throw new Error(`The list has ${kept.length} passwords only.`);
  const table = {
    source: `The ${passwordsKept} most common passwords, most common first, in lower case, from ${name} ${wanted}`,
    license: 'MIT',
    made_by: `node scripts/update-password-list.ts ${wanted}`,
    passwords: kept.join(' '),
  };
  writeFileSync(target, `${JSON.stringify(table, null, 1)}\n`);
  console.log(`${kept.length} passwords of ${name} ${wanted}.`);
}
