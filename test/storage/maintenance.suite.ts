// What every engine must do alike with its data as a whole: backup and restore, checks, sizes. Run on each by engines-maintenance.test.ts.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { Refusal } from '../../src/base/refusal.ts';
import { Caller } from '../../src/domain/callers/caller.ts';
import { datapointsOf } from '../../src/domain/datapoints/columns.ts';
import type { BackupOptions, CheckReport, RestoreOptions } from '../../src/domain/ports/maintenance.ts';
import { batchOf, nowMs } from '../support/points.ts';
import { until } from '../support/until.ts';
import type { EngineKind, OpenedEngine } from './engines.ts';
import { assertRefused, everybody, found, Records } from './registry/records.ts';

const caller = new Caller('reader');
const onStep = () => {};

function findingsOf(reports: readonly CheckReport[]) {
  return reports.flatMap(({ findings }) => findings);
}

export function maintenanceSuite({
  name,
  maintenance,
  open,
}: EngineKind & Required<Pick<EngineKind, 'maintenance'>>): void {
  suite(`maintenance on ${name}`, () => {
    let opened: OpenedEngine;
    /** Where backups and what is restored go. */
    let place = '';
    const records = new Records(() => opened);

    const backUp = (more: Partial<BackupOptions> = {}) => {
      const usual = { data: opened.data, file: join(place, 'backup'), isForced: false, keepsDamaged: false };
      return maintenance.backUp({ ...usual, nowMs, onStep, ...more });
    };
    const restore = (more: Partial<RestoreOptions> = {}) => {
      const usual = {
        file: join(place, 'backup'),
        data: join(place, 'data'),
        isReplacing: false,
        takesDamaged: false,
      };
      return maintenance.restore({ ...usual, onStep, ...more });
    };
    const valuesOf = async (of: OpenedEngine, sensor: number) => {
      const { columns } = await of.series.range({ sensor, descending: false, limit: 10_000 }, { caller });
      return datapointsOf(columns).map(({ value }) => value);
    };
    /** A device with two sensors, of whose datapoints some are sealed. */
    const fill = async () => {
      const owner = await records.user();
      const parts = ['s', 't'].map((id) => ({ id, kindName: 'sensor_kind' as const }));
      const device = await records.device(owner, {
        name: '🥁',
        sensors: parts,
        actuators: [{ id: 'a', valueJson: '1' }],
      });
      const [one, other] = [...device.sensors.values()].map(({ key }) => key) as [number, number];
      const push = (value: number) =>
        opened.commitLog.append(batchOf([one, other].map((sensor) => ({ sensor, value }))));
      for (let value = 0; value < 10; value++) await push(value);
      await opened.seal();
      await push(10);
      return { device, one, other, push };
    };
    const values = Array.from({ length: 11 }, (_, n) => n);

    beforeEach(async () => {
      place = await mkdtemp(join(tmpdir(), 'dundun-maintenance-'));
      opened = await open();
    });
    afterEach(async () => {
      await opened.close();
      await rm(place, { recursive: true, force: true });
    });

    test('data that is whole passes all checks, beside the engine and without it, and so does its backup', async () => {
      await fill();
      const steps: string[] = [];
      const beside = await maintenance.check(opened.data, (step) => steps.push(step));
      assert.deepEqual(findingsOf(beside), []);
      assert.equal(new Set(beside.map((report) => report.name)).size, beside.length);
      assert.ok(beside.length > 0 && beside.every(({ asks, elapsedMs }) => asks !== '' && elapsedMs >= 0));
      assert.ok(steps.length > 0);
      await backUp();
      await opened.stop();
      for (const path of [opened.data, join(place, 'backup')]) {
        const reports = await maintenance.check(path, onStep);
        assert.deepEqual(findingsOf(reports), []);
        // A backup is one file: what a folder has beside it (such as a log of writes) is asked of the folder alone.
        const names = new Set(beside.map((report) => report.name));
        assert.ok(reports.length > 0 && reports.every(({ name }) => names.has(name)));
        if (path === opened.data) assert.equal(reports.length, beside.length);
      }
      await opened.reopen();
    });

    test('a backup says when it was made and how large it is, and is for nobody else to read', async () => {
      await fill();
      const { seal, reports } = await backUp();
      const { size, mode } = await stat(join(place, 'backup'));
      assert.equal(seal?.madeMs, nowMs);
      assert.ok(seal !== undefined && seal.bytes > 0 && seal.bytes <= size);
      assert.equal(mode & 0o077, 0);
      assert.deepEqual(findingsOf(reports), []);
      assert.deepEqual(await readdir(place), ['backup']);
    });

    test('what is restored is what was there when the backup was made: records, datapoints, secrets', async () => {
      const { device, one, other, push } = await fill();
      const secret = await opened.stores.secrets.getOrCreate('key', () => Uint8Array.from([0, 1, 2]));
      await opened.stores.settings.save('guest', 'none');
      const whole = await records.deviceOf(device.id);
      const user = found(await opened.stores.users.findByKey(device.ownerKey));
      const { seal } = await backUp();
      await push(99);
      await opened.stores.devices.update({ device: device.key, atMs: nowMs }, { name: 'later' });

      const restored = await restore();
      assert.equal(restored.isRestored, true);
      assert.deepEqual({ ...restored.seal }, { ...seal });
      const again = await open({ data: join(place, 'data') });
      try {
        assert.deepEqual(await again.stores.devices.find(device.id), whole);
        assert.deepEqual(await again.stores.users.findByKey(user.key), user);
        assert.equal(await again.stores.settings.find('guest'), 'none');
        const never = () => assert.fail('it is there');
        assert.deepEqual([...(await again.stores.secrets.getOrCreate('key', never))], [...secret]);
        for (const sensor of [one, other]) assert.deepEqual(await valuesOf(again, sensor), values);
        // The service goes on from there.
        await again.commitLog.append(batchOf([{ sensor: one, value: 11 }]));
        assert.deepEqual(await valuesOf(again, one), [...values, 11]);
      } finally {
        await again.close();
      }
      assert.deepEqual(await valuesOf(opened, one), [...values, 99]);
    });

    test('a backup beside writes is one moment: nothing in part, and all that was stored before', async () => {
      const owner = await records.user();
      const sensor = { id: 's', kindName: 'sensor_kind' as const };
      const made: string[] = [];
      let isDone = false;
      const write = async () => {
        while (!isDone) made.push((await records.device(owner, { sensors: [sensor, { ...sensor, id: 't' }] })).id);
      };
      const writing = Promise.all([write(), write()]);
      await until(() => made.length >= 5);
      const earlier = [...made];
      await backUp().finally(() => {
        isDone = true;
      });
      await writing;
      await restore();
      const again = await open({ data: join(place, 'data') });
      try {
        const { devices, quotas } = again.stores;
        const keys = await devices.listKeys({ audience: everybody, filter: [], offset: 0 });
        const kept = await devices.listByKeys(keys);
        assert.ok(kept.every(({ sensors }) => sensors.size === 2));
        const ids = new Set(kept.map(({ id }) => id));
        assert.ok(earlier.every((id) => ids.has(id)));
        assert.equal((await quotas.find(owner.key))?.devices.used, kept.length);
      } finally {
        await again.close();
      }
    });

    test('a backup is refused over another, inside the data, and of no data', async () => {
      await fill();
      await backUp();
      const before = await readFile(join(place, 'backup'));
      await assertRefused(backUp(), 'exists');
      assert.deepEqual(await readFile(join(place, 'backup')), before);
      await backUp({ isForced: true, nowMs: nowMs + 1_000 });
      assert.notDeepEqual(await readFile(join(place, 'backup')), before);
      await assertRefused(backUp({ file: join(opened.data, 'backup') }), 'conflict');
      await assertRefused(backUp({ data: join(place, 'none'), file: join(place, 'other') }), 'not-found');
      assert.deepEqual(await readdir(place), ['backup']);
      await assert.rejects(maintenance.check(join(place, 'none'), onStep), Refusal);
    });

    test('a restore is refused beside an engine, over data unless that is to be lost, and of what is no whole backup', async () => {
      const { device } = await fill();
      await backUp();
      await opened.stores.devices.update({ device: device.key, atMs: nowMs }, { name: 'later' });
      for (const isReplacing of [false, true])
        await assertRefused(restore({ data: opened.data, isReplacing }), 'conflict');
      await opened.stop();
      await assertRefused(restore({ data: opened.data }), 'conflict');
      await opened.reopen();
      assert.equal((await records.deviceOf(device.id)).name, 'later');
      await opened.stop();
      await restore({ data: opened.data, isReplacing: true });
      await opened.reopen();
      assert.equal((await records.deviceOf(device.id)).name, '🥁');

      const whole = await readFile(join(place, 'backup'));
      const file = join(place, 'spoilt');
      const spoil: readonly (() => Promise<void>)[] = [
        () => truncate(file, whole.length - 5_000),
        () => truncate(file, 0),
        () => writeFile(file, 'something else'.repeat(1_000)),
        () => writeFile(file, Buffer.concat([whole, Buffer.from('x')])),
        () => writeFile(file, whole.map((byte, at) => (at === whole.length >> 1 ? byte ^ 4 : byte))), // biome-ignore format: short
      ];
      for (const work of spoil) {
        await writeFile(file, whole);
        await work();
        await assert.rejects(restore({ file }), (error) => {
          assert.ok(error instanceof Refusal, String(error));
          assert.ok(['malformed', 'conflict'].includes(error.code), error.message);
          return true;
        });
      }
      // A folder in which nothing was restored is as empty as before.
      const { isRestored } = await restore();
      assert.equal(isRestored, true);
    });

    test('damage is found and named; it is backed up and restored only where that is wanted', async () => {
      const { device, one, other } = await fill();
      await opened.damage(one);
      const found = findingsOf(await maintenance.check(opened.data, onStep));
      assert.ok(found.length > 0);
      for (const { what, advice, where } of found) {
        assert.ok(what !== '' && advice !== '');
        assert.deepEqual([where?.sensor, where?.deviceId, where?.sensorId], [one, device.id, 's']);
      }
      const refused = await backUp();
      assert.equal(refused.seal, undefined);
      assert.deepEqual(findingsOf(refused.reports), found);
      assert.deepEqual(await readdir(place), []);
      assert.ok((await backUp({ keepsDamaged: true })).seal !== undefined);
      const left = await restore();
      assert.deepEqual([left.isRestored, findingsOf(left.reports)], [false, found]);
      assert.equal((await restore({ takesDamaged: true })).isRestored, true);
      const again = await open({ data: join(place, 'data') });
      try {
        assert.deepEqual(await valuesOf(again, other), values);
        await assertRefused(valuesOf(again, one), 'damaged');
      } finally {
        await again.close();
      }
    });

    test('what is damaged is forgotten where a person says so, and nothing else', async () => {
      const { device, one, other } = await fill();
      assert.deepEqual(await maintenance.forgetDamaged(opened.data), { parts: 0, datapoints: 0, losses: 0 });
      await opened.damage(one);
      await opened.reopen();
      await assertRefused(valuesOf(opened, one), 'damaged');
      const { parts, datapoints } = await maintenance.forgetDamaged(opened.data);
      assert.deepEqual([parts > 0, datapoints], [true, 10]);
      assert.deepEqual(findingsOf(await maintenance.check(opened.data, onStep)), []);
      assert.deepEqual(await maintenance.forgetDamaged(opened.data), { parts: 0, datapoints: 0, losses: 0 });
      assert.deepEqual(await valuesOf(opened, one), [10]);
      assert.deepEqual(await valuesOf(opened, other), values);
      assert.equal((await records.deviceOf(device.id)).sensors.size, 2);
      await backUp();
      await assertRefused(maintenance.forgetDamaged(join(place, 'backup')), 'conflict');
    });
  });

  suite(`sizes on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('what the data takes on its disk grows with it, and lies within the disk', async () => {
      const first = await opened.usage();
      const owner = await records.user();
      for (let n = 0; n < 8; n++) await records.device(owner, { meta: 'x'.repeat(500_000) });
      const { usedBytes, freeBytes, diskBytes, reusableBytes } = await opened.usage();
      assert.ok(usedBytes >= first.usedBytes + 4_000_000);
      assert.ok(freeBytes >= 0 && freeBytes <= diskBytes && usedBytes <= diskBytes);
      assert.ok(reusableBytes >= 0 && reusableBytes <= usedBytes);
    });
  });
}
