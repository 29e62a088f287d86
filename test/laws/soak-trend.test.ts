// The statistics of the soak (bench/trend.ts): noise alone is seldom called a rise, also where neighbours are alike, and a rise
// that is larger than the noise always is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitTrend, isRising } from '../../bench/trend.ts';
import { SeededRandom } from '../support/dice.ts';

const count = 45;
const runs = 2_000;

/** Measurements about a line that rises by so much in all; each is alike the one before it by that share. */
function series(random: SeededRandom, { rise, alike }: { readonly rise: number; readonly alike: number }): number[] {
  let noise = 0;
  return Array.from({ length: count }, (_, i) => {
    // The sum of twelve uniform numbers is nearly normal, with a variance of 1.
    const fresh = Array.from({ length: 12 }, () => random.between(0, 1_000) / 1_000).reduce((a, b) => a + b, -6);
    noise = alike * noise + Math.sqrt(1 - alike ** 2) * fresh;
    return 100 + (rise * i) / (count - 1) + noise;
  });
}

function shareRising(random: SeededRandom, how: { readonly rise: number; readonly alike: number }): number {
  const rising = Array.from({ length: runs }, () => isRising(fitTrend(series(random, how)))).filter(Boolean);
  return rising.length / runs;
}

test('noise is called a rise in at most one soak of twenty, and a rise of four times the noise always', (t) => {
  const random = new SeededRandom();
  t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
  assert.ok(shareRising(random, { rise: 0, alike: 0 }) < 0.05);
  assert.ok(shareRising(random, { rise: 0, alike: 0.5 }) < 0.08);
  assert.ok(shareRising(random, { rise: 4, alike: 0 }) > 0.99);
});

test('a straight line has its slope, and no error', () => {
  const { mean, slope, slopeError, scatter } = fitTrend([1, 3, 5, 7, 9]);
  assert.deepEqual([mean, slope], [5, 2]);
  assert.ok(slopeError < 1e-9 && scatter < 1e-9);
});

test('the interval is that of a table', () => {
  const { slope, slopeError } = fitTrend([1, 2, 1, 2, 3]);
  assert.ok(Math.abs(slope - 0.4) < 1e-9);
  // Residuals 0, 0.6, -0.8, -0.2, 0.4 about the mean 1.8: squares 1.2, scatter √0.4, standard error 0.2; t for 3 degrees is 3.182.
  assert.ok(Math.abs(slopeError - 3.182 * 0.2) < 0.01, String(slopeError));
});
