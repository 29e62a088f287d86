// What every engine must do alike with links that are mailed to users, and with the addresses that they confirm. Run on
// each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { AccountLink } from '../../../src/domain/accounts/account-link-store.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { found, Records } from './records.ts';

export function accountLinksSuite({ name, open }: EngineKind): void {
  suite(`mailed links on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const bounds = { max: 5, nowMs };
    const links = () => opened.stores.accountLinks;
    const nowOf = async ({ key }: User) => found(await opened.stores.users.findByKey(key));

    async function made(user: User, fields: Partial<AccountLink> = {}, max = 5): Promise<AccountLink> {
      const link = { hash: records.name('hash'), user: user.key, purpose: 'reset', email: user.email ?? '', createdMs: nowMs, expiresMs: nowMs + 1, ...fields } as const; // biome-ignore format: one line
      await links().create(link, { ...bounds, max });
      return link;
    }

    async function confirmed(email = 'awa@dundun.example'): Promise<User> {
      const user = await records.user({ email });
      assert.equal(await links().confirm(await made(user, { purpose: 'confirm' })), true);
      return nowOf(user);
    }

    test('a link is read back whole, now and after reopening', async () => {
      const link = await made(await records.user(), { purpose: 'confirm', email: 'Ünï@dundun.example' });
      assert.deepEqual(await links().find(link.hash), link);
      await opened.reopen();
      assert.deepEqual(await links().find(link.hash), link);
      assert.equal(await links().find('nothing'), undefined);
    });

    test('a user has so many of a purpose, the newest; those of others and those that have not expired stay', async () => {
      const [user, other] = [await records.user(), await records.user()];
      const theirs = await made(other);
      const confirming = await made(user, { purpose: 'confirm' });
      const all = [await made(user, {}, 2), await made(user, {}, 2), await made(user, {}, 2)];
      const there = await Promise.all([theirs, confirming, ...all].map(async ({ hash }) => (await links().find(hash)) !== undefined)); // biome-ignore format: one line
      assert.deepEqual(there, [true, true, false, true, true]);
      await links().create({ ...theirs, hash: records.name('hash') }, { max: 5, nowMs: nowMs + 1 });
      assert.equal(await links().find(theirs.hash), undefined);
    });

    test('a confirmation is that of the address it was sent to, and is spent once', async () => {
      const user = await confirmed();
      assert.equal(user.confirmedEmail, 'awa@dundun.example');
      const again = await made(user, { purpose: 'confirm' });
      assert.deepEqual([await links().confirm(again), await links().confirm(again)], [true, false]);
    });

    test('a user with another address has confirmed none, and no link to the one before is left', async () => {
      const user = await confirmed();
      const [reset, confirming] = [await made(user), await made(user, { purpose: 'confirm' })];
      await opened.stores.users.update(user.key, {
        profile: { email: user.email ?? '', firstName: 'Awa' },
        admin: false,
      });
      assert.equal((await nowOf(user)).confirmedEmail, user.email);
      assert.deepEqual(await links().find(reset.hash), reset);
      await opened.stores.users.update(user.key, { profile: { email: 'other@dundun.example' }, admin: false });
      assert.equal((await nowOf(user)).confirmedEmail, undefined);
      for (const { hash } of [reset, confirming]) assert.equal(await links().find(hash), undefined);
      assert.equal(await links().confirm(confirming), false);
      await opened.stores.users.update(user.key, { profile: {}, admin: false });
      assert.equal((await nowOf(user)).confirmedEmail, undefined);
    });

    test('a new password by a link ends the other links and the sessions, and keys where it is said', async () => {
      const user = await confirmed();
      const key = { id: records.name('key'), owner: user.key, name: 'k', scopes: undefined, devices: undefined, dateCreatedMs: nowMs, expiresMs: undefined, lastUsedMs: undefined }; // biome-ignore format: one line
      await opened.stores.keys.create(key, { hash: records.name('hash') });
      const [first, second] = [await made(user), await made(user)];
      assert.equal(await links().setPassword(first, { hash: 'phc', endKeys: false }), true);
      const changed = await nowOf(user);
      assert.deepEqual([changed.passwordHash, changed.passwordVersion], ['phc', user.passwordVersion + 1]);
      assert.equal(await links().setPassword(second, { hash: 'late', endKeys: true }), false);
      assert.equal((await nowOf(user)).passwordHash, 'phc');
      assert.ok((await opened.stores.keys.findById(key.id)) !== undefined);
      assert.equal(await links().setPassword(await made(user), { hash: 'phc', endKeys: true }), true);
      assert.equal(await opened.stores.keys.findById(key.id), undefined);
    });

    test('of two that spend a link at the same time one does', async () => {
      const user = await confirmed();
      const link = await made(user);
      const spent = await Promise.all(
        ['a', 'b', 'c'].map((hash) => links().setPassword(link, { hash, endKeys: false })),
      );
      assert.deepEqual(spent.filter((one) => one).length, 1);
      assert.equal((await nowOf(user)).passwordVersion, user.passwordVersion + 1);
    });

    test('a new password by other ways ends the links to set one, and a removal all', async () => {
      const user = await confirmed();
      const [reset, confirming] = [await made(user), await made(user, { purpose: 'confirm' })];
      await opened.stores.users.setPassword(user.key, 'phc', { endKeys: false });
      assert.equal(await links().find(reset.hash), undefined);
      assert.deepEqual(await links().find(confirming.hash), confirming);
      await opened.stores.users.remove(user.key, { newOwner: undefined, atMs: nowMs });
      assert.equal(await links().find(confirming.hash), undefined);
    });

    test('users are found by the address that they have confirmed, whatever the case of ASCII letters', async () => {
      const one = await confirmed('Case@dundun.example');
      const two = await confirmed('case@DUNDUN.example');
      await records.user({ email: 'case@dundun.example' });
      const byEmail = async (email: string, limit = 5) =>
        (await opened.stores.users.listByConfirmedEmail(email, limit)).map(({ key }) => key);
      assert.deepEqual(await byEmail('CASE@dundun.example'), [one.key, two.key]);
      assert.deepEqual(await byEmail('case@dundun.example', 1), [one.key]);
      for (const other of ['', '%', 'ase@dundun.example', 'cаse@dundun.example', 'caſe@dundun.example'])
        assert.deepEqual(await byEmail(other), [], other);
    });
  });
}
