// Imported before the service in tests (`node --import`), in each of its threads: sets limits as DUNDUN_TEST_LIMITS
// says, so that background work that needs many datapoints happens with few, and a kill can hit it.
import assert from 'node:assert/strict';
import { limits } from '../../src/config/limits.ts';

for (const [name, value] of Object.entries(JSON.parse(process.env['DUNDUN_TEST_LIMITS'] ?? '{}'))) {
  assert.equal(typeof value, typeof limits[name as keyof typeof limits], `There is no limit ${name}.`);
  Object.assign(limits, { [name]: value });
}
