// What every engine must do alike with users. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { messagesFrom, type User, type UserProfile } from '../../../src/domain/users/user.ts';
import type { NewUser } from '../../../src/domain/users/user-store.ts';
import { foldName } from '../../../src/domain/users/username.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, byCodePoints, found, many, plainRule, Records, succeeded } from './records.ts';
import { anyText, anyTimeMs } from './texts.ts';

const texts = fc.array(anyText, { maxLength: 3 });

const anyProfile: fc.Arbitrary<UserProfile> = fc.record(
  {
    ...{ firstName: anyText, lastName: anyText, email: anyText, phone: texts, address: texts, facebook: texts },
    ...{ twitter: texts, telegram: texts, webhook: texts, messages_from: fc.constantFrom(...messagesFrom) },
  },
  { requiredKeys: [] },
);

const anyAccount = fc.record(
  {
    admin: fc.boolean(),
    createdTime: anyTimeMs,
    passwordHash: anyText,
    passwordVersion: fc.integer({ min: 1, max: 2 ** 31 }),
  },
  { requiredKeys: ['admin', 'createdTime'] },
);

export function usersSuite({ name, open }: EngineKind): void {
  suite(`users on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    const makeUser = (fields?: Partial<NewUser>) => records.user(fields);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('a user is read back whole, by key, id and name, now and after reopening', async () => {
      const made: User[] = [];
      const readsBack = async (user: User) => {
        const { users } = opened.stores;
        assert.deepEqual(await users.findByKey(user.key), user);
        assert.deepEqual(await users.findById(user.id), user);
        assert.deepEqual(await users.findByName(user.username), user);
      };
      const property = fc.asyncProperty(anyProfile, anyAccount, anyText, async (profile, account, text) => {
        const names = { id: records.name(text), username: records.name(text) };
        await opened.stores.users.create({ ...profile, ...account, ...names });
        const user = found(await opened.stores.users.findByName(names.username));
        const { key, webhookVersion } = user;
        assert.deepEqual(user, { ...profile, passwordVersion: 1, ...account, ...names, key, webhookVersion });
        await readsBack(user);
        made.push(user);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      for (const user of made) await readsBack(user);
    });

    test('nobody is found under a key, an id or a name that is not there', async () => {
      const { users } = opened.stores;
      const { username } = await makeUser({ username: 'Fatou' });
      assert.equal(await users.findByKey(2 ** 40), undefined);
      assert.equal(await users.findById(username), undefined);
      for (const other of ['fatou', 'Fatou ', 'Fato', 'Fatoù', ''])
        assert.equal(await users.findByName(other), undefined);
    });

    test('a name or an id that is taken is refused, and nothing is changed', async () => {
      const user = await makeUser();
      const changed = await records.changedBy(async () => {
        await assertRefused(makeUser({ username: user.username }), 'exists');
        await assertRefused(makeUser({ id: user.id }), 'exists');
      });
      assert.deepEqual(changed, []);
    });

    test('of many who ask for a name at once one has it', async () => {
      const username = records.name('wanted');
      const asked = Array.from({ length: 20 }, () => makeUser({ id: records.name('id'), username }));
      assert.equal(await succeeded(asked, 'exists'), 1);
    });

    test('of names that look alike one is made where they must be unlike others, however many ask at once', async () => {
      const { users } = opened.stores;
      const alike = ['paypal', 'раypal', 'PAYPAL', 'pаypal', 'paypaI'];
      assert.equal(await users.hasLookalike('paypal'), false);
      const ask = (username: string) =>
        users.create({ id: records.name('id'), username, admin: false, createdTime: 0 }, { unlikeOthers: true });
      assert.equal(await succeeded(alike.map(ask), 'exists'), 1);
      for (const username of alike) assert.equal(await users.hasLookalike(username), true);
      // Without being asked for, likeness is no reason to refuse.
      const made = await Promise.all(alike.map((username) => users.findByName(username)));
      await makeUser({ username: found(alike[made.indexOf(undefined)]) });
    });

    test('a change sets the profile and the right of an admin, and touches nothing else', async () => {
      const [user] = [await makeUser({ passwordHash: 'hash', firstName: 'Awa', phone: ['+221'] }), await makeUser()];
      const profile = { email: 'awa@example.org', webhook: [] };
      const changed = await records.changedBy(() => opened.stores.users.update(user.key, { profile, admin: true }));
      assert.deepEqual(changed, [`user ${user.username}`]);
      const { firstName: _, phone: __, ...rest } = user;
      assert.deepEqual(await opened.stores.users.findByKey(user.key), { ...rest, ...profile, admin: true });
    });

    test('a new password ends the sessions of its user, and the keys where that is asked for', async () => {
      const { users } = opened.stores;
      const [user, other] = [await makeUser(), await makeUser()];
      const [key] = [await records.key(user), await records.key(other)];
      const [family] = [await records.session(user), await records.session(other)];
      const soft = await records.changedBy(() => users.setPassword(user.key, 'one', { endKeys: false }));
      assert.deepEqual(soft, [`session ${family}`, `user ${user.username}`]);
      await records.session(user);
      const versionOf = async () => (await users.findByKey(user.key))?.passwordVersion;
      assert.equal(await versionOf(), 2);
      await opened.stores.keys.noteUse(key.id, nowMs);
      await users.setPassword(user.key, 'two', { endKeys: true });
      assert.deepEqual(await opened.stores.keys.list(user.key), []);
      assert.deepEqual(await opened.stores.refreshSessions.list(user.key, 0), []);
      assert.equal((await opened.stores.keys.list(other.key)).length, 1);
      assert.equal((await users.findByKey(user.key))?.passwordHash, 'two');
      // Each of many at once is counted.
      await Promise.all(['3', '4', '5', '6'].map((hash) => users.setPassword(user.key, hash, { endKeys: false })));
      assert.equal(await versionOf(), 7);
    });

    test('the key of webhooks has a new version each time it is rotated', async () => {
      const user = await makeUser();
      const changed = await records.changedBy(() =>
        Promise.all([1, 2, 3].map((n) => opened.stores.users.rotateWebhookKey(user.key, nowMs + n))),
      );
      assert.deepEqual(changed, [`user ${user.username}`]);
      const after = await opened.stores.users.findByKey(user.key);
      const expected = { ...user, webhookVersion: user.webhookVersion + 3, webhookRotatedMs: nowMs + 3 };
      assert.deepEqual(after, expected);
    });

    test('users are listed in order of name, page by page, with those whose names hold a text whatever its case', async () => {
      const word = records.name('page');
      const parts = ['a', 'B', '%', '_', '\\', 'É', 'e\u0301', '🥁', 'ｗｉｄｅ', '場', 'Z', ' '];
      const names = parts.flatMap((part, n) => [`${word}${part}x${n}`, `${part}${word}`]);
      await Promise.all(names.map((username) => makeUser({ id: records.name('id'), username })));
      const all = (await opened.stores.users.list({ limit: many, offset: 0 })).map(({ username }) => username);
      assert.deepEqual(all, [...all].sort(byCodePoints));
      const asked = fc.oneof(
        fc.constantFrom(...parts.map((part) => part + word), ...parts, word.toUpperCase()),
        anyText,
      );
      const page = { limit: fc.integer({ min: 0, max: 30 }), offset: fc.integer({ min: 0, max: 30 }) };
      const property = fc.asyncProperty(asked, page.limit, page.offset, async (username, limit, offset) => {
        const expected = all.filter((each) => foldName(each).includes(foldName(username)));
        const listed = await opened.stores.users.list({ username, limit, offset });
        assert.deepEqual(listed.map((user) => user.username), expected.slice(offset, offset + limit)); // biome-ignore format: short
        assert.equal(await opened.stores.users.count({ username }), expected.length);
      });
      await fc.assert(property, properties({ factor: 0.5 }));
      assert.equal(await opened.stores.users.count({}), all.length);
    });

    test('only admins who can sign in are counted as admins', async () => {
      const { users } = opened.stores;
      await makeUser({ admin: true, passwordHash: 'hash' });
      const count = await users.countAdmins();
      const admin = await makeUser({ admin: true, passwordHash: 'hash' });
      await makeUser({ admin: true });
      await makeUser({ passwordHash: 'hash' });
      assert.equal(await users.countAdmins(), count + 1);
      await users.update(admin.key, { profile: {}, admin: false });
      assert.equal(await users.countAdmins(), count);
    });
  });
}

/** The admins of a service: in an engine of its own, which has no others. */
export function lastAdminSuite({ name, open }: EngineKind): void {
  suite(`the last admin on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('stays, whether their right is taken or they are removed', async () => {
      const { users } = opened.stores;
      const admin = await records.user({ admin: true, passwordHash: 'hash' });
      // Who cannot sign in is no other admin.
      await records.user({ admin: true });
      const [gateway] = [await records.gateway(admin), await records.key(admin), await records.session(admin)];
      const heir = await records.user();
      for (const newOwner of [undefined, heir.key]) {
        const work = () => assertRefused(users.remove(admin.key, { newOwner, atMs: nowMs }), 'conflict');
        assert.deepEqual(await records.changedBy(work), []);
      }
      const demote = () => assertRefused(users.update(admin.key, { profile: {}, admin: false }), 'conflict');
      assert.deepEqual(await records.changedBy(demote), []);
      await users.update(admin.key, { profile: { firstName: 'Awa' }, admin: true });
      assert.equal((await opened.stores.gateways.find(gateway.id))?.ownerKey, admin.key);
    });

    test('is one of two who go at the same time', async () => {
      const { users } = opened.stores;
      const demote = ({ key }: User) => users.update(key, { profile: {}, admin: false });
      const remove = ({ key }: User) => users.remove(key, { newOwner: undefined, atMs: nowMs });
      const admins = async () =>
        (await users.list({ limit: many, offset: 0 })).filter((user) => user.admin && user.passwordHash !== undefined);
      for (const [one, other] of [
        [demote, demote],
        [demote, remove],
        [remove, remove],
      ] as const) {
        await records.user({ admin: true, passwordHash: 'hash' });
        const [first, second] = (await admins()) as [User, User];
        assert.equal(await succeeded([one(first), other(second)], 'conflict'), 1);
        assert.equal((await admins()).length, 1);
      }
    });
  });
}

/** What goes with a user. Beside the suite above, because it is about every noun that users own. */
export function userRemovalSuite({ name, open }: EngineKind): void {
  suite(`removing users on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    /** A user with a record of each kind, devices left out, and a friend with whom they share. */
    const endow = async () => {
      const [user, friend] = [await records.user(), await records.user()];
      const own = { gateway: await records.gateway(user), project: await records.project(user) };
      const [key, session] = [await records.key(user), await records.session(user)];
      await opened.stores.keys.noteUse(key.id, nowMs);
      const rule = await records.rule(user, { recoveryMessage: 'over' });
      const message = records.message();
      await opened.stores.messages.create(user.key, [message]);
      const device = await records.device(friend);
      await opened.stores.devices.putShare(device.key, user.key, { scopes: 1, givenBy: friend.key });
      const names = [`key ${key.id}`, `session ${session}`, `rule ${rule.id}`, `watched ${rule.id}`];
      const gone = [`message ${message.id}`, `share ${device.id} ${user.username}`, `user ${user.username}`];
      return { user, friend, device, ...own, gone: [...names, ...gone, `usage of ${user.username}`] };
    };

    test('takes all that is theirs, and nothing of others', async () => {
      const { user, gateway, project, gone } = await endow();
      const removal = { newOwner: undefined, atMs: nowMs + 5 };
      const changed = await records.changedBy(() => opened.stores.users.remove(user.key, removal));
      assert.deepEqual(changed, [...gone, `gateway ${gateway.id}`, `project ${project.id}`].sort());
      await opened.reopen();
      assert.equal(await opened.stores.users.findByName(user.username), undefined);
      assert.equal(await opened.stores.gateways.find(gateway.id), undefined);
      assert.equal(await opened.stores.projects.find(project.id), undefined);
      assert.equal(await opened.stores.quotas.find(user.key), undefined);
      assert.deepEqual(await opened.stores.messages.countPaid(1, [user.key]), new Map());
    });

    test('hands gateways and projects to the new owner where there is one', async () => {
      const { user, friend, gateway, project, gone } = await endow();
      const removal = { newOwner: friend.key, atMs: nowMs + 5 };
      const changed = await records.changedBy(() => opened.stores.users.remove(user.key, removal));
      const moved = [`gateway ${gateway.id}`, `project ${project.id}`, `usage of ${friend.username}`];
      assert.deepEqual(changed, [...gone, ...moved].sort());
      const heir = { ownerKey: friend.key, owner: friend.username };
      const expected = { ...gateway, ...heir, dateModifiedMs: nowMs + 5 };
      assert.deepEqual(await opened.stores.gateways.find(gateway.id), expected);
      assert.deepEqual(await opened.stores.projects.find(project.id), { ...project, ...heir });
      assert.deepEqual(await opened.stores.users.listGateways(friend.key, many), [gateway.id]);
    });

    test('is refused as a whole while they own a device', async () => {
      const { user } = await endow();
      const device = await records.device(user);
      for (const newOwner of [undefined, (await records.user()).key]) {
        const work = () => assertRefused(opened.stores.users.remove(user.key, { newOwner, atMs: nowMs }), 'not-found');
        assert.deepEqual(await records.changedBy(work), []);
      }
      await opened.stores.devices.remove(device.key);
      await opened.stores.users.remove(user.key, { newOwner: undefined, atMs: nowMs });
    });

    test('leaves the shares they gave, and forgets who gave them', async () => {
      const [owner, giver, friend] = [await records.user(), await records.user(), await records.user()];
      const device = await records.device(owner);
      await opened.stores.devices.putShare(device.key, friend.key, { scopes: 3, givenBy: giver.key });
      assert.equal(await records.giverOf(device.key, friend.key), giver.username);
      await opened.stores.users.remove(giver.key, { newOwner: undefined, atMs: nowMs });
      assert.equal(await records.giverOf(device.key, friend.key), undefined);
      assert.deepEqual((await records.deviceOf(device.id)).shares, new Map([[friend.key, 3]]));
    });

    test('never gives their key to another, not even after reopening', async () => {
      const keys = new Set<number>();
      for (let n = 0; n < 3; n++) {
        const { key } = await records.user({ username: 'again', id: 'again' });
        keys.add(key);
        await opened.stores.users.remove(key, { newOwner: undefined, atMs: nowMs });
        await opened.reopen();
      }
      assert.equal(keys.size, 3);
    });

    test('lists their gateways first made first, as many as are asked for', async () => {
      const user = await records.user();
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) ids.push((await records.gateway(user)).id);
      assert.deepEqual(await opened.stores.users.listGateways(user.key, 3), ids.slice(0, 3));
      assert.deepEqual(await opened.stores.users.listGateways(user.key, many), ids);
    });

    test('leaves no rule behind that a watcher would read', async () => {
      const user = await records.user();
      const id = records.hexId();
      await opened.stores.notifications.create(id, user.key, plainRule, { afterSeq: 0, sinceMs: 0 });
      await opened.stores.users.remove(user.key, { newOwner: undefined, atMs: nowMs });
      assert.equal(await opened.stores.watch.findRule(id), undefined);
      assert.equal(await opened.stores.notifications.find(id), undefined);
    });
  });
}
