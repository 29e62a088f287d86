import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadAverages } from './load-averages.ts';

test('a steady rate becomes the average of each span, the short one first', () => {
  const load = new LoadAverages();
  for (let tick = 1; tick <= 6; tick += 1) load.take(tick * 20, 10);
  // After a minute of 120 a minute: 120 × (1 − e^(−60/span)).
  assert.equal(load.of('1min').toFixed(2), (120 * (1 - Math.exp(-1))).toFixed(2));
  assert.equal(load.of('5min').toFixed(2), (120 * (1 - Math.exp(-1 / 5))).toFixed(2));
  assert.equal(load.of('15min').toFixed(2), (120 * (1 - Math.exp(-1 / 15))).toFixed(2));
});

test('silence lets it decay, and looks of uneven length count by their length', () => {
  const load = new LoadAverages();
  load.take(60, 60);
  const before = load.of('1min');
  load.take(60, 30);
  load.take(60, 30);
  assert.equal(load.of('1min').toFixed(6), (before * Math.exp(-1)).toFixed(6));
});
