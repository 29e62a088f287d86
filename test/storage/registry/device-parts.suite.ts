// What every engine must do alike with the sensors and actuators of devices. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import type { Actuator, ActuatorDraft } from '../../../src/domain/devices/actuator.ts';
import type { Device } from '../../../src/domain/devices/device.ts';
import type { SensorDraft } from '../../../src/domain/devices/sensor.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { anyActuator, anySensor } from './any-parts.ts';
import { assertRefused, found, Records, stampOf } from './records.ts';

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
