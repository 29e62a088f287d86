// What every engine must do alike with shares of gateways and projects, and with the devices that these reach. Run on each
// by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { SharedRecord } from '../../../src/domain/devices/record-share-store.ts';
import { scope } from '../../../src/domain/scopes.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { many, Records } from './records.ts';

const reach = scope.view | scope.dataView;
const whole = { limit: many, offset: 0 };

export function recordSharesSuite({ name, open }: EngineKind): void {
  suite(`shares of gateways and projects on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    /** A gateway, and a project, with a device that each reaches. */
    async function shared(kind: SharedRecord['kind'], owner: User) {
      const id = records.name('reached');
      const record: SharedRecord =
        kind === 'gateway' ? await records.gateway(owner) : await records.project(owner, { deviceIds: [id] });
      const device = await records.device(owner, { id, ...(kind === 'gateway' ? { gatewayId: record.id } : {}) });
      return { record, device };
    }

    for (const kind of ['gateway', 'project'] as const) {
      test(`a user has the scopes given last on a ${kind} and its devices, until the share is removed`, async () => {
        const { recordShares } = opened.stores;
        const [owner, friend, admin] = [await records.user(), await records.user(), await records.user()];
        const { record, device } = await shared(kind, owner);
        const own = kind === 'gateway' ? scope.gatewayView : scope.projectView;
        const label = `share of ${kind} ${record.id} ${friend.username}`;
        let reached: boolean = false;
        for (const [scopes, giver] of [
          [own, owner],
          [own | reach, admin],
          [scope.update, owner],
          [own, admin],
        ] as const) {
          const share = { scopes, givenBy: giver.key, reachingMax: many };
          const changed = await records.changedBy(async () => {
            const { isDone, reachesDevices } = await recordShares.put(record, friend.key, share);
            const reaches = (scopes & ~own) !== 0;
            assert.deepEqual([isDone, reachesDevices], [true, reached || reaches]);
            reached = reaches;
          });
          assert.deepEqual(changed, [label]);
          const onDevice = scopes & ~own;
          const shares = onDevice === 0 ? new Map() : new Map([[friend.key, onDevice]]);
          assert.deepEqual((await records.deviceOf(device.id)).shares, shares);
          assert.equal(await recordShares.reachesDevices(record), reached);
          const sources: readonly object[] = reached
            ? [{ kind, record: record.id, scopes: onDevice, givenBy: giver.username }]
            : [];
          assert.deepEqual(await recordShares.listSources(device.key, friend.key), sources);
          const [listed] = await recordShares.list(record);
          assert.deepEqual({ ...listed }, { username: friend.username, scopes });
          assert.equal(await recordShares.countOf(kind, { sharedWith: friend.key }), 1);
          const [one] = await recordShares.listOf(kind, { sharedWith: friend.key }, whole);
          assert.deepEqual([one?.id, one?.owner, one?.givenBy], [record.id, owner.username, giver.username]);
        }
        const end = () => recordShares.remove(record, friend.key);
        assert.deepEqual(await records.changedBy(end), [label]);
        assert.deepEqual(await end(), { isDone: true, reachesDevices: false });
        assert.deepEqual(await recordShares.list(record), []);
      });

      test(`a ${kind} that is removed, or whose owner is, takes its shares with it`, async () => {
        const { gateways, projects, recordShares, users } = opened.stores;
        const [friend, heir] = [await records.user(), await records.user()];
        for (const how of ['removed', 'owner removed', 'inherited', 'friend removed'] as const) {
          const [owner, other] = [await records.user(), await records.user()];
          const { record, device } = await shared(kind, owner);
          for (const user of [friend, other]) {
            await recordShares.put(record, user.key, { scopes: reach, givenBy: owner.key, reachingMax: many });
          }
          if (how === 'friend removed') {
            await users.remove(other.key, { newOwner: undefined, atMs: nowMs });
            const left = (await recordShares.list(record)).map(({ username }) => username);
            assert.deepEqual(left, [friend.username]);
            continue;
          }
          if (how === 'removed') {
            const remove = kind === 'gateway' ? gateways.remove(record.key) : projects.remove(record.key);
            assert.notDeepEqual(await remove, false);
            assert.deepEqual((await records.deviceOf(device.id)).shares, new Map());
          } else {
            await opened.stores.devices.remove(device.key);
            const newOwner = how === 'inherited' ? heir.key : undefined;
            await users.remove(owner.key, { newOwner, atMs: nowMs });
          }
          assert.equal(await recordShares.countOf(kind, { sharedWith: other.key }), 0, how);
        }
      });
    }

    test('a gateway that is handed over keeps what its new owner gave, and reaches their devices', async () => {
      const { gateways, recordShares } = opened.stores;
      const [owner, receiver, friend] = [await records.user(), await records.user(), await records.user()];
      const { record, device } = await shared('gateway', owner);
      const theirs = await records.device(receiver, { gatewayId: record.id });
      const give = (user: User, givenBy: User) =>
        recordShares.put(record, user.key, { scopes: reach, givenBy: givenBy.key, reachingMax: many });
      const fifth = await records.user();
      await give(friend, receiver);
      await give(fifth, owner);
      await give(receiver, owner);
      assert.equal((await records.deviceOf(theirs.id)).shares.size, 0);
      assert.equal(await gateways.setOwner(record.key, receiver.key, nowMs), true);
      assert.deepEqual((await records.deviceOf(theirs.id)).shares, new Map([[friend.key, reach]]));
      assert.equal((await records.deviceOf(device.id)).shares.size, 0);
      assert.equal(await gateways.setOwner(record.key, receiver.key, nowMs), false);
      assert.equal((await recordShares.list(record)).length, 1);
    });

    test('what was read before somebody else changed it is not taken for what is there', async () => {
      const { gateways, projects, recordShares } = opened.stores;
      const [owner, friend] = [await records.user(), await records.user()];
      const { record } = await shared('project', owner);
      const share = { scopes: reach, givenBy: owner.key, reachingMax: many };
      const { deviceIds = [] } = record;
      await recordShares.put(record, friend.key, share);
      // Of a project that is shared, others than its owner do not say which devices it has.
      const unshared = { deviceIds, onlyUnshared: true };
      const refused = await projects.update(record.key, { deviceIds: ['other'] }, unshared);
      assert.deepEqual(refused, { isDone: false, reachesDevices: false });
      const changed = await projects.update(record.key, { deviceIds: ['other'] }, { deviceIds });
      assert.deepEqual(changed, { isDone: true, reachesDevices: true });
      const none = { isDone: false, reachesDevices: false };
      assert.deepEqual(await projects.update(record.key, { deviceIds: [] }, { deviceIds }), none);
      assert.deepEqual(await projects.remove(record.key, { deviceIds }), none);
      assert.deepEqual(await recordShares.remove(record, friend.key), none);
      const outdated = await recordShares.put(record, owner.key, share);
      assert.equal(outdated.isDone, false);
      assert.deepEqual(await recordShares.reachesDevices(record), true);
      // Nor is a gateway shared in the name of an owner who has handed it over.
      const { record: gateway } = await shared('gateway', owner);
      await gateways.setOwner(gateway.key, friend.key, nowMs);
      assert.equal((await recordShares.put(gateway, owner.key, share)).isDone, false);
      assert.equal((await recordShares.remove(gateway, owner.key)).isDone, false);
    });

    test('no more shares of an owner reach devices than the bound allows', async () => {
      const { recordShares } = opened.stores;
      const [owner, friend, other] = [await records.user(), await records.user(), await records.user()];
      const [{ record: gateway }, { record: project }] = [
        await shared('gateway', owner),
        await shared('project', owner),
      ];
      const put = async (record: SharedRecord, user: User, scopes: number) =>
        (await recordShares.put(record, user.key, { scopes, givenBy: owner.key, reachingMax: 1 })).isDone;
      assert.equal(await put(gateway, friend, reach), true);
      assert.equal(await put(gateway, friend, scope.view), true);
      assert.equal(await put(gateway, other, reach), false);
      assert.equal(await put(project, friend, reach), false);
      assert.equal(await put(project, friend, scope.projectView), true);
      assert.equal(await put(gateway, friend, scope.gatewayView), true);
      assert.equal(await put(project, friend, reach), true);
    });

    test('a device comes under a gateway that is shared with its devices for its owner alone', async () => {
      const { devices, recordShares } = opened.stores;
      const [owner, friend] = [await records.user(), await records.user()];
      const { record } = await shared('gateway', owner);
      const device = await records.device(owner);
      const foreign = await records.device(friend);
      const bring = (key: number, onlyUnshared: boolean) =>
        devices.update({ device: key, atMs: nowMs }, { gatewayId: record.id }, { onlyUnshared });
      assert.equal(await bring(device.key, true), true);
      await devices.update({ device: device.key, atMs: nowMs }, { gatewayId: undefined });
      await recordShares.put(record, friend.key, { scopes: reach, givenBy: owner.key, reachingMax: many });
      assert.equal(await bring(device.key, true), false);
      assert.equal((await records.deviceOf(device.id)).gatewayId, undefined);
      assert.equal(await bring(foreign.key, true), true);
      assert.equal(await bring(device.key, false), true);
      assert.equal(await bring(device.key, true), true, 'it is there already');
      const range = { after: 0, limit: many, offset: 0 };
      const named = await recordShares.listDevicesOfGateway(record.id, range);
      assert.ok([device.id, foreign.id].every((id) => named.some((one) => one.id === id)));
    });
  });
}
