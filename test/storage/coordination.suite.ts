// The suite of Coordination, which every engine passes: how processes agree on who does which work. engines.test.ts
// runs it on each engine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { BatchBuilder } from '../../src/domain/datapoints/datapoint-batch.ts';
import type { NewMessage } from '../../src/domain/notifications/outbox/message.ts';
import type { WatchRecord } from '../../src/domain/notifications/watching/watch-store.ts';
import type { AnnouncementHandlers } from '../../src/domain/ports/announcement.ts';
import type { Lease, LeaseName } from '../../src/domain/ports/coordination.ts';
import type { BoundedCount } from '../../src/domain/ports/shared-counts.ts';
import type { UserKey } from '../../src/domain/users/user.ts';
import { acquired, type EngineKind, type OpenedEngine } from './engines.ts';

export function coordinationSuite({ name, open }: EngineKind): void {
  suite(`coordination on ${name}`, () => {
    let opened: OpenedEngine;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    test('a lease has one holder, and each later one a greater epoch', async () => {
      const { coordination } = opened;
      const [first, second] = await Promise.all([coordination.acquire('outbox'), coordination.acquire('outbox')]);
      const holders = [first, second].filter((lease) => lease !== undefined);
      assert.equal(holders.length, 1);
      const [holder] = holders;
      assert.equal(holder?.isHeld, true);
      await holder?.release();
      assert.equal(holder?.isHeld, false);
      const next = await coordination.acquire('outbox');
      assert.ok((next?.epoch ?? 0) > (holder?.epoch ?? Number.POSITIVE_INFINITY));
      // What was released already takes nothing from the next holder.
      await holder?.release();
      assert.equal(next?.isHeld, true);
      assert.equal(await coordination.acquire('outbox'), undefined);
      await next?.release();
    });

    test('leases of different work do not stand in each other’s way', async () => {
      const leases = [await opened.coordination.acquire('outbox'), await opened.coordination.acquire('retention')];
      assert.deepEqual(
        leases.map((lease) => lease?.isHeld),
        [true, true],
      );
      for (const lease of leases) await lease?.release();
    });

    test('parts of the rules are leases of their own', async () => {
      const leases = [await acquired(opened, 'rules/0'), await acquired(opened, 'rules/1')];
      assert.equal(await opened.coordination.acquire('rules/1'), undefined);
      for (const lease of leases) await lease.release();
    });

    test('a holder is told when its lease has ended', async () => {
      const lease = await acquired(opened, 'retention');
      let hasEnded = false;
      void lease.ended.then(() => {
        hasEnded = true;
      });
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(hasEnded, false);
      await lease.release();
      await lease.ended;
    });

    test('a holder that has ended holds nothing, and later epochs are greater after a restart too', async () => {
      const before = await acquired(opened, 'retention');
      await opened.reopen();
      const lease = await acquired(opened, 'retention');
      assert.equal(lease.isHeld, true);
      assert.ok(lease.epoch > before.epoch);
      await lease.release();
    });

    test('an announcement resolves where nobody else listens, and its own process does not hear it', async () => {
      const { coordination } = opened;
      const heard: unknown[] = [];
      const note = async (announcement: unknown) => void heard.push(announcement);
      const handlers = new Proxy({}, { get: () => note }) as AnnouncementHandlers;
      coordination.listen(handlers);
      await coordination.announce({ kind: 'device-changed', device: 'd' });
      await coordination.announce({ kind: 'anything-changed' });
      assert.deepEqual(heard, []);
    });

    test('a count is taken up to its bound, begins anew after its window, and takes no other along when it is full', async () => {
      const { counts } = opened.coordination;
      const bounded = (key: string, max: number, windowMs = 3_600_000): BoundedCount => ({
        ...{ kind: 'registrations-by-address', key, max, windowMs },
      });
      assert.equal(await counts.take([bounded('a', 2), bounded('b', 9)]), undefined);
      assert.equal(await counts.take([bounded('a', 2), bounded('b', 9)]), undefined);
      const full = await counts.take([bounded('b', 9), bounded('a', 2)]);
      assert.equal(full?.count, 2);
      assert.ok(full.sinceMs <= full.lastMs && full.lastMs <= Date.now());
      assert.equal((await counts.find(bounded('b', 9)))?.count, 2);
      // A window of no length is over.
      assert.equal(await counts.take([bounded('a', 2, 0)]), undefined);
      assert.equal((await counts.find(bounded('a', 2)))?.count, 1);
      assert.equal(await counts.find({ kind: 'failed-logins', key: 'a' }), undefined);
    });

    test('takes at once do not go beyond the bound together', async () => {
      const bounded = { kind: 'registrations-by-address', key: 'c', max: 5, windowMs: 3_600_000 } as const;
      const takes = await Promise.all(Array.from({ length: 9 }, () => opened.coordination.counts.take([bounded])));
      assert.equal(takes.filter((full) => full === undefined).length, 5);
    });

    test('failures add up until they are removed, or forgotten', async () => {
      const { counts } = opened.coordination;
      const key = { kind: 'failed-logins', key: 'x' } as const;
      for (let n = 0; n < 3; n++) await counts.add(key, { forgetAfterMs: 3_600_000 });
      assert.equal((await counts.find(key))?.count, 3);
      await counts.add(key, { forgetAfterMs: -1 });
      assert.equal((await counts.find(key))?.count, 1);
      await counts.remove(key);
      assert.equal(await counts.find(key), undefined);
    });

    const queued = (id: string): NewMessage => ({
      ...{ id, username: 'ana', channel: 'sms', text: 'hot', state: 'queued', createdMs: 1 },
    });

    /** Two leases of the same work, the first of which another process has taken over as the second. */
    const takenOver = async (name: LeaseName): Promise<readonly [Lease, Lease]> => {
      const early = await acquired(opened, name);
      await early.release();
      return [early, await acquired(opened, name)];
    };

    test('a holder that settles late changes no message and charges nobody', async () => {
      const { users, messages } = opened.stores;
      await users.create({ id: 'u1', username: 'ana', admin: false, createdTime: 1 });
      const author = (await users.findByName('ana'))?.key as UserKey;
      await messages.create(author, [queued('a1')]);
      const charge = { day: 1, users: [author] };
      const claims = [{ id: 'a1', charge }];
      const [early, late] = await takenOver('outbox');
      await messages.requeue(late);
      const claimed = await messages.settle({ claims, outcomes: [], atMs: 2, fence: late });
      assert.deepEqual([...claimed], ['a1']);

      const refused = { name: 'LeaseLost' };
      const sent = { id: 'a1', state: 'sent', code: 'early', refund: charge } as const;
      await assert.rejects(messages.settle({ claims: [], outcomes: [sent], atMs: 3, fence: early }), refused);
      await assert.rejects(messages.settle({ claims, outcomes: [], atMs: 3, fence: early }), refused);
      await assert.rejects(messages.requeue(early), refused);
      const [due] = await messages.listDue({ channel: 'sms', nowMs: 9, limit: 9, without: [] });
      assert.equal(due, undefined);
      assert.deepEqual([...(await messages.countPaid(1, [author]))], [[author, 1]]);

      const outcome = { id: 'a1', state: 'failed', reason: 'no such number' } as const;
      await messages.settle({ claims: [], outcomes: [outcome], atMs: 4, fence: late });
      const { state, reason, code, attempts, finishedMs } = (await messages.find('a1')) ?? {};
      assert.deepEqual([state, reason, code, attempts, finishedMs], ['failed', 'no such number', undefined, 1, 4]);
      await late.release();
    });

    test('who released the lease may settle what was under way, until somebody takes it', async () => {
      const { users, messages } = opened.stores;
      await users.create({ id: 'u2', username: 'bea', admin: false, createdTime: 1 });
      const author = (await users.findByName('bea'))?.key as UserKey;
      await messages.create(author, [queued('b1')]);
      const lease = await acquired(opened, 'outbox');
      await messages.settle({ claims: [{ id: 'b1' }], outcomes: [], atMs: 2, fence: lease });
      await lease.release();
      await messages.settle({ claims: [], outcomes: [{ id: 'b1', state: 'sent' }], atMs: 3, fence: lease });
      assert.equal((await messages.find('b1'))?.state, 'sent');
    });

    test('what a holder evaluated and writes late is not stored', async () => {
      const { users, notifications, watch, messages } = opened.stores;
      await users.create({ id: 'u3', username: 'cai', admin: false, createdTime: 1 });
      const author = (await users.findByName('cai'))?.key as UserKey;
      const fields = {
        condition: { devices: ['d'] },
        action: {},
        status: 'active',
        throttlingS: 0,
        silenceS: 9,
      } as const;
      await notifications.create('f1', author, fields, { afterSeq: 0, sinceMs: 1 });
      const rule = await watch.findRule('f1');
      assert.ok(rule !== undefined);
      const [early, late] = await takenOver('rules/0');
      const firingOf = (id: string): WatchRecord => {
        const message = { id, username: 'cai', channel: 'none', text: id, state: 'sent', createdMs: 5 } as const;
        const base = { rule: rule.key, author, isCounted: true, timesSent: 0, atMs: 5, seq: 3 };
        const memories = [{ rule: rule.key, device: 'd', memory: `"${id}"`, watchedSinceMs: 1 }];
        return { firings: [{ ...base, messages: [message] }], memories, followedSeq: 3 };
      };
      await assert.rejects(watch.record(firingOf('early'), early), { name: 'LeaseLost' });
      assert.equal(await messages.find('early'), undefined);
      assert.deepEqual((await watch.findRule('f1'))?.memories, []);
      assert.deepEqual(await watch.record(firingOf('late'), late), []);
      // Neither at once nor after the other has written.
      await assert.rejects(watch.record(firingOf('early'), early), { name: 'LeaseLost' });
      const stored = await watch.findRule('f1');
      assert.equal(stored?.timesSent, 1);
      assert.deepEqual(
        stored?.memories.map(({ memory }) => memory),
        ['"late"'],
      );
      await late.release();
    });

    test('a position that is confirmed late lets nothing go that the present holder has not read', async () => {
      const { commitLog } = opened;
      const [early, late] = await takenOver('rules/0');
      const from = commitLog.lastPosition;
      commitLog.confirm(from, late);
      const batch = new BatchBuilder(2);
      for (const value of [1, 2]) batch.add(7, 1, 1, value);
      await commitLog.append(batch.build());
      commitLog.confirm(from + 2, early);
      await opened.seal();
      assert.deepEqual(
        (await commitLog.readAfter(from)).map(({ value }) => value),
        [1, 2],
      );
      commitLog.confirm(undefined, late);
      await late.release();
    });

    test('an actuator that is set late keeps its later value', async () => {
      const { users, devices } = opened.stores;
      await users.create({ id: 'u4', username: 'dov', admin: false, createdTime: 1 });
      const owner = (await users.findByName('dov'))?.key as UserKey;
      const draft = { id: 'valve', visibility: 'private', sensors: [], actuators: [{ id: 'V' }] } as const;
      await devices.create(draft, owner, { atMs: 1, ageMs: 1 });
      const device = await devices.find('valve');
      const actuator = device?.actuators.get('V')?.key as number;
      const [early, late] = await takenOver('outbox');
      const set = (valueJson: string, fence: Lease) =>
        devices.updateActuator({ device: device?.key as number, atMs: 2, fence }, actuator, { valueJson });
      assert.equal(await set('"open"', late), true);
      await assert.rejects(set('"shut"', early), { name: 'LeaseLost' });
      assert.equal((await devices.find('valve'))?.actuators.get('V')?.valueJson, '"open"');
      await late.release();
    });
  });
}
