// How many runs a property test makes, and its seed, which is printed so that a failure can be repeated:
// DUNDUN_TEST_SEED=… npm test -- …
import type { Parameters } from 'fast-check';

const seed = Number(process.env['DUNDUN_TEST_SEED'] ?? Date.now() % 0x7fff_ffff);
const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
let isPrinted = false;

/**
 * Parameters for `fc.assert`: a few hundred runs, or 10 000 with DUNDUN_TEST_LONG=1.
 * `factor` is below one where a run is dear, above where it is cheap.
 */
export function properties<T>(options: { readonly factor?: number } = {}): Parameters<T> {
  if (!isPrinted) console.log(`properties: DUNDUN_TEST_SEED=${seed}`);
  isPrinted = true;
  return { seed, numRuns: Math.ceil((isLong ? 10_000 : 300) * (options.factor ?? 1)) };
}
