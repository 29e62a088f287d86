// What every engine must do alike with what signs people in: API keys, refresh sessions, secrets; and with settings. Run on
// each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { RefreshSession } from '../../../src/domain/accounts/refresh-session-store.ts';
import { type ApiKey, keyScopeNames } from '../../../src/domain/keys/key.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, found, Records, succeeded } from './records.ts';
import { anyText, anyTimeMs } from './texts.ts';

export function keysSuite({ name, open }: EngineKind): void {
  suite(`API keys on ${name}`, () => {
    let opened: OpenedEngine;
    let owner: User;
    let other: User;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
      [owner, other] = [await records.user(), await records.user()];
    });
    after(() => opened.close());

    test('a key is read back whole, by id and by hash, and its owner’s are listed in order of creation', async () => {
      const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
      const anyKey = fc.record({
        name: anyText,
        scopes: maybe(fc.subarray([...keyScopeNames])),
        devices: maybe(fc.array(anyText, { maxLength: 3 })),
        dateCreatedMs: anyTimeMs,
        expiresMs: maybe(anyTimeMs),
      });
      const made: ApiKey[] = [];
      const property = fc.asyncProperty(anyKey, anyText, anyText, async (fields, id, hash) => {
        const key = { ...fields, id: records.name(id), owner: owner.key, lastUsedMs: undefined };
        const hashed = records.name(hash);
        await opened.stores.keys.create(key, { hash: hashed });
        assert.deepEqual(await opened.stores.keys.findByHash(hashed), key);
        assert.deepEqual(await opened.stores.keys.findById(key.id), key);
        made.push(key);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      assert.deepEqual(await opened.stores.keys.list(owner.key), made);
      assert.deepEqual(await opened.stores.keys.list(other.key), []);
    });

    test('an id or a hash that is taken is refused', async () => {
      const key = await records.key(owner);
      const changed = await records.changedBy(async () => {
        await assertRefused(opened.stores.keys.create({ ...key, owner: other.key }, { hash: 'its own' }), 'exists');
        const taken = { ...key, id: records.name('key') };
        await assertRefused(opened.stores.keys.create(taken, { hash: `hash of ${key.id}` }), 'exists');
      });
      assert.deepEqual(changed, []);
      const same = () => opened.stores.keys.create({ ...key, id: 'wanted' }, { hash: records.name('hash') });
      assert.equal(await succeeded(Array.from({ length: 20 }, same), 'exists'), 1);
    });

    test('a use is noted on its key alone, and on no key that was removed', async () => {
      const [key, gone] = [await records.key(owner), await records.key(owner)];
      const changed = await records.changedBy(() => opened.stores.keys.noteUse(key.id, nowMs + 1));
      assert.deepEqual(changed, [`key ${key.id}`]);
      await opened.stores.keys.noteUse(key.id, nowMs + 2);
      assert.deepEqual(await opened.stores.keys.findById(key.id), { ...key, lastUsedMs: nowMs + 2 });
      await Promise.all([opened.stores.keys.remove(gone.id), opened.stores.keys.noteUse(gone.id, nowMs)]);
      assert.equal(await opened.stores.keys.findById(gone.id), undefined);
      await records.key(owner, { id: gone.id });
      assert.equal((await opened.stores.keys.findById(gone.id))?.lastUsedMs, undefined);
    });

    test('a key is removed alone, or with all of its owner', async () => {
      const [key, second, foreign] = [await records.key(owner), await records.key(owner), await records.key(other)];
      await opened.stores.keys.noteUse(key.id, nowMs);
      const changed = await records.changedBy(() => opened.stores.keys.remove(key.id));
      assert.deepEqual(changed, [`key ${key.id}`, `usage of ${owner.username}`]);
      await opened.stores.keys.noteUse(second.id, nowMs);
      await opened.stores.keys.removeAll(owner.key);
      assert.deepEqual(await opened.stores.keys.list(owner.key), []);
      assert.deepEqual(await opened.stores.keys.list(other.key), [foreign]);
    });
  });
}

export function refreshSessionsSuite({ name, open }: EngineKind): void {
  suite(`refresh sessions on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    const sessionOf = async (family: string) => found(await opened.stores.refreshSessions.find(family));

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const anyUse = fc.record({
      previous: fc.option(anyText, { nil: undefined }),
      agent: fc.option(anyText, { nil: undefined }),
      address: fc.option(anyText, { nil: undefined }),
      lastUsedMs: anyTimeMs,
      expiresMs: anyTimeMs,
      endsMs: anyTimeMs,
    });

    test('a session is read back whole, by family and id, now and after reopening', async () => {
      const user = await records.user();
      const made: RefreshSession[] = [];
      const readsBack = async (session: RefreshSession) => {
        assert.deepEqual(await opened.stores.refreshSessions.find(session.family), session);
        assert.deepEqual(await opened.stores.refreshSessions.findById(session.id), session);
      };
      const property = fc.asyncProperty(anyUse, anyText, anyTimeMs, async (use, text, createdMs) => {
        const names = { id: records.name(text), family: records.name(text), hash: records.name(text) };
        const session = { ...use, ...names, user: user.key, passwordVersion: 3, createdMs };
        // None ends while others are made.
        await opened.stores.refreshSessions.create(session, { max: 100_000, nowMs: -1 });
        await readsBack(session);
        made.push(session);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      for (const session of made) await readsBack(session);
    });

    test('sessions that have not ended are listed, the last used first', async () => {
      const user = await records.user();
      const families: string[] = [];
      for (const lastUsedMs of [5, 9, 1, 9]) families.push(await records.session(user, { lastUsedMs }));
      const ended = await records.session(user, { expiresMs: nowMs + 2 });
      const [five, nine, one, later] = families;
      const listed = async (atMs: number) =>
        (await opened.stores.refreshSessions.list(user.key, atMs)).map(({ family }) => family);
      assert.deepEqual(await listed(nowMs + 1), [ended, later, nine, five, one]);
      assert.deepEqual(await listed(nowMs + 2), [later, nine, five, one]);
    });

    test('the oldest of a user give way to a new one, and all that have ended go', async () => {
      const { refreshSessions } = opened.stores;
      const [user, other] = [await records.user(), await records.user()];
      const first = await records.session(user, { lastUsedMs: nowMs + 100 });
      const second = await records.session(user, { lastUsedMs: nowMs });
      const [ended, kept] = [await records.session(other, { expiresMs: nowMs + 1 }), await records.session(other)];
      const family = records.name('family');
      const session = { ...(await sessionOf(second)), id: family, family, hash: family };
      const bounds = { max: 2, nowMs: nowMs + 1 };
      const changed = await records.changedBy(() => refreshSessions.create(session, bounds));
      assert.deepEqual(changed, [`session ${ended}`, `session ${family}`, `session ${first}`].sort());
      assert.ok(await refreshSessions.find(kept));
    });

    test('of uses of one secret the first is stored, however many come at once', async () => {
      const { refreshSessions } = opened.stores;
      const user = await records.user();
      const family = await records.session(user);
      await records.session(user);
      const start = await sessionOf(family);
      const useOf = (n: number) => {
        const hash = records.name('next');
        return {
          ...start,
          hash,
          previous: start.hash,
          lastUsedMs: nowMs + n,
          agent: `browser ${n}`,
          address: undefined,
        };
      };
      const uses = Array.from({ length: 10 }, (_, n) => useOf(n));
      const changed = await records.changedBy(() =>
        Promise.all(uses.map((use) => refreshSessions.rotate(family, use))),
      );
      assert.deepEqual(changed, [`session ${family}`]);
      const { previous, ...winner } = await sessionOf(family);
      assert.equal(previous, start.hash);
      assert.deepEqual(
        { ...winner, previous },
        uses.find(({ hash }) => hash === winner.hash),
      );
    });

    test('a session is removed alone, or with all of its user', async () => {
      const { refreshSessions } = opened.stores;
      const [user, other] = [await records.user(), await records.user()];
      const [family, second, foreign] = [
        await records.session(user),
        await records.session(user),
        await records.session(other),
      ];
      const one = await records.changedBy(() => refreshSessions.remove(family));
      assert.deepEqual(one, [`session ${family}`]);
      const all = await records.changedBy(() => refreshSessions.removeAll(user.key));
      assert.deepEqual(all, [`session ${second}`]);
      await opened.reopen();
      assert.ok(await opened.stores.refreshSessions.find(foreign));
      assert.equal(await opened.stores.refreshSessions.find(second), undefined);
    });

    test('none is made of a family that is there, nor for a user who is gone', async () => {
      const { refreshSessions } = opened.stores;
      const session = await sessionOf(await records.session(await records.user()));
      const bounds = { max: 5, nowMs };
      await assertRefused(
        refreshSessions.create({ ...session, id: 'of its own', hash: 'of its own' }, bounds),
        'exists',
      );
      const names = { id: 'new', family: 'new', hash: 'new' };
      await assertRefused(refreshSessions.create({ ...session, ...names, user: 2 ** 40 }, bounds), 'not-found');
      assert.equal(await refreshSessions.find('new'), undefined);
    });
  });
}

export function settingsSuite({ name, open }: EngineKind): void {
  suite(`secrets and settings on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    const bytes = (...of: number[]) => Uint8Array.from(of);
    const anyBytes = fc.uint8Array({ maxLength: 64 });

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('a setting has the text that was saved last, now and after reopening', async () => {
      const saved = new Map<string, string>();
      const property = fc.asyncProperty(fc.constantFrom('guest', 'other', 'Guest', ''), anyText, async (key, value) => {
        assert.equal(await opened.stores.settings.find(key), saved.get(key));
        await opened.stores.settings.save(key, value);
        saved.set(key, value);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      for (const [key, value] of saved) assert.equal(await opened.stores.settings.find(key), value);
      assert.equal(await opened.stores.settings.find('none'), undefined);
    });

    test('of many who make a secret at once all get the same one, byte by byte, and it is kept', async () => {
      const property = fc.asyncProperty(fc.array(anyBytes, { minLength: 2, maxLength: 5 }), async (values) => {
        const key = records.name('secret');
        const got = await Promise.all(values.map((value) => opened.stores.secrets.getOrCreate(key, () => value)));
        const [first = bytes()] = got;
        assert.ok(values.some((value) => Buffer.from(value).equals(first)));
        for (const one of got) assert.deepEqual([...one], [...first]);
        const never = () => assert.fail('there is one already');
        assert.deepEqual([...(await opened.stores.secrets.getOrCreate(key, never))], [...first]);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
      await opened.stores.secrets.getOrCreate('kept', () => bytes(0, 255, 0));
      await opened.reopen();
      assert.deepEqual([...(await opened.stores.secrets.getOrCreate('kept', () => bytes(1)))], [0, 255, 0]);
    });

    test('a rotated secret is good beside the new one, and the one before it is forgotten', async () => {
      const key = records.name('secret');
      await assert.rejects(opened.stores.secrets.getRotated(key));
      await opened.stores.secrets.getOrCreate(key, () => bytes(1, 0));
      const told = async () => {
        const { present, former } = await opened.stores.secrets.getRotated(key);
        return [[...present], former && [...former.value], former?.goodUntilMs];
      };
      assert.deepEqual(await told(), [[1, 0], undefined, undefined]);
      await opened.stores.secrets.rotate(key, bytes(2), nowMs);
      assert.deepEqual(await told(), [[2], [1, 0], nowMs]);
      await opened.stores.secrets.rotate(key, bytes(), nowMs + 1);
      await opened.reopen();
      assert.deepEqual(await told(), [[], [2], nowMs + 1]);
    });

    test('of secrets rotated at once none that was present is lost before its time', async () => {
      const key = records.name('secret');
      await opened.stores.secrets.getOrCreate(key, () => bytes(0));
      await Promise.all([1, 2].map((n) => opened.stores.secrets.rotate(key, bytes(n), nowMs)));
      const { present, former } = await opened.stores.secrets.getRotated(key);
      assert.deepEqual([...present, ...(former?.value ?? [])].sort(), [1, 2]);
    });
  });
}
