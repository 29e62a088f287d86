// What every engine must do alike with the settings of actuators: their history with its bounds, and what gateways are
// still to be given. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import type { Device } from '../../../src/domain/devices/device.ts';
import type { NewSetting } from '../../../src/domain/devices/setting.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { found, Records, stampOf } from './records.ts';

const query = { after: 0, limit: 100, withQueued: false, caller: { key: 'test' } as never };

export function actuatorSettingsSuite(engine: EngineKind): void {
  suite(`settings of actuators, ${engine.name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    let owner: User;
    before(async () => {
      opened = await engine.open();
      owner = await records.user();
    });
    after(() => opened.close());

    const settings = () => opened.stores.actuatorSettings;
    const makeDevice = (gatewayId = records.name('gateway')) =>
      records.device(owner, { gatewayId, actuators: [{ id: 'a' }, { id: 'b' }] });
    const keyOf = (device: Device, id = 'a') => found(device.actuators.get(id)).key;

    function newSetting(fields: Partial<NewSetting> = {}): NewSetting {
      const plain = { atMs: nowMs, valueJson: '1', user: owner.key, door: 'rest', downlink: 'pending' } as const;
      return { id: records.name('setting'), ...plain, ...fields };
    }

    /** Sets the actuator as the service does; returns the id of the setting. */
    async function set(device: Device, fields: Partial<NewSetting> = {}, id = 'a'): Promise<string> {
      const setting = newSetting(fields);
      const { valueJson } = setting;
      const { devices } = opened.stores;
      assert.ok(await devices.updateActuator(stampOf(device), keyOf(device, id), { valueJson }, setting));
      return setting.id;
    }

    const pendingOf = async (device: Device, withQueued = false) =>
      (await settings().listPending(found(device.gatewayId), { ...query, withQueued })).map(({ id }) => id);

    test('come back newest first, with everything that is known of them', async () => {
      const device = await makeDevice();
      const key = await records.key(owner, { name: 'gateway key' });
      const plain = await set(device);
      const rich = await set(device, {
        ...{ atMs: nowMs + 5, valueJson: '{"on":[null]}', keyId: key.id, door: 'rule', rule: 'r1', downlink: 'none' },
      });
      assert.deepEqual(await settings().list(keyOf(device)), [
        {
          ...{ id: rich, atMs: nowMs + 5, valueJson: '{"on":[null]}', downlink: 'none', door: 'rule', rule: 'r1' },
          ...{ user: { key: owner.key, username: owner.username }, keyName: 'gateway key' },
        },
        {
          ...{ id: plain, atMs: nowMs, valueJson: '1', downlink: 'none', door: 'rest' },
          user: { key: owner.key, username: owner.username },
        },
      ]);
      assert.deepEqual(await settings().list(keyOf(device, 'b')), []);
      assert.equal(await settings().lastSetMs(keyOf(device)), nowMs + 5);
      assert.equal(await settings().lastSetMs(keyOf(device, 'b')), undefined);
    });

    test('are kept with the value or not at all', async () => {
      const device = await makeDevice();
      const { devices } = opened.stores;
      const change = { valueJson: '2' };
      assert.equal(await devices.updateActuator(stampOf(device), 2 ** 40, change, newSetting()), false);
      assert.deepEqual(await settings().list(keyOf(device)), []);
      await devices.putActuator(stampOf(device), { id: 'c', valueJson: '3' }, newSetting({ valueJson: '3' }));
      const added = await records.deviceOf(device.id);
      assert.equal((await settings().list(keyOf(added, 'c')))[0]?.valueJson, '3');
    });

    test('are pending for the gateway of the device alone, the last of each actuator, in order', async () => {
      const device = await makeDevice();
      const other = await makeDevice();
      await set(device);
      const second = await set(device, {}, 'b');
      const last = await set(device, { valueJson: '7' });
      const foreign = await set(other);
      assert.deepEqual(await pendingOf(device), [second, last]);
      assert.deepEqual(await pendingOf(other), [foreign]);
      const [entry] = await settings().listPending(found(device.gatewayId), { ...query, limit: 1 });
      const rest = await settings().listPending(found(device.gatewayId), { ...query, after: found(entry).key });
      assert.deepEqual(
        rest.map(({ key: _, ...one }) => ({ ...one })),
        [
          {
            ...{ id: last, atMs: nowMs, valueJson: '7', device: device.id, deviceKey: device.key },
            ...{ actuator: 'a', actuatorKey: keyOf(device) },
          },
        ],
      );
    });

    test('are claimed once, however many claim them at once; and are pending again when they are given back', async () => {
      const device = await makeDevice();
      const id = await set(device);
      const claims = await Promise.all(Array.from({ length: 8 }, () => settings().claim([id, 'unknown'])));
      assert.equal(claims.filter(([isMine]) => isMine).length, 1);
      assert.ok(claims.every(([, isMine]) => !isMine));
      assert.deepEqual(await pendingOf(device), []);
      await settings().giveBack([id]);
      assert.deepEqual(await pendingOf(device), [id]);
      await settings().claim([id]);
      const next = await set(device, { downlink: 'none' });
      await settings().giveBack([id]);
      assert.deepEqual(await pendingOf(device), []);
      await settings().markDelivered([{ id: next, atMs: nowMs + 1 }]);
      await settings().giveBack([next]);
      assert.deepEqual(await pendingOf(device), []);
    });

    test('that are queued are pending only where the queue is gone, and the last of their actuator', async () => {
      const device = await makeDevice();
      const queued = await set(device, { downlink: 'queued' });
      assert.deepEqual(await pendingOf(device), []);
      assert.deepEqual(await pendingOf(device, true), [queued]);
      const last = await set(device);
      assert.deepEqual(await pendingOf(device, true), [last]);
      await settings().markReplayed([keyOf(device)], nowMs + 3);
      const [second, first] = await settings().list(keyOf(device));
      assert.deepEqual([first?.deliveredMs, second?.deliveredMs], [nowMs + 3, undefined]);
      assert.deepEqual(await pendingOf(device, true), [last]);
    });

    test('are delivered and confirmed once, the first time counts', async () => {
      const device = await makeDevice();
      const id = await set(device);
      for (const later of [1, 2]) await settings().markDelivered([{ id, atMs: nowMs + later }]);
      assert.deepEqual(await pendingOf(device), []);
      assert.equal(await settings().confirm(id, { atMs: nowMs + 3, ackJson: '"ok"' }), true);
      assert.equal(await settings().confirm(id, { atMs: nowMs + 4, ackJson: undefined }), false);
      const [setting] = await settings().list(keyOf(device));
      const { deliveredMs, confirmedMs, ackJson } = found(setting);
      assert.deepEqual([deliveredMs, confirmedMs, ackJson], [nowMs + 1, nowMs + 3, '"ok"']);
    });

    test('beyond the bounds of their number and their bytes go, the oldest first, but none that is pending', async () => {
      const device = await makeDevice();
      const kept = await set(device, { valueJson: '"pending"' }, 'b');
      const max = limits.settingsPerActuatorMax;
      for (let n = 0; n < max + 3; n++) await set(device, { valueJson: String(n) });
      const values = (await settings().list(keyOf(device))).map(({ valueJson }) => Number(valueJson));
      assert.deepEqual([values.length, values[0], values.at(-1)], [max, max + 2, 3]);
      const large = JSON.stringify('x'.repeat(limits.valueBytesMax - 2));
      for (let n = 0; n < 6; n++) await set(device, { valueJson: large });
      const after = await settings().list(keyOf(device));
      const bytes = after.reduce((sum, { valueJson }) => sum + valueJson.length, 0);
      assert.ok(after.length >= 3 && bytes <= limits.settingHistoryBytesMax, `${after.length} with ${bytes}`);
      assert.deepEqual(await pendingOf(device), [kept, found(after[0]).id]);
    });

    test('forget who set them when the device is handed over, and are not pending for the new owner', async () => {
      const device = await makeDevice();
      const key = await records.key(owner);
      const id = await set(device, { keyId: key.id, door: 'rule', rule: 'r1' });
      await settings().confirm(id, { atMs: nowMs + 1, ackJson: '1' });
      const last = await set(device);
      const receiver = await records.user();
      const { handovers } = opened.stores;
      const options = { forgetBeforeMs: 0 } as Parameters<typeof handovers.handOver>[2];
      await handovers.handOver(stampOf(device), owner.key, options);
      assert.deepEqual(await pendingOf(device), [last]);
      await handovers.handOver(stampOf(device), receiver.key, options);
      assert.deepEqual(await pendingOf(device), []);
      assert.deepEqual(await settings().list(keyOf(device)), [
        { id: last, atMs: nowMs, valueJson: '1', downlink: 'none', door: 'rest' },
        {
          ...{ id, atMs: nowMs, valueJson: '1', downlink: 'none', door: 'rule' },
          ...{ confirmedMs: nowMs + 1, ackJson: '1' },
        },
      ]);
    });

    test('go with their actuator and with their device, and have no name once their user is removed', async () => {
      const device = await makeDevice();
      const guest = await records.user();
      await set(device, { user: guest.key });
      await set(device, {}, 'b');
      await opened.stores.users.remove(guest.key, { newOwner: undefined, atMs: nowMs });
      assert.equal((await settings().list(keyOf(device)))[0]?.user, undefined);
      await opened.stores.devices.removeActuator(stampOf(device), keyOf(device, 'b'));
      assert.deepEqual(await settings().list(keyOf(device, 'b')), []);
      await opened.stores.devices.remove(device.key);
      assert.deepEqual(await settings().list(keyOf(device)), []);
    });
  });
}
