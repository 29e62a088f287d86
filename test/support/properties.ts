// How many runs a property test makes, and its seed, which is printed so that a failure can be repeated:
// DUNDUN_TEST_SEED=… npm test -- …
import type { Parameters } from 'fast-check';

const seed = Number(process.env['DUNDUN_TEST_SEED'] ?? Date.now() % 0x7fff_ffff);
const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const isFast = process.env['DUNDUN_TEST_FAST'] === '1';
/** Where `factor` is one. */
const runs = isLong ? 10_000 : isFast ? 15 : 300;
let isPrinted = false;

/**
 * Parameters for `fc.assert`: a few hundred runs, 10 000 with DUNDUN_TEST_LONG=1, or a twentieth with DUNDUN_TEST_FAST=1.
 * `factor` is below one where a run is dear, above where it is cheap.
 */
export function properties<T>(options: { readonly factor?: number } = {}): Parameters<T> {
  if (!isPrinted) console.log(`properties: DUNDUN_TEST_SEED=${seed}`);
  isPrinted = true;
  return { seed, numRuns: Math.ceil(runs * (options.factor ?? 1)) };
}

/**
 * How often a test by dice of its own tries: `usual`, `long` with DUNDUN_TEST_LONG=1, or half of `usual` with
 * DUNDUN_TEST_FAST=1: what it says of most of its rounds must hold by then.
 */
export function roundsOf({ usual, long }: { readonly usual: number; readonly long: number }): number {
  return isLong ? long : isFast ? Math.ceil(usual / 2) : usual;
}
