// Rights on notifications, which depend on the author and not on scopes (I6).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../base/refusal.ts';
import { Caller } from '../callers/caller.ts';
import { noScopes, scope } from '../scopes.ts';
import type { Actor, KeyScopes } from '../users/user.ts';
import { Permissions } from './permission.ts';

const caller = new Caller('id');
const actor = (key: number, more: Partial<Actor> = {}): Actor => {
  return { key, userId: `id-${key}`, username: `user-${key}`, admin: false, guest: false, caller, ...more };
};
const limits = (more: Partial<KeyScopes>): KeyScopes => {
  const reads = { scopes: scope.view | scope.dataView, devices: undefined };
  return { keyId: 'k', admin: false, metrics: false, ...reads, whole: false, ...more };
};
const permissions = new Permissions({ guestAccess: 'full' });

/** The code of the refusal, for reading and changing a rule of user 1; undefined where it is allowed. */
function refused(who: Actor): string | undefined {
  try {
    permissions.requireAuthor(who, { id: 'rule', authorKey: 1 });
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return error.code;
  }
}

test('a rule is for its author and admins', () => {
  assert.equal(refused(actor(1)), undefined);
  assert.equal(refused(actor(2, { admin: true })), undefined);
  assert.equal(refused(actor(2)), 'forbidden');
  assert.equal(refused(actor(3, { guest: true })), 'forbidden');
});

test('an API key that leaves less than all rights has no say in rules, which act with all rights of their author', () => {
  const whole = limits({ whole: true });
  assert.equal(refused(actor(1, { keyScopes: whole })), undefined);
  assert.equal(permissions.rulesOf(actor(1, { keyScopes: whole })), 'own');
  const narrow = [
    limits({}),
    limits({ devices: new Set(['d1']) }),
    limits({ admin: true }),
    limits({ scopes: noScopes }),
  ];
  for (const narrowed of narrow) {
    const who = actor(1, { keyScopes: narrowed, admin: narrowed.admin });
    assert.equal(refused(who), 'forbidden');
    assert.throws(() => permissions.requireRules(who), Refusal);
    assert.throws(() => permissions.rulesOf(who), Refusal);
  }
});

test('a list shows what may be read one by one', () => {
  assert.equal(permissions.rulesOf(actor(1, { admin: true })), 'all');
  assert.equal(permissions.rulesOf(actor(1)), 'own');
  assert.equal(permissions.rulesOf(actor(1, { guest: true })), 'own');
  assert.equal(new Permissions({ guestAccess: 'push' }).rulesOf(actor(1, { guest: true })), 'none');
  assert.throws(() => new Permissions({ guestAccess: 'none' }).rulesOf(actor(1, { guest: true })), Refusal);
});
