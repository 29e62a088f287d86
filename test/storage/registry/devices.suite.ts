// What every engine must do alike with devices and their parts. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { Actuator, ActuatorDraft } from '../../../src/domain/devices/actuator.ts';
import { valueTypes } from '../../../src/domain/devices/actuator.ts';
import { parseCalibration } from '../../../src/domain/devices/calibration.ts';
import type { Device, DeviceDraft } from '../../../src/domain/devices/device.ts';
import type { SensorDraft } from '../../../src/domain/devices/sensor.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, found, Records, stampOf, succeeded } from './records.ts';
import { anyJson, anyText } from './texts.ts';

const calib = {
  linear: {
    enabled: true,
    value_min: { sensor_value: 0, real_value: 1 },
    value_max: { sensor_value: 10, real_value: 31 },
  },
};
const calibration = found(parseCalibration(calib, ''));

const days = fc.nat({ max: 40_000 });

const anySensor = fc
  .record(
    {
      kindName: fc.constantFrom('sensing_device' as const, 'sensor_kind' as const),
      ...{ name: anyText, kind: anyText, quantityKind: anyText, unit: anyText, meta: anyJson, retentionDays: days },
      isCalibrated: fc.boolean(),
    },
    { requiredKeys: ['kindName', 'isCalibrated'] },
  )
  .map(({ isCalibrated, ...sensor }) => ({ ...sensor, ...(isCalibrated ? { calib, calibration } : {}) }));

const anyActuator = fc.record(
  {
    ...{ name: anyText, actuatorKind: anyText, valueType: fc.constantFrom(...valueTypes), meta: anyJson },
    valueJson: anyJson.map((value) => JSON.stringify(value)),
    validFor: days,
  },
  { requiredKeys: [] },
);

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

export function devicePartsSuite({ name, open }: EngineKind): void {
  suite(`sensors and actuators on ${name}`, () => {
    let opened: OpenedEngine;
    let owner: User;
    const records = new Records(() => opened);
    const sensorOf = async ({ id }: Device, part = 's') => found((await records.deviceOf(id)).sensors.get(part));
    const actuatorOf = async ({ id }: Device, part = 'a') => found((await records.deviceOf(id)).actuators.get(part));
    const plain = { id: 's', kindName: 'sensor_kind' as const };

    before(async () => {
      opened = await open();
      owner = await records.user();
    });
    after(() => opened.close());

    test('a sensor put again has the new description, and keeps its key and how long datapoints are kept', async () => {
      const device = await records.device(owner, { sensors: [{ ...plain, id: 'other', name: 'other' }] });
      let present: (SensorDraft & { readonly key: number }) | undefined;
      const property = fc.asyncProperty(anySensor, async (draft) => {
        const labels = await records.changedBy(() =>
          opened.stores.devices.putSensor(stampOf(device), { ...draft, id: 's' }),
        );
        assert.ok(labels.every((label) => [`device ${device.id}`, `usage of ${owner.username}`].includes(label)));
        const sensor = await sensorOf(device);
        const kept = present?.retentionDays === undefined ? {} : { retentionDays: present.retentionDays };
        assert.deepEqual(sensor, { ...kept, ...draft, id: 's', key: present?.key ?? sensor.key });
        assert.equal((await sensorOf(device, 'other')).name, 'other');
        present = sensor;
      });
      await fc.assert(property, properties({ factor: 0.1 }));
      assert.equal((await records.deviceOf(device.id)).dateModifiedMs, nowMs + 1);
    });

    test('a change of a sensor sets the fields it names, and touches nothing else', async () => {
      const { devices } = opened.stores;
      const device = await records.device(owner, { sensors: [plain, { ...plain, id: 'other' }] });
      const { key } = await sensorOf(device);
      const property = fc.asyncProperty(
        fc.tuple(anySensor, fc.subarray(['name', 'unit', 'meta', 'kindName'])),
        async ([draft, names]) => {
          const change = Object.fromEntries(Object.entries(draft).filter(([field]) => names.includes(field)));
          const earlier = await sensorOf(device);
          const other = await sensorOf(device, 'other');
          await devices.updateSensor(stampOf(device, 5), key, change);
          assert.deepEqual(await sensorOf(device), { ...earlier, ...change });
          assert.deepEqual(await sensorOf(device, 'other'), other);
        },
      );
      await fc.assert(property, properties({ factor: 0.2 }));
      assert.equal((await records.deviceOf(device.id)).dateModifiedMs, nowMs + 5);
    });

    test('how long datapoints are kept is told of each sensor: its own, or as its device says, or neither', async () => {
      const { devices, retention } = opened.stores;
      const own = { ...plain, retentionDays: 0 };
      const device = await records.device(owner, { retentionDays: 7, sensors: [own, { ...plain, id: 't' }] });
      const bare = await records.device(owner, { sensors: [plain] });
      const all = await retention.listSensors({ after: 0, limit: 1_000 });
      const keys = all.map(({ sensor }) => sensor);
      assert.deepEqual(
        keys,
        [...keys].sort((a, b) => a - b),
      );
      const told = async (of: Device, part: string) => {
        const { key } = await sensorOf(of, part);
        const [first] = await retention.listSensors({ after: key - 1, limit: 1 });
        assert.equal(first?.sensor, key);
        return first.days;
      };
      const daysOf = async () => [await told(device, 's'), await told(device, 't'), await told(bare, 's')];
      assert.deepEqual(await daysOf(), [0, 7, undefined]);
      await devices.updateSensor(stampOf(device), (await sensorOf(device)).key, { retentionDays: null });
      await devices.update(stampOf(bare), { retentionDays: 3 });
      assert.deepEqual(await daysOf(), [7, 7, 3]);
      const steps = [];
      for (let after = 0; ; ) {
        const step = await retention.listSensors({ after, limit: 2 });
        steps.push(...step);
        if (step.length < 2) break;
        after = step[1]?.sensor ?? 0;
      }
      assert.deepEqual(steps, await retention.listSensors({ after: 0, limit: 1_000 }));
    });

    test('the datapoints of a removed sensor are out of reach, and those of others are not', async () => {
      const { devices } = opened.stores;
      const device = await records.device(owner, { sensors: [plain, { ...plain, id: 'other' }] });
      const [sensor, other] = [await sensorOf(device), await sensorOf(device, 'other')];
      await devices.removeSensor(stampOf(device), sensor.key);
      assert.deepEqual([...(await records.deviceOf(device.id)).sensors.values()], [other]);
      await devices.putSensor(stampOf(device), plain);
      assert.ok((await sensorOf(device)).key > other.key);
      await opened.reopen();
      const refs = await opened.stores.watch.sensorRefsOf([sensor.key, other.key, 2 ** 40]);
      assert.deepEqual([...refs].map(([key, ref]) => [key, { ...ref }]), [[other.key, { device: device.id, sensor: 'other', hasOtherNames: false }]]); // biome-ignore format: short
    });

    test('a sensor that is moved keeps its key and description, and is refused where its id is taken', async () => {
      const { devices } = opened.stores;
      const [from, to] = [
        await records.device(owner, {
          sensors: [
            { ...plain, name: 'soil', retentionDays: 7 },
            { ...plain, id: 'other' },
          ],
        }),
        await records.device(owner),
      ];
      const sensor = await sensorOf(from);
      assert.equal(await devices.moveSensor(stampOf(from), sensor.key, to.key), true);
      // It is no longer a sensor of that device.
      assert.equal(await devices.moveSensor(stampOf(from), sensor.key, to.key), false);
      await opened.reopen();
      assert.deepEqual(await sensorOf(await records.deviceOf(to.id)), sensor);
      assert.deepEqual([...(await records.deviceOf(from.id)).sensors.keys()], ['other']);
      const refs = await opened.stores.watch.sensorRefsOf([sensor.key]);
      assert.deepEqual({ ...refs.get(sensor.key) }, { device: to.id, sensor: sensor.id, hasOtherNames: false });
      await opened.stores.devices.putSensor(stampOf(from), plain);
      await assertRefused(opened.stores.devices.moveSensor(stampOf(to), sensor.key, from.key), 'exists');
      assert.deepEqual(await sensorOf(await records.deviceOf(to.id)), sensor);
    });

    test('a device with another id is led to by the former one, which nobody takes until it ends', async () => {
      const [device, other] = [await records.device(owner), await records.device(owner)];
      const [from, to] = [device.id, `${device.id}-north`];
      const rename = async (names: { from: string; to: string }, { of = device, by = owner.key } = {}) => {
        const prepared = await opened.stores.formerIds.prepareRename(
          { device: of.key, owner: by, ...names },
          { caller: '' },
        );
        return prepared?.store({ atMs: 1000, ageMs: 1000, untilMs: 2000 });
      };
      assert.equal(await rename({ from: to, to: from }), undefined);
      assert.equal(await rename({ from, to }, { by: -1 }), undefined, 'it belongs to somebody else');
      assert.deepEqual(await rename({ from, to }), { retainedGone: 0, rules: [] });
      await opened.reopen();
      assert.deepEqual(
        { ...(await opened.stores.formerIds.findDevice(from)) },
        { device: device.key, id: to, untilMs: 2000 },
      );
      assert.equal(await opened.stores.formerIds.findDevice(to), undefined);
      assert.equal(await opened.stores.devices.find(from), undefined);
      assert.deepEqual((await records.deviceOf(to)).formerIds, [{ id: from, untilMs: 2000 }]);
      assert.deepEqual(await opened.stores.devices.listKeysByIds([from, to], 1999), [device.key]);
      assert.deepEqual(await opened.stores.devices.listKeysByIds([from], 1999), [device.key]);
      assert.deepEqual(await opened.stores.devices.listKeysByIds([from], 2000), []);
      await assertRefused(rename({ from: other.id, to: from }, { of: other }), 'exists');
      await assertRefused(rename({ from: other.id, to }, { of: other }), 'exists');
      const draft = { id: from, visibility: 'public' as const, sensors: [], actuators: [] };
      await assertRefused(opened.stores.devices.create(draft, owner.key, { atMs: 1999, ageMs: 1999 }), 'exists');
      assert.ok(await rename({ from: to, to: from }));
      assert.deepEqual((await records.deviceOf(from)).formerIds, [{ id: to, untilMs: 2000 }]);
      assert.equal(await opened.stores.formerIds.forgetDevice(other.key, to), false);
      assert.equal(await opened.stores.formerIds.forgetDevice(device.key, to), true);
      assert.ok(await rename({ from, to }));
      await opened.stores.devices.create(draft, owner.key, { atMs: 2000, ageMs: 2000 });
      assert.equal((await records.deviceOf(to)).formerIds, undefined);
      await opened.stores.devices.remove(device.key);
      await opened.stores.devices.create({ ...draft, id: to }, owner.key, { atMs: 0, ageMs: 0 });
    });

    test('a sensor with another id is led to by the former one, which no other takes until it ends', async () => {
      const { devices } = opened.stores;
      const device = await records.device(owner);
      for (const id of ['one', 'two']) await devices.putSensor(stampOf(device), { ...plain, id });
      const sensorOfId = async (id: string) => (await records.deviceOf(device.id)).sensors.get(id)?.key ?? -1;
      const one = await sensorOfId('one');
      const rename = (from: string, to: string, { sensor = one, by = owner.key } = {}) =>
        opened.stores.formerIds.renameSensor(
          { device: device.key, sensor, owner: by, from, to },
          { atMs: 1000, ageMs: 1000, untilMs: 2000 },
        );
      assert.equal(await rename('two', 'north'), undefined);
      assert.equal(await rename('one', 'north', { by: -1 }), undefined, 'it belongs to somebody else');
      assert.deepEqual(await rename('one', 'north'), { retainedGone: 0, rules: [] });
      await opened.reopen();
      const ids = [...(await records.deviceOf(device.id)).sensors.keys()];
      assert.ok(ids.includes('north') && !ids.includes('one'));
      const two = await sensorOfId('two');
      await assertRefused(rename('two', 'one', { sensor: two }), 'exists');
      await assertRefused(rename('two', 'north', { sensor: two }), 'exists');
      await assertRefused(opened.stores.devices.putSensor(stampOf(device), { ...plain, id: 'one' }, 1999), 'exists');
      await opened.stores.devices.putSensor(stampOf(device), { ...plain, id: 'one' }, 2000);
      assert.notEqual(await sensorOfId('one'), one);
      assert.equal(await opened.stores.formerIds.forgetSensor(device.key, 'one'), false);
      await opened.stores.devices.remove(device.key);
    });

    test('a part of a device that is gone is refused', async () => {
      const { devices } = opened.stores;
      const device = await records.device(owner);
      await devices.remove(device.key);
      await assertRefused(devices.putSensor(stampOf(device), plain), 'not-found');
      await assertRefused(devices.putActuator(stampOf(device), { id: 'a' }), 'not-found');
      await assertRefused(devices.putShare(device.key, owner.key, { scopes: 1, givenBy: owner.key }), 'not-found');
    });

    test('an actuator put again has the new description, and keeps key and value', async () => {
      const device = await records.device(owner, { actuators: [{ id: 'other' }] });
      let present: Actuator | undefined;
      const property = fc.asyncProperty(anyActuator, async (draft: Omit<ActuatorDraft, 'id'>) => {
        await opened.stores.devices.putActuator(stampOf(device), { ...draft, id: 'a' });
        const actuator = await actuatorOf(device);
        const kept = present?.valueJson === undefined ? {} : { valueJson: present.valueJson };
        assert.deepEqual(actuator, { ...kept, ...draft, id: 'a', key: present?.key ?? actuator.key });
        assert.deepEqual(await actuatorOf(device, 'other'), { id: 'other', key: actuator.key - 1 });
        present = actuator;
      });
      await fc.assert(property, properties({ factor: 0.2 }));
    });

    test('a change of an actuator that does not exist changes nothing, not even its device', async () => {
      const { devices } = opened.stores;
      const device = await records.device(owner, { actuators: [{ id: 'a', valueJson: '1' }] });
      const changed = await records.changedBy(async () => {
        assert.equal(await devices.updateActuator(stampOf(device), 2 ** 40, { name: 'no' }), false);
      });
      assert.deepEqual(changed, []);
      assert.equal((await records.deviceOf(device.id)).actuators.get('a')?.valueJson, '1');
    });

    test('a change of an actuator that names nothing changes nothing of it', async () => {
      const device = await records.device(owner, { actuators: [{ id: 'a', name: 'a', valueJson: '1' }] });
      const actuator = await actuatorOf(device);
      const { devices } = opened.stores;
      assert.equal(await devices.updateActuator(stampOf(device), actuator.key, {}), true);
      assert.deepEqual(await actuatorOf(device), actuator);
    });

    test('a removed actuator is gone, and its device says when', async () => {
      const device = await records.device(owner, { actuators: [{ id: 'a', name: 'x' }, { id: 'b' }] });
      const { key } = await actuatorOf(device);
      const changed = await records.changedBy(() => opened.stores.devices.removeActuator(stampOf(device, 9), key));
      assert.deepEqual(changed, [`device ${device.id}`, `usage of ${owner.username}`]);
      const after = await records.deviceOf(device.id);
      assert.deepEqual([[...after.actuators.keys()], after.dateModifiedMs], [['b'], nowMs + 9]);
    });
  });
}
