// What every engine must do alike with shares of devices, and with devices that are handed over. Run on each by
// engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { HandoverStore } from '../../../src/domain/devices/handover-store.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { byCodePoints, found, many, Records, stampOf } from './records.ts';

const page = { limit: many, offset: 0 };
const keepAll = { forgetBeforeMs: 0 };

export function sharesSuite({ name, open }: EngineKind): void {
  suite(`shares on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('a user has the scopes given last, by whoever gave them, until the share is removed', async () => {
      const { devices } = opened.stores;
      const [owner, friend, admin] = [await records.user(), await records.user(), await records.user()];
      const [device, other] = [await records.device(owner), await records.device(owner)];
      await devices.putShare(other.key, friend.key, { scopes: 1, givenBy: owner.key });
      const label = `share ${device.id} ${friend.username}`;
      for (const [scopes, givenBy] of [
        [1, owner],
        [31, admin],
        [8, owner],
      ] as const) {
        const give = () => devices.putShare(device.key, friend.key, { scopes, givenBy: givenBy.key });
        assert.deepEqual(await records.changedBy(give), [label]);
        assert.deepEqual((await records.deviceOf(device.id)).shares, new Map([[friend.key, scopes]]));
        assert.equal(await records.giverOf(device.key, friend.key), givenBy.username);
        const [share] = await devices.listShares(device.key);
        assert.deepEqual({ ...share }, { username: friend.username, scopes });
      }
      assert.equal(await records.giverOf(device.key, admin.key), undefined);
      assert.deepEqual(await records.changedBy(() => devices.removeShare(device.key, friend.key)), [label]);
      assert.deepEqual(await records.changedBy(() => devices.removeShare(device.key, friend.key)), []);
      assert.deepEqual(await devices.listShares(device.key), []);
    });

    test('shares given and received are listed by device and name, page by page', async () => {
      const { devices } = opened.stores;
      const owner = await records.user();
      const friends: User[] = [];
      for (const word of ['b', 'A', 'a', '🥁']) friends.push(await records.user({ username: records.name(word) }));
      const expected: unknown[] = [];
      const inOrder = friends.toSorted((a, b) => byCodePoints(a.username, b.username));
      for (let n = 0; n < 4; n++) {
        const device = await records.device(owner, n === 0 ? {} : { name: `n${n}` });
        for (const friend of friends.slice(n % 2)) {
          await devices.putShare(device.key, friend.key, { scopes: n + 1, givenBy: owner.key });
        }
        assert.deepEqual((await devices.listShares(device.key)).map(({ username }) => username), inOrder.filter((one) => friends.indexOf(one) >= n % 2).map(({ username }) => username)); // biome-ignore format: short
        for (const { username } of inOrder.filter((one) => friends.indexOf(one) >= n % 2)) {
          const names = { key: device.key, device: device.id, ...(n === 0 ? {} : { deviceName: `n${n}` }), username };
          expected.push({ ...names, isPublic: false, owner: owner.username, scopes: n + 1, givenBy: owner.username });
        }
      }
      await opened.reopen();
      const listed = await opened.stores.devices.listSharesOf({ ownedBy: owner.key }, page);
      assert.deepEqual(listed, expected);
      for (const limit of [1, 3, 100]) {
        const steps = [];
        for (let offset = 0; offset < expected.length; offset += limit) {
          steps.push(...(await opened.stores.devices.listSharesOf({ ownedBy: owner.key }, { limit, offset })));
        }
        assert.deepEqual(steps, expected);
      }
      assert.equal(await opened.stores.devices.countSharesOf({ ownedBy: owner.key }), expected.length);
      for (const { key, username } of friends) {
        const theirs = listed.filter((share) => share.username === username);
        assert.deepEqual(await opened.stores.devices.listSharesOf({ sharedWith: key }, page), theirs);
        assert.equal(await opened.stores.devices.countSharesOf({ sharedWith: key }), theirs.length);
        assert.equal(await opened.stores.devices.countSharesOf({ ownedBy: key }), 0);
      }
    });

    test('two users share a device where one has shared it with the other, in whichever direction', async () => {
      const { devices, messages } = opened.stores;
      const [one, other, third] = [await records.user(), await records.user(), await records.user()];
      const [device, foreign] = [await records.device(one), await records.device(third)];
      await devices.putShare(foreign.key, one.key, { scopes: 1, givenBy: third.key });
      await devices.putShare(foreign.key, other.key, { scopes: 1, givenBy: third.key });
      const told = async () => [
        await messages.shareDevice(one.key, other.key),
        await messages.shareDevice(other.key, one.key),
      ];
      assert.deepEqual(await told(), [false, false]);
      await devices.putShare(device.key, other.key, { scopes: 1, givenBy: one.key });
      assert.deepEqual(await told(), [true, true]);
      await devices.removeShare(device.key, other.key);
      assert.deepEqual(await told(), [false, false]);
    });
  });
}

export function handoversSuite({ name, open }: EngineKind): void {
  suite(`handovers on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    const sharesOf = async (device: string) => (await records.deviceOf(device)).shares;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('a device that is handed over loses shares and keys given by others, which are remembered', async () => {
      const { devices, handovers, keys } = opened.stores;
      const [former, receiver, friend, kept] = [await records.user(), await records.user(), await records.user(), await records.user()]; // biome-ignore format: short
      const [device, other] = [await records.device(former, { name: '🥁' }), await records.device(former)];
      const usual = await records.key(former);
      const narrow = await records.key(former, { devices: [other.id, device.id] });
      const only = await records.key(former, { devices: [device.id] });
      const foreign = await records.key(friend, { devices: [device.id] });
      await devices.putShare(device.key, friend.key, { scopes: 3, givenBy: former.key });
      await devices.putShare(device.key, receiver.key, { scopes: 1, givenBy: former.key });
      await devices.putShare(device.key, kept.key, { scopes: 5, givenBy: receiver.key });
      await devices.putShare(other.key, friend.key, { scopes: 1, givenBy: former.key });
      const stamp = stampOf(device, 7);
      const changed = await records.changedBy(() => handovers.handOver(stamp, receiver.key, keepAll));
      const shares = [friend, receiver, kept].map(({ username }) => `share ${device.id} ${username}`);
      const people = [former, receiver].map(({ username }) => `usage of ${username}`);
      const touched = [`device ${device.id}`, `handover ${device.id}`, `key ${narrow.id}`, `key ${only.id}`];
      assert.deepEqual(changed, [...touched, ...shares, ...people].sort());

      const after = await records.deviceOf(device.id);
      const owner = { ownerKey: receiver.key, owner: receiver.username, dateModifiedMs: stamp.atMs };
      assert.deepEqual(after, { ...device, ...owner, shares: new Map([[kept.key, 5]]) });
      const devicesOf = async (id: string) => found(await keys.findById(id)).devices;
      assert.deepEqual(await Promise.all([usual, narrow, only, foreign].map(({ id }) => devicesOf(id))), [undefined, [other.id], [], [device.id]]); // biome-ignore format: short
      const { shares: remembered = [], ...handover } = { ...(await handovers.find(device.key)) };
      const what = {
        device: device.id,
        deviceKey: device.key,
        deviceName: '🥁',
        receiver: receiver.key,
        atMs: stamp.atMs,
      };
      assert.deepEqual(handover, { ...what, former: { key: former.key, username: former.username } });
      const scopes = new Map(remembered.map((share) => [share.username, share.scopes]));
      assert.deepEqual(scopes, new Map([[friend.username, 3], [receiver.username, 1], [kept.username, 5]])); // biome-ignore format: short
      assert.equal(await handovers.find(other.key), undefined);
    });

    test('who gives a device back has changed nothing of it, whoever shared it with whom', async () => {
      const users: User[] = [];
      for (let n = 0; n < 5; n++) users.push(await records.user());
      const [former, receiver] = [found(users[0]), found(users[1])];
      const other = await records.device(former);
      const share = fc.record({ to: fc.constantFrom(...users.slice(1)), by: fc.constantFrom(...users), scopes: fc.integer({ min: 1, max: 31 }) }); // biome-ignore format: short
      const given = { shares: fc.array(share, { maxLength: 5 }), later: fc.array(share, { maxLength: 2 }) };
      const property = fc.asyncProperty(fc.record(given), async ({ shares, later }) => {
        const device = await records.device(former);
        const narrow = await records.key(former, { devices: [other.id, device.id] });
        const put = async ({ to, by, scopes }: (typeof shares)[number]) =>
          opened.stores.devices.putShare(device.key, to.key, { scopes, givenBy: by.key });
        for (const one of shares) await put(one);
        const told = async () => {
          const all = await opened.stores.devices.listSharesOf({ ownedBy: former.key }, page);
          const devices = found(await opened.stores.keys.findById(narrow.id)).devices;
          return [
            await records.deviceOf(device.id),
            all.filter((one) => one.device === device.id),
            devices?.toSorted(),
          ];
        };
        const before = await told();
        await opened.stores.handovers.handOver(stampOf(device), receiver.key, keepAll);
        for (const one of later) if (one.to !== receiver) await put({ ...one, by: receiver });
        // Its time of change is that of the last one.
        await opened.stores.handovers.giveBack({ device: device.key, atMs: nowMs }, former.key);
        assert.deepEqual(await told(), before);
        assert.equal(await opened.stores.handovers.find(device.key), undefined);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
    });

    test('the receiver may keep the earlier shares, which they have given then', async () => {
      const { devices, handovers } = opened.stores;
      const [former, receiver, friend] = [await records.user(), await records.user(), await records.user()];
      const device = await records.device(former);
      await devices.putShare(device.key, friend.key, { scopes: 3, givenBy: former.key });
      await devices.putShare(device.key, receiver.key, { scopes: 1, givenBy: former.key });
      await handovers.handOver(stampOf(device), receiver.key, keepAll);
      assert.deepEqual(await sharesOf(device.id), new Map());
      const handover = found(await handovers.find(device.key));
      const changed = await records.changedBy(() => handovers.keepShares(handover));
      assert.deepEqual(changed, [`handover ${device.id}`, `share ${device.id} ${friend.username}`]);
      assert.deepEqual(await sharesOf(device.id), new Map([[friend.key, 3]]));
      assert.equal(await records.giverOf(device.key, friend.key), receiver.username);
      assert.equal(await handovers.find(device.key), undefined);
    });

    test('what was received is listed newest first, and forgotten when its time is over', async () => {
      const handOver: HandoverStore['handOver'] = (...to) => opened.stores.handovers.handOver(...to);
      const [former, receiver] = [await records.user(), await records.user()];
      const devices = [];
      for (let n = 0; n < 4; n++) devices.push(await records.device(former));
      for (const [n, device] of devices.entries())
        await handOver(stampOf(device, 10 - (n >> 1)), receiver.key, keepAll);
      const listed = async (sinceMs: number) =>
        (await opened.stores.handovers.listReceived(receiver.key, sinceMs)).map(({ device }) => device);
      const ids = devices.map(({ id }) => id);
      assert.deepEqual(await listed(0), ids);
      assert.deepEqual(await listed(nowMs + 10), ids.slice(0, 2));
      assert.deepEqual(await opened.stores.handovers.listReceived(former.key, 0), []);
      const next = await records.device(former);
      await handOver(stampOf(next, 20), receiver.key, { forgetBeforeMs: nowMs + 10 });
      await opened.reopen();
      assert.deepEqual(await listed(0), [next.id, ...ids.slice(0, 2)]);
    });

    test('handed over again it is the last owner’s to give back, and users who are gone are forgotten', async () => {
      const { devices, handovers, users } = opened.stores;
      const [first, second, third, friend] = [await records.user(), await records.user(), await records.user(), await records.user()]; // biome-ignore format: short
      const device = await records.device(first);
      await devices.putShare(device.key, friend.key, { scopes: 1, givenBy: first.key });
      await handovers.handOver(stampOf(device), second.key, keepAll);
      await devices.putShare(device.key, friend.key, { scopes: 2, givenBy: second.key });
      await handovers.handOver(stampOf(device, 2), third.key, keepAll);
      assert.deepEqual(await handovers.listReceived(second.key, 0), []);
      const handover = found(await handovers.find(device.key));
      assert.deepEqual([handover.former?.username, handover.shares], [second.username, [{ username: friend.username, scopes: 2 }]]); // biome-ignore format: short
      await users.remove(friend.key, { newOwner: undefined, atMs: nowMs });
      assert.deepEqual((await handovers.find(device.key))?.shares, []);
      await users.remove(second.key, { newOwner: undefined, atMs: nowMs });
      const { former, receiver } = found(await handovers.find(device.key));
      assert.deepEqual([former, receiver], [undefined, third.key]);
      await handovers.keepShares(found(await handovers.find(device.key)));
      assert.deepEqual(await sharesOf(device.id), new Map());
    });

    test('what was kept or given back already is not given back', async () => {
      const { devices, handovers } = opened.stores;
      const [former, receiver, friend] = [await records.user(), await records.user(), await records.user()];
      const device = await records.device(former);
      const give = async () => {
        await devices.putShare(device.key, friend.key, { scopes: 1, givenBy: former.key });
        await handovers.handOver(stampOf(device), receiver.key, keepAll);
        return found(await handovers.find(device.key));
      };
      const again = () => handovers.giveBack(stampOf(device, 2), former.key);
      await give();
      assert.deepEqual((await Promise.all([again(), again()])).sort(), [false, true]);
      assert.deepEqual(await sharesOf(device.id), new Map([[friend.key, 1]]));
      await handovers.keepShares(await give());
      const changed = await records.changedBy(async () => assert.equal(await again(), false));
      assert.deepEqual(changed, []);
    });

    test('a device that its owner is given again stays as it is', async () => {
      const { devices, handovers } = opened.stores;
      const [owner, admin, friend] = [await records.user(), await records.user(), await records.user()];
      const device = await records.device(owner);
      await devices.putShare(device.key, friend.key, { scopes: 1, givenBy: admin.key });
      assert.deepEqual(await records.changedBy(() => handovers.handOver(stampOf(device), owner.key, keepAll)), []);
    });
  });
}
