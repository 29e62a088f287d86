// Other limits for the tests of a file, which may share its process with other files (scripts/test-bundles.ts).
import { after, before } from 'node:test';
import { limits } from '../../src/config/limits.ts';

/** Sets limits before the tests of the file or suite that calls it, and sets them back afterwards. */
export function setLimits(some: Readonly<Partial<Record<keyof typeof limits, number>>>): void {
  const usual = Object.fromEntries(Object.keys(some).map((name) => [name, limits[name as keyof typeof limits]]));
  before(() => void Object.assign(limits, some));
  after(() => void Object.assign(limits, usual));
}
