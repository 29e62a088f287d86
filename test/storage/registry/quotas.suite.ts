// What every engine must do alike with quotas: it counts what users have with the write that changes it, and refuses what is
// beyond. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { type QuotaKind, type QuotaLimits, quotaKinds } from '../../../src/base/quota-kinds.ts';
import { Refusal } from '../../../src/base/refusal.ts';
import { TurnedClock } from '../../../src/base/time/clock.ts';
import type { NotificationChange } from '../../../src/domain/notifications/rules/notification.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, found, Records, stampOf, succeeded } from './records.ts';

const dayMs = 86_400_000;
const plain = { id: 's', kindName: 'sensor_kind' as const };

function limitsOf(max: number | undefined): QuotaLimits {
  return Object.fromEntries(quotaKinds.map((kind) => [kind, max])) as QuotaLimits;
}

export function quotasSuite({ name, open }: EngineKind): void {
  suite(`quotas on ${name}`, () => {
    let opened: OpenedEngine;
    const clock = new TurnedClock(nowMs);
    const records = new Records(() => opened);
    const unbounded = { guest: limitsOf(undefined), user: limitsOf(undefined), admin: limitsOf(undefined) };
    const reportOf = async ({ key }: User) => found(await opened.stores.quotas.find(key));
    const usedBy = async (user: User) =>
      Object.fromEntries(Object.entries(await reportOf(user)).map(([kind, { used }]) => [kind, used])) as Record<QuotaKind, number>; // biome-ignore format: short
    const nothing = limitsOf(0);

    before(async () => {
      opened = await open({ clock });
      await opened.stores.quotas.putDefaults(unbounded);
    });
    after(() => opened.close());

    test('the limits are those of a user’s class, but where an admin has set others', async () => {
      const { quotas } = opened.stores;
      const [guest, user, admin] = [
        await records.user({ username: 'guest' }),
        await records.user(),
        await records.user({ admin: true }),
      ];
      await quotas.putDefaults({ guest: limitsOf(1), user: { ...limitsOf(2), rules: undefined }, admin: limitsOf(3) });
      const limitOf = async (of: User, kind: QuotaKind) => (await reportOf(of))[kind];
      const plainly = (limit: number | undefined) => ({ used: 0, limit, isException: false });
      assert.deepEqual(await limitOf(guest, 'rules'), plainly(1));
      assert.deepEqual(await limitOf(user, 'rules'), plainly(undefined));
      assert.deepEqual(await limitOf(admin, 'rules'), plainly(3));
      await quotas.putExceptions(user.key, { rules: 7, devices: 'none', keys: 9 });
      await quotas.putExceptions(user.key, { keys: null, rules: undefined });
      await quotas.putExceptions(user.key, {});
      await opened.reopen();
      const exception = (limit: number | undefined) => ({ used: 0, limit, isException: true });
      assert.deepEqual(await limitOf(user, 'rules'), exception(7));
      assert.deepEqual(await limitOf(user, 'devices'), exception(undefined));
      assert.deepEqual(await limitOf(user, 'keys'), plainly(2));
      assert.deepEqual(await limitOf(user, 'gateways'), plainly(2));
      await opened.stores.users.update(user.key, { profile: {}, admin: true });
      assert.deepEqual(await limitOf(user, 'gateways'), plainly(3));
      await opened.stores.quotas.putDefaults(unbounded);
      assert.deepEqual(await limitOf(user, 'gateways'), plainly(undefined));
      assert.deepEqual(await limitOf(user, 'rules'), exception(7));
    });

    test('what users have is counted right, whatever is made, moved, changed and removed', async () => {
      const users = [await records.user(), await records.user()] as const;
      const steps = fc.record({
        what: fc.constantFrom('device', 'sensor', 'gateway', 'project', 'rule', 'key'),
        how: fc.constantFrom('make', 'make', 'remove', 'move', 'change'),
        of: fc.nat({ max: 1 }),
        which: fc.nat(),
      });
      const property = fc.asyncProperty(fc.array(steps, { maxLength: 20 }), async (works) => {
        const model = new QuotaModel(records, users);
        for (const { what, how, of, which } of works) {
          await model.run({ what, how, of: found(users[of]), which });
          for (const user of users) {
            const { description_bytes: bytes, ...counts } = await usedBy(user);
            const expected = model.countsOf(user);
            assert.deepEqual(counts, { ...counts, ...expected });
            assert.equal(bytes > 0, Object.values(expected).some((count) => count > 0)); // biome-ignore format: short
          }
        }
        await model.removeAll();
        for (const user of users) assert.deepEqual(await usedBy(user), nothing);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
    });

    test('descriptions are counted in bytes, by who owns them', async () => {
      const [user, other] = [await records.user(), await records.user()];
      const bytesOf = async (of: User) => (await usedBy(of)).description_bytes;
      const device = await records.device(user, { id: 'd', sensors: [plain] });
      const empty = await bytesOf(user);
      await opened.stores.devices.update(stampOf(device), { name: '🥁é' });
      assert.equal(await bytesOf(user), empty + 6);
      await opened.stores.devices.putActuator(stampOf(device), { id: 'ab', valueJson: '"x"' });
      assert.equal(await bytesOf(user), empty + 6 + 5);
      await opened.stores.handovers.handOver(stampOf(device), other.key, { forgetBeforeMs: 0 });
      assert.deepEqual([await bytesOf(user), await bytesOf(other)], [0, empty + 11]);
    });

    test('each text of a rule is counted', async () => {
      const user = await records.user();
      const { notifications } = opened.stores;
      const rule = await records.rule(user);
      const bytesOf = async () => (await usedBy(user)).description_bytes;
      const before = await bytesOf();
      const change = (fields: NotificationChange) =>
        notifications.update(rule.id, fields, { afterSeq: 0, sinceMs: 0, resetsState: false });
      const texts = { description: 'é', hysteresis: 'TC<4', recoveryMessage: '🥁' };
      for (const [field, text] of Object.entries(texts)) {
        const empty = await bytesOf();
        await change({ [field]: text });
        assert.equal(await bytesOf(), empty + Buffer.byteLength(text), field);
      }
      await change({ description: null, hysteresis: null, recoveryMessage: null });
      assert.equal(await bytesOf(), before);
      await notifications.remove(rule.id);
      assert.equal(await bytesOf(), 0);
    });

    test('what is beyond a limit is refused as a whole, and the refusal says by how much', async () => {
      const { devices, quotas, users } = opened.stores;
      const [user, other] = [await records.user(), await records.user()];
      await quotas.putExceptions(user.key, { devices: 1, gateways: 1, description_bytes: 1_000 });
      const device = await records.device(user, { sensors: [plain] });
      const foreign = await records.device(other, { sensors: [plain, { ...plain, id: 't' }] });
      const [gateway, heritage] = [await records.gateway(other), await records.gateway(user)];
      const breaches: [QuotaKind, number, number, () => Promise<unknown>][] = [
        ['devices', 1, 1, () => records.device(user)],
        ['devices', 1, 1, () => opened.stores.handovers.handOver(stampOf(foreign), user.key, { forgetBeforeMs: 0 })],
        ['gateways', 1, 1, () => opened.stores.gateways.setOwner(gateway.key, user.key, nowMs)],
      ];
      const bytes = (await usedBy(user)).description_bytes;
      const tooLong = () => devices.update(stampOf(device), { meta: 'x'.repeat(1_000) });
      breaches.push(['description_bytes', bytes, 1_000, tooLong]);
      for (const [kind, used, limit, work] of breaches) {
        const changed = await records.changedBy(() =>
          assert.rejects(work, (error) => {
            assert.ok(error instanceof Refusal, String(error));
            assert.deepEqual([error.code, error.quota], ['quota', { kind, used, limit }]);
            return true;
          }),
        );
        assert.deepEqual(changed, []);
      }
      // The second of two sensors is beyond the limit: there is no device with one.
      await quotas.putExceptions(user.key, { devices: 'none', sensors: 2 });
      const two = { id: 'two', sensors: [plain, { ...plain, id: 't' }] };
      assert.deepEqual(await records.changedBy(() => assertRefused(records.device(user, two), 'quota')), []);
      // Nobody is removed whose heir cannot take what they leave.
      await devices.remove(foreign.key);
      const removal = { newOwner: user.key, atMs: nowMs };
      assert.deepEqual(await records.changedBy(() => assertRefused(users.remove(other.key, removal), 'quota')), []);
      await opened.stores.gateways.remove(heritage.key);
      await users.remove(other.key, removal);
      assert.equal((await usedBy(user)).gateways, 1);
    });

    test('of many at once as many are taken as are left', async () => {
      const user = await records.user();
      await opened.stores.quotas.putExceptions(user.key, { devices: 7, keys: 5 });
      const works = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? records.device(user) : records.key(user)));
      assert.equal(await succeeded(works, 'quota'), 12);
      const { devices, keys } = await usedBy(user);
      assert.deepEqual([devices, keys], [7, 5]);
    });

    test('while the data may not grow, nothing that adds to it is taken, and all else is', async () => {
      const { devices, quotas } = opened.stores;
      const user = await records.user();
      const device = await records.device(user, { name: 'a long name', sensors: [plain] });
      await quotas.setGrowthAllowed(false);
      const more = [
        () => records.user(),
        () => records.device(user),
        () => records.gateway(user),
        () => records.project(user),
        () => records.rule(user),
        () => records.key(user),
        () => devices.putSensor(stampOf(device), { ...plain, id: 'more' }),
        () => devices.update(stampOf(device), { name: 'a longer name' }),
      ];
      for (const work of more) assert.deepEqual(await records.changedBy(() => assertRefused(work(), 'full')), []);
      await opened.reopen();
      await assertRefused(records.device(user), 'full');
      await opened.stores.devices.update(stampOf(device), { name: 'short' });
      await opened.stores.users.update(user.key, { profile: {}, admin: true });
      await opened.stores.devices.remove(device.key);
      await opened.stores.quotas.setGrowthAllowed(true);
      await records.device(user);
      assert.equal((await opened.stores.users.findByKey(user.key))?.admin, true);
    });

    test('what is pushed is counted by user and device, by the day, and goes with the device', async () => {
      const { quotas } = opened.stores;
      const day = Math.floor(clock.now() / dayMs);
      const [owner, stranger, gone] = [await records.user(), await records.user(), await records.user()];
      const device = await records.device(owner, { sensors: [plain] });
      await opened.stores.users.remove(gone.key, { newOwner: undefined, atMs: nowMs });
      const charge = { device: device.key, datapoints: 2, bytes: 40 };
      const own = { ...charge, user: owner.key, isStranger: false };
      const foreign = { ...charge, user: stranger.key, isStranger: true };
      const charges = [own, own, foreign, { ...foreign, bytes: 2 }, { ...own, user: gone.key }, { ...own, device: 2 ** 40, datapoints: 0 }]; // biome-ignore format: short
      await quotas.addCharges(charges, day);
      const told = async (of: User) => {
        const { datapoint_bytes: bytes, datapoints_per_day: datapoints } = await usedBy(of);
        return [bytes, datapoints];
      };
      assert.deepEqual([await told(owner), await told(stranger)], [[80, 4], [42, 4]]); // biome-ignore format: short
      assert.equal(await quotas.strangerBytesOf(device.key), 42);
      assert.equal(await quotas.strangerBytesOf(2 ** 40), 0);
      assert.deepEqual(await records.changedBy(() => quotas.addCharges([], day)), []);
      clock.advance(dayMs);
      assert.deepEqual(await told(owner), [80, 0]);
      await quotas.addCharges([own], day + 1);
      assert.deepEqual(await told(owner), [120, 2]);
      await opened.reopen();
      assert.deepEqual(await told(owner), [120, 2]);
      await opened.stores.devices.remove(device.key);
      assert.deepEqual([await told(owner), await told(stranger)], [[0, 2], [0, 0]]); // biome-ignore format: short
    });

    test('the reports of many users are told at once, and none of who is no user', async () => {
      const made = await Promise.all(Array.from({ length: 600 }, () => records.user()));
      const first = found(made[0]);
      await records.gateway(first);
      const reports = await opened.stores.quotas.list([...made.map(({ key }) => key), 2 ** 40]);
      assert.equal(reports.size, 600);
      assert.deepEqual(reports.get(first.key), await reportOf(first));
      assert.equal(await opened.stores.quotas.find(2 ** 40), undefined);
      assert.deepEqual(await opened.stores.quotas.list([]), new Map());
    });
  });
}

type Counted = 'devices' | 'sensors' | 'gateways' | 'projects' | 'rules' | 'keys';

interface Owned {
  readonly what: string;
  readonly counts: Partial<Record<Counted, number>>;
  owner: User;
  remove(): Promise<unknown>;
  change?(): Promise<unknown>;
  move?(to: User): Promise<unknown>;
}

/** What two users have, told by what was done. */
class QuotaModel {
  readonly #records: Records;
  readonly #users: readonly [User, User];
  #owned: Owned[] = [];

  constructor(records: Records, users: readonly [User, User]) {
    this.#records = records;
    this.#users = users;
  }

  async run(step: {
    readonly what: string;
    readonly how: string;
    readonly of: User;
    readonly which: number;
  }): Promise<void> {
    const { what, how, of, which } = step;
    if (how === 'make') {
      this.#owned.push(await this.#make(what, of));
      return;
    }
    const fitting = this.#owned.filter((one) => one.what === what);
    const one = fitting[which % fitting.length];
    if (one === undefined) return;
    if (how === 'change') await one.change?.();
    if (how === 'remove') {
      await one.remove();
      this.#owned = this.#owned.filter((other) => other !== one);
    }
    if (how !== 'move' || one.move === undefined) return;
    await one.move(of);
    one.owner = of;
  }

  countsOf(user: User): Record<Counted, number> {
    const counts = { devices: 0, sensors: 0, gateways: 0, projects: 0, rules: 0, keys: 0 };
    for (const one of this.#owned) {
      if (one.owner !== user) continue;
      for (const [kind, count] of Object.entries(one.counts)) counts[kind as Counted] += count;
    }
    return counts;
  }

  async removeAll(): Promise<void> {
    for (const one of this.#owned) await one.remove();
    assert.equal(this.#users.length, 2);
  }

  async #make(what: string, owner: User): Promise<Owned> {
    const { stores } = this.#records;
    if (what === 'device' || what === 'sensor') return this.#makeDevice(what, owner);
    if (what === 'gateway') {
      const { key } = await this.#records.gateway(owner, { name: 'x' });
      const move = (to: User) => stores.gateways.setOwner(key, to.key, nowMs);
      const change = () => stores.gateways.update(key, { name: undefined, location: { a: 1 } }, nowMs);
      return { what, owner, counts: { gateways: 1 }, move, change, remove: () => stores.gateways.remove(key) };
    }
    if (what === 'project') {
      const { key } = await this.#records.project(owner);
      const change = () => stores.projects.update(key, { name: '🥁', deviceIds: ['d'] });
      return { what, owner, counts: { projects: 1 }, change, remove: () => stores.projects.remove(key) };
    }
    if (what === 'rule') {
      const { id } = await this.#records.rule(owner, { description: 'x' });
      const start = { afterSeq: 0, sinceMs: 0, resetsState: true };
      const change = () => stores.notifications.update(id, { description: null, recoveryMessage: '🥁' }, start);
      return { what, owner, counts: { rules: 1 }, change, remove: () => stores.notifications.remove(id) };
    }
    const { id } = await this.#records.key(owner, { devices: ['d'] });
    return { what, owner, counts: { keys: 1 }, remove: () => stores.keys.remove(id) };
  }

  /** A device with two sensors; a change gives one of them away and describes the other. */
  async #makeDevice(what: string, owner: User): Promise<Owned> {
    const { stores } = this.#records;
    const sensors = [plain, { ...plain, id: 't', name: 'x' }];
    const device = await this.#records.device(owner, { sensors, actuators: [{ id: 'a', valueJson: '1' }] });
    const counts = { devices: 1, sensors: 2 };
    const stamp = stampOf(device);
    const partsOf = async () => [...(await this.#records.deviceOf(device.id)).sensors.values()];
    return {
      what,
      owner,
      counts,
      change: async () => {
        const parts = await partsOf();
        const [first] = parts;
        if (parts.length > 1 && first !== undefined) await stores.devices.removeSensor(stamp, first.key);
        await stores.devices.putSensor(stamp, { ...plain, id: 't', unit: '°C', meta: { a: [1] } });
        await stores.devices.putActuator(stamp, { id: 'b', name: 'b' });
        counts.sensors = 1;
      },
      move: (to) => stores.handovers.handOver(stamp, to.key, { forgetBeforeMs: 0 }),
      remove: async () => stores.devices.remove(device.key),
    };
  }
}
