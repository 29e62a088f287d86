// Imported before the service in tests (`node --import`), in each of its threads: sets limits to what the test says in
// DUNDUN_TEST_LIMITS, so that what is done in the background for many datapoints is done for few, and a kill meets it.
import assert from 'node:assert/strict';
import { limits } from '../../src/config/limits.ts';

for (const [name, value] of Object.entries(JSON.parse(process.env['DUNDUN_TEST_LIMITS'] ?? '{}'))) {
  assert.equal(typeof value, typeof limits[name as keyof typeof limits], `There is no limit ${name}.`);
  Object.assign(limits, { [name]: value });
}
