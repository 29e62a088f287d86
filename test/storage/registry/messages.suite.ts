// What every engine must do alike with messages: those that users list, and the outbox. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { parseFilter } from '../../../src/domain/devices/filter.ts';
import { actuatorChannel, messageStates, type NewMessage } from '../../../src/domain/notifications/outbox/message.ts';
import type { Claim, MessageOutcome } from '../../../src/domain/notifications/outbox/message-store.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, found, many, outboxFence, Records, rulesFence } from './records.ts';
import { anyText, anyTimeMs } from './texts.ts';

export function messagesSuite({ name, open }: EngineKind): void {
  suite(`messages on ${name}`, () => {
    let opened: OpenedEngine;
    let author: User;
    const records = new Records(() => opened);

    before(async () => {
      opened = await open();
      author = await records.user();
    });
    after(() => opened.close());

    const create = async (fields: Partial<NewMessage> = {}, by = author) => {
      const message = records.message(fields);
      await opened.stores.messages.create(by.key, [message]);
      return message;
    };
    const messageOf = async ({ id }: { readonly id: string }) => found(await opened.stores.messages.find(id));
    const settle = (claims: readonly Claim[], outcomes: readonly MessageOutcome[] = []) =>
      opened.stores.messages.settle({ claims, outcomes, atMs: nowMs + 9, fence: outboxFence });
    const dueOf = async (channel: string, more: { nowMs?: number; limit?: number; without?: number[] } = {}) => {
      const query = { channel, nowMs, limit: many, without: [], ...more };
      return (await opened.stores.messages.listDue(query)).map(({ id }) => id);
    };

    test('messages are read back whole, newest first and page by page, now and after reopening', async () => {
      const fields = fc.record(
        {
          username: anyText,
          text: anyText,
          state: fc.constantFrom(...messageStates),
          reason: anyText,
          createdMs: anyTimeMs,
        },
        { requiredKeys: ['username', 'text', 'state', 'createdMs'] },
      );
      const writer = await records.user();
      const made: unknown[] = [];
      const property = fc.asyncProperty(fc.array(fields, { minLength: 1, maxLength: 4 }), async (batch) => {
        const messages = batch.map((each) => records.message({ ...each, channel: 'telegram' }));
        await opened.stores.messages.create(writer.key, messages);
        for (const message of messages) {
          const finished = message.state === 'queued' ? {} : { finishedMs: message.createdMs };
          const { key } = await messageOf(message);
          made.unshift({ ...message, key, authorKey: writer.key, author: writer.username, attempts: 0, ...finished });
        }
        assert.deepEqual(await messageOf(found(messages[0])), made[messages.length - 1]);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
      await opened.reopen();
      const query = { author: writer.key, filter: [] };
      assert.deepEqual(await opened.stores.messages.list({ ...query, limit: many, offset: 0 }), made);
      assert.deepEqual(await opened.stores.messages.list({ ...query, limit: 5, offset: 3 }), made.slice(3, 8));
      assert.equal(await opened.stores.messages.count(query), made.length);
      await opened.stores.users.remove(writer.key, { newOwner: undefined, atMs: nowMs });
      assert.equal(await opened.stores.messages.count(query), 0);
    });

    test('messages of which one has an id that is taken are all refused, and so are those of nobody', async () => {
      const taken = await create();
      const batch = [records.message(), taken, records.message()];
      const changed = await records.changedBy(async () => {
        await assertRefused(opened.stores.messages.create(author.key, batch), 'exists');
        await assertRefused(opened.stores.messages.create(2 ** 40, [records.message()]), 'not-found');
      });
      assert.deepEqual(changed, []);
    });

    test('messages are found by their fields, and settings of actuators are shown to nobody', async () => {
      const writer = await records.user();
      const one = await create({ username: '🥁', channel: 'email', text: 'x' }, writer);
      const two = await create({ state: 'failed', reason: 'none', createdMs: nowMs + 1 }, writer);
      const setting = await create({ channel: actuatorChannel, text: '{}' }, writer);
      await settle([{ id: one.id }]);
      const expected: Record<string, readonly NewMessage[]> = {
        [`id==${one.id}`]: [one],
        [`id==${setting.id}`]: [],
        'username==🥁': [one],
        'channel!=email': [two],
        'message==x': [one],
        // What is being sent is still waiting.
        'status==queued': [one],
        'reason==none': [two],
        'attempts==1': [one],
        [`owner==${writer.username}`]: [two, one],
        'timestamp>2026-01-15T12:00:00Z': [two],
      };
      for (const [q, messages] of Object.entries(expected)) {
        const query = { author: writer.key, filter: parseFilter(q) };
        const listed = await opened.stores.messages.list({ ...query, limit: many, offset: 0 });
        assert.deepEqual(listed.map(({ id }) => id), messages.map(({ id }) => id), q); // biome-ignore format: short
        assert.equal(await opened.stores.messages.count(query), messages.length, q);
      }
      const unknown = { author: writer.key, filter: parseFilter('unknown!=1') };
      await assert.rejects(async () => opened.stores.messages.count(unknown), { code: 'malformed' });
      assert.equal(await opened.stores.messages.find(setting.id), undefined);
      assert.deepEqual(await dueOf(actuatorChannel), [setting.id]);
    });

    test('what waits is told of each channel: what is due, the oldest first, and when the next is', async () => {
      const { messages } = opened.stores;
      const [other, channel] = [await records.user(), 'webhook'];
      assert.equal(await messages.nextDueMs(channel), undefined);
      const late = await create({ channel, createdMs: nowMs + 5 });
      const now = await create({ channel, createdMs: nowMs, text: '🥁' });
      const foreign = await create({ channel, createdMs: nowMs }, other);
      const early = await create({ channel, createdMs: nowMs - 5 });
      await create({ channel, state: 'failed' });
      await create({ channel: 'voice', createdMs: 1 });
      const ids = [early.id, now.id, foreign.id];
      assert.deepEqual(await dueOf(channel), ids);
      assert.deepEqual(await dueOf(channel, { limit: 2 }), ids.slice(0, 2));
      assert.deepEqual(await dueOf(channel, { nowMs: nowMs + 5 }), [...ids, late.id]);
      assert.deepEqual(await dueOf(channel, { without: [author.key, 2 ** 40] }), [foreign.id]);
      assert.equal(await messages.nextDueMs(channel), nowMs - 5);
      const [, due] = await messages.listDue({ channel, nowMs, limit: 9, without: [] });
      const expected = { id: now.id, author: author.key, username: 'awa', channel, text: '🥁', attempts: 0 };
      assert.deepEqual(due, { ...expected, isForFormerUser: false });
      assert.equal((await messages.countWaiting()).get(channel), 4);
      await messages.remove(early.id);
      await messages.remove(foreign.id);
      assert.deepEqual([await messages.nextDueMs(channel), await dueOf(channel)], [nowMs, [now.id]]);
      assert.equal((await messages.countWaiting()).get(channel), 2);
    });

    test('a message is marked as being sent before it is, and waits again where the service ended meanwhile', async () => {
      const channel = 'twitter';
      const [one, removed, other] = [await create({ channel }), await create({ channel }), await create({ channel })];
      await opened.stores.messages.remove(removed.id);
      const work = async () => assert.deepEqual(await settle([{ id: one.id }, { id: removed.id }]), new Set([one.id]));
      assert.deepEqual(await records.changedBy(work), [`message ${one.id}`]);
      assert.deepEqual([(await messageOf(one)).attempts, (await messageOf(one)).state], [1, 'queued']);
      assert.deepEqual(await dueOf(channel), [other.id]);
      await opened.reopen();
      assert.deepEqual(await dueOf(channel), [other.id]);
      await opened.stores.messages.requeue(outboxFence);
      assert.deepEqual(await dueOf(channel), [one.id, other.id]);
      assert.equal((await messageOf(one)).attempts, 1);
      assert.deepEqual(await records.changedBy(() => opened.stores.messages.requeue(outboxFence)), []);
      assert.deepEqual(await settle([]), new Set());
    });

    test('what became of a message is written to it and to its rule, once', async () => {
      const { watch } = opened.stores;
      const ids: string[] = [];
      const messages: NewMessage[] = [];
      for (let n = 0; n < 3; n++) {
        const { id } = await records.rule(author);
        const { key } = found(await watch.findRule(id));
        const message = records.message({ channel: 'none' });
        const firing = { rule: key, author: author.key, isCounted: true, timesSent: 0, atMs: nowMs, seq: undefined };
        await watch.record(
          { firings: [{ ...firing, messages: [message] }], memories: [], followedSeq: undefined },
          rulesFence,
        );
        ids.push(id);
        messages.push(message);
      }
      const [sent, failed, again] = messages as [NewMessage, NewMessage, NewMessage];
      await settle(messages.map(({ id }) => ({ id })));
      const outcomes: MessageOutcome[] = [
        { id: sent.id, state: 'sent', code: '202' },
        { id: failed.id, state: 'failed', reason: '🥁', code: 'E1' },
        { id: again.id, state: 'queued', reason: 'busy', dueMs: nowMs + 50 },
        { id: records.hexId(), state: 'sent' },
      ];
      const changed = await records.changedBy(() => settle([], outcomes));
      const labels = [...messages.map(({ id }) => `message ${id}`), ...ids.map((id) => `rule ${id}`)];
      assert.deepEqual(changed, labels.sort());
      const told = async (message: NewMessage) => {
        const { state, reason, code, finishedMs } = await messageOf(message);
        return [state, reason, code, finishedMs];
      };
      assert.deepEqual(await told(sent), ['sent', undefined, '202', nowMs + 9]);
      assert.deepEqual(await told(failed), ['failed', '🥁', 'E1', nowMs + 9]);
      assert.deepEqual(await told(again), ['queued', 'busy', undefined, undefined]);
      assert.deepEqual(await dueOf('none', { nowMs: nowMs + 49 }), []);
      assert.deepEqual(await dueOf('none', { nowMs: nowMs + 50 }), [again.id]);
      const rules = [];
      for (const id of ids) rules.push(found(await opened.stores.notifications.find(id)));
      assert.deepEqual([rules[0]?.lastSuccessMs, rules[0]?.lastSuccessCode], [nowMs + 9, 202]);
      assert.deepEqual([rules[1]?.lastFailureMs, rules[1]?.lastFailureCode, rules[1]?.lastFailureReason], [nowMs + 9, undefined, '🥁']); // biome-ignore format: short
      // The state that was reached is the last.
      await settle([], [{ id: sent.id, state: 'failed', reason: 'late' }]);
      assert.deepEqual(await told(sent), ['sent', undefined, '202', nowMs + 9]);
    });

    test('paid messages are counted for each user on a day, and given back where they were not sent', async () => {
      const { messages } = opened.stores;
      const [one, other] = [await records.user(), await records.user()];
      const users = [one.key, other.key];
      const day = 20_000;
      const counted = async (of = day) => Object.fromEntries(await messages.countPaid(of, users));
      const claimed = [await create(), await create(), await create()];
      const [first, second, third] = claimed as [NewMessage, NewMessage, NewMessage];
      await settle([
        { id: first.id, charge: { day, users } },
        { id: second.id, charge: { day, users: [one.key] } },
        { id: third.id },
      ]);
      assert.deepEqual(await counted(), { [one.key]: 2, [other.key]: 1 });
      assert.deepEqual(await counted(day + 1), {});
      assert.deepEqual(await messages.countPaid(day, []), new Map());
      await settle([], [{ id: first.id, state: 'undelivered', reason: 'x', refund: { day, users } }]);
      assert.deepEqual(await counted(), { [one.key]: 1, [other.key]: 0 });
      await opened.reopen();
      assert.deepEqual(Object.fromEntries(await opened.stores.messages.countPaid(day, users)), { [one.key]: 1, [other.key]: 0 }); // biome-ignore format: short
    });

    test('a message that was removed before it could be sent is charged to nobody', async () => {
      const [user, removed, kept] = [await records.user(), await create(), await create()];
      await opened.stores.messages.remove(removed.id);
      const charge = { day: 20_000, users: [user.key] };
      await settle([removed, kept].map(({ id }) => ({ id, charge })));
      assert.deepEqual(await opened.stores.messages.countPaid(20_000, [user.key]), new Map([[user.key, 1]]));
    });
  });
}
