// Renews the renderer of /docs: `node scripts/update-reference-bundle.ts 1.72.1`. Takes the one file that a browser
// needs out of the npm package, byte for byte, and keeps it compressed beside its origin (docs/decisions/0003). By hand,
// when a version is worth it; test/http/server/docs.test.ts says whether the page still needs no other host.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const name = '@scalar/api-reference';
const file = 'dist/browser/standalone.js';
const folder = 'src/http/docs/vendor/scalar';

const version = process.argv[2];
if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('Name the version: node scripts/update-reference-bundle.ts 1.72.1');
  process.exitCode = 1;
} else {
  update(version);
}

function update(wanted: string): void {
  const unpacked = unpack(`${name}@${wanted}`);
  try {
    const { license } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8')) as { license: string };
    if (license !== 'MIT') throw new Error(`The license is ${license} now, not MIT. Read it before you go on.`);
    const script = readFileSync(join(unpacked, file));
    const compressed = gzipSync(script, { level: 9 });
    const sha256 = createHash('sha256').update(script).digest('hex');
    writeFileSync(join(folder, 'standalone.js.gz'), compressed);
    writeFileSync(
      join(folder, 'origin.json'),
      `${JSON.stringify({ package: name, version: wanted, file, license, sha256 }, null, 2)}\n`,
    );
    console.log(`${name} ${wanted}: ${script.length} bytes, ${compressed.length} compressed.`);
  } finally {
    rmSync(unpacked, { recursive: true });
  }
}

/** The folder with the files of a package, of which npm has checked the integrity. */
function unpack(wanted: string): string {
  const target = mkdtempSync(join(tmpdir(), 'reference-bundle-'));
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', target, wanted], { encoding: 'utf8' });
  execFileSync('tar', ['-xzf', join(target, packed.trim()), '-C', target, '--strip-components=1']);
  return target;
}
