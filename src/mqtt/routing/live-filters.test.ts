// How the memory for filters of connected clients is shared: callers without an account, from however many addresses they
// come, leave a part to users.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../config/limits.ts';
import type { ClientSession } from '../sessions.ts';
import type { FilterOptions } from './live-filter.ts';
import { LiveFilters } from './live-filters.ts';

const sessionOf = (key: string, { guest }: { readonly guest: boolean }) =>
  ({ client: { clean: true }, actor: { caller: { key }, guest }, filters: new Map() }) as unknown as ClientSession;

const options: FilterOptions = {
  qos: 0,
  noLocal: false,
  retainAsPublished: false,
  retainHandling: 0,
  identifier: undefined,
};

/** Filters that the session is granted, up to its bound. */
function takeAll(live: LiveFilters, session: ClientSession): number {
  let count = 0;
  while (count < limits.sessionFiltersMax && live.take(session, `devices/d${count}/sensors/+/value`, options))
    count += 1;
  return count;
}

test('guests from very many addresses leave a user as many filters as a session may have', () => {
  const live = new LiveFilters();
  const guests = Array.from({ length: 200 }, (_, n) => sessionOf(`address 10.0.0.${n}`, { guest: true }));
  const one = Array.from({ length: 20 }, () => sessionOf('address 192.0.2.1', { guest: true }));
  const ofOne = one.reduce((sum, session) => sum + takeAll(live, session), 0);
  assert.ok(ofOne >= 2_000, `one address may have ${ofOne}`);
  for (const session of guests) takeAll(live, session);
  const ofUser = takeAll(live, sessionOf('a user', { guest: false }));
  assert.ok(ofUser >= 500);
  // What they give back can be taken again.
  for (const session of [...one, ...guests]) live.releaseAll(session);
  assert.equal(live.ofClean, ofUser);
  assert.equal(takeAll(live, sessionOf('address 192.0.2.2', { guest: true })), limits.sessionFiltersMax);
});
