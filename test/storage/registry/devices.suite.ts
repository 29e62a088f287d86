// What every engine must do alike with devices and the parts that they are made with. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { Device, DeviceDraft } from '../../../src/domain/devices/device.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { anyActuator, anySensor, days } from './any-parts.ts';
import { assertRefused, found, Records, stampOf, succeeded } from './records.ts';
import { anyJson, anyText } from './texts.ts';

const fields = {
  visibility: fc.constantFrom('public' as const, 'private' as const),
  ...{ gatewayId: anyText, name: anyText, domain: anyText, location: anyJson, meta: anyJson },
  ...{ deployed: fc.boolean(), retentionDays: days },
};
const anyFields = fc.record(fields, { requiredKeys: ['visibility'] });

/** Parts with ids of their own. */
function named<T>(parts: fc.Arbitrary<T>): fc.Arbitrary<(T & { readonly id: string })[]> {
  return fc.uniqueArray(
    fc.tuple(anyText, parts).map(([id, part]) => ({ ...part, id })),
    {
      selector: ({ id }) => id,
      maxLength: 4,
    },
  );
}

/** What is read of a device that was made of the draft. */
function expectedOf(draft: DeviceDraft, owner: User, { key, sensors, actuators }: Device): unknown {
  const parts = <P extends { readonly id: string }>(drafts: readonly P[], made: ReadonlyMap<string, { key: number }>) =>
    new Map(drafts.map((part) => [part.id, { ...part, key: found(made.get(part.id)).key }]));
  return {
    ...{ ...draft, kind: 'device', key, ownerKey: owner.key, owner: owner.username },
    ...{ dateCreatedMs: nowMs, dateModifiedMs: nowMs, shares: new Map(), lastCharge: undefined, charges: undefined },
    ...{ sensors: parts(draft.sensors, sensors), actuators: parts(draft.actuators, actuators) },
  };
}

export function devicesSuite({ name, open }: EngineKind): void {
  suite(`devices on ${name}`, () => {
    let opened: OpenedEngine;
    let owner: User;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
      owner = await records.user();
    });
    after(() => opened.close());

    test('a device is read back whole with its parts, now and after reopening', async () => {
      const made: Device[] = [];
      const property = fc.asyncProperty(
        ...([anyText, anyFields, named(anySensor), named(anyActuator)] as const),
        async (text, own, sensors, actuators) => {
          const draft = { ...own, id: records.name(text), sensors, actuators };
          await opened.stores.devices.create(draft, owner.key, { atMs: nowMs, ageMs: nowMs });
          const device = await records.deviceOf(draft.id);
          assert.deepEqual(device, expectedOf(draft, owner, device));
          // Parts stand in the order in which they were made.
          const ids = (parts: Iterable<{ readonly id: string }>) => [...parts].map(({ id }) => id);
          assert.deepEqual(
            [ids(device.sensors.values()), ids(device.actuators.values())],
            [ids(sensors), ids(actuators)],
          );
          made.push(device);
        },
      );
      await fc.assert(property, properties({ factor: 0.3 }));
      await opened.reopen();
      const keys = made.map(({ key }) => key).reverse();
      assert.deepEqual(await opened.stores.devices.listByKeys([...keys, 2 ** 40]), [...made].reverse());
      const ids = made.map(({ id }) => id).reverse();
      assert.deepEqual(await opened.stores.devices.listKeysByIds(['none', ...ids], 0), keys);
      assert.deepEqual(await opened.stores.devices.listKeysByIds([], 0), []);
      const upToOne = made.map(({ sensors, actuators }) => Math.min(sensors.size, 1) + Math.min(actuators.size, 1));
      assert.deepEqual(await opened.stores.devices.countParts([...keys, 2 ** 40], 1), [...upToOne.reverse(), 0]);
      assert.deepEqual(await opened.stores.devices.countParts([], 1), []);
      assert.deepEqual(await opened.stores.devices.listByKeys([]), []);
    });

    test('an id that is taken is refused, and nothing of the draft is stored', async () => {
      const device = await records.device(owner, { sensors: [{ id: 's', kindName: 'sensor_kind' }] });
      const other = await records.user();
      const draft = { id: device.id, sensors: [{ id: 'more', kindName: 'sensor_kind' as const }] };
      const changed = await records.changedBy(() => assertRefused(records.device(other, draft), 'exists'));
      assert.deepEqual(changed, []);
      const id = records.name('wanted');
      const asked = Array.from({ length: 20 }, () => records.device(owner, { id, sensors: draft.sensors }));
      assert.equal(await succeeded(asked, 'exists'), 1);
      assert.equal((await records.deviceOf(id)).sensors.size, 1);
    });

    test('a device of nobody is refused', async () => {
      const draft = { id: records.name('device'), visibility: 'public' as const, sensors: [], actuators: [] };
      await assertRefused(opened.stores.devices.create(draft, 2 ** 40, { atMs: nowMs, ageMs: nowMs }), 'not-found');
      assert.equal(await opened.stores.devices.find(draft.id), undefined);
    });

    test('a change sets the fields it names, removes those named without a value, and touches nothing else', async () => {
      const parts = { sensors: [{ id: 's', kindName: 'sensor_kind' as const }], actuators: [{ id: 'a', name: 'a' }] };
      let device = await records.device(owner, { ...parts, gatewayId: 'g' });
      await records.device(owner);
      let laterMs = 0;
      const anyChange = fc.record(
        Object.fromEntries(
          Object.entries(fields).map(([field, value]) => [
            field,
            fc.option(value as fc.Arbitrary<unknown>, { nil: undefined }),
          ]),
        ),
        { requiredKeys: [] },
      );
      const property = fc.asyncProperty(anyChange, async (change: Partial<Record<string, unknown>>) => {
        laterMs += 1;
        const labels = await records.changedBy(() =>
          opened.stores.devices.update(stampOf(device, laterMs), change as object),
        );
        assert.deepEqual(labels.filter((label) => label !== `usage of ${owner.username}`), [`device ${device.id}`]); // biome-ignore format: short
        const expected: Record<string, unknown> = { ...device, dateModifiedMs: nowMs + laterMs };
        for (const [field, value] of Object.entries(change)) {
          if (value !== undefined) expected[field] = value;
          // A device is never without visibility.
          else if (field !== 'visibility') delete expected[field];
        }
        device = await records.deviceOf(device.id);
        assert.deepEqual(device, expected);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
    });

    test('a removed device is gone with its parts, and no other; its key is never given again', async () => {
      const draft = { sensors: [{ id: 's', kindName: 'sensor_kind' as const }], actuators: [{ id: 'a' }] };
      const [device, friend] = [await records.device(owner, draft), await records.user()];
      await opened.stores.devices.putShare(device.key, friend.key, { scopes: 1, givenBy: owner.key });
      await opened.stores.handovers.handOver(stampOf(device), friend.key, { forgetBeforeMs: 0 });
      await opened.stores.devices.putShare(device.key, owner.key, { scopes: 1, givenBy: friend.key });
      await opened.stores.drops.append(device.key, { atMs: 1, topic: 't', username: 'u', reason: 'r' });
      const changed = await records.changedBy(() => opened.stores.devices.remove(device.key));
      const { id } = device;
      const gone = [`device ${id}`, `drops of ${id}`, `handover ${id}`, `share ${id} ${owner.username}`];
      assert.deepEqual(changed, [...gone, `usage of ${friend.username}`].sort());
      await opened.reopen();
      assert.equal(await opened.stores.devices.find(id), undefined);
      assert.equal(await opened.stores.handovers.find(device.key), undefined);
      const again = await records.device(owner, { ...draft, id });
      assert.ok(again.key > device.key);
      assert.ok(found(again.sensors.get('s')).key > found(device.sensors.get('s')).key);
      assert.ok(found(again.actuators.get('a')).key > found(device.actuators.get('a')).key);
      assert.deepEqual(await opened.stores.drops.list(again.key), []);
    });

    test('why messages were dropped is kept for each device, newest first, and the oldest give way', async () => {
      const [device, other] = [await records.device(owner), await records.device(owner)];
      const dropOf = (n: number) => ({ atMs: nowMs - n, topic: `t/${n}`, username: '🥁', reason: '' });
      await opened.stores.drops.append(other.key, dropOf(-1));
      for (let n = 0; n < 130; n++) await opened.stores.drops.append(device.key, dropOf(n));
      await opened.reopen();
      const kept = (await opened.stores.drops.list(device.key)).map((drop) => ({ ...drop }));
      assert.ok(kept.length >= 100 && kept.length < 130);
      assert.deepEqual(
        kept,
        Array.from({ length: kept.length }, (_, n) => dropOf(129 - n)),
      );
      assert.deepEqual((await opened.stores.drops.list(other.key)).map((drop) => ({ ...drop })), [dropOf(-1)]); // biome-ignore format: short
      await opened.stores.devices.remove(device.key);
      await opened.stores.drops.append(device.key, dropOf(0));
      assert.deepEqual(await opened.stores.drops.list(device.key), []);
    });
  });
}
