// What every engine must do alike with rules, and with what their watcher stores. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { parseFilter } from '../../../src/domain/devices/filter.ts';
import {
  type Notification,
  type NotificationFields,
  statuses,
} from '../../../src/domain/notifications/rules/notification.ts';
import type { RecordedFiring, WatchRecord } from '../../../src/domain/notifications/watching/watch-store.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { batchOf, nowMs } from '../../support/points.ts';
import { properties } from '../../support/properties.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { assertRefused, found, many, plainRule, Records, rulesFence } from './records.ts';
import { anyJson, anyText, anyTimeMs } from './texts.ts';

/** As parsed JSON is, with a prototype. */
const plainly = { noNullPrototype: true };

const seconds = fc.nat({ max: 1_000_000 });
const anyCondition = fc.record({ devices: fc.array(anyText, { maxLength: 3 }), expression: anyText, more: anyJson }, { requiredKeys: [], ...plainly }); // biome-ignore format: short
const needed = {
  condition: anyCondition,
  action: fc.record({ usernames: fc.array(anyText, { maxLength: 2 }), message: anyText }, plainly),
  status: fc.constantFrom(...statuses),
  throttlingS: seconds,
};
const optional = {
  ...{ description: anyText, hysteresis: anyText, recoveryMessage: anyText },
  ...{ expiresMs: anyTimeMs, forS: seconds, silenceS: seconds },
};
const anyRule = fc.record(
  { ...needed, ...optional },
  { requiredKeys: ['condition', 'action', 'status', 'throttlingS'] },
);

/** The fields of a watched rule that say what the author has set. */
function watchedFieldsOf({ condition, action, throttlingS, expiresMs, ...fields }: NotificationFields) {
  const names = ['hysteresis', 'forS', 'silenceS', 'recoveryMessage'];
  const extras = Object.fromEntries(Object.entries(fields).filter(([field]) => names.includes(field)));
  const texts = { conditionJson: JSON.stringify(condition), actionJson: JSON.stringify(action) };
  const hasTimes = fields.forS !== undefined || fields.silenceS !== undefined;
  const devices = (condition['devices'] ?? []) as string[];
  return { ...texts, throttlingS, expiresMs, extras, hasTimes, devices };
}

export function notificationsSuite({ name, open }: EngineKind): void {
  suite(`rules on ${name}`, () => {
    let opened: OpenedEngine;
    let author: User;
    const records = new Records(() => opened);
    const ruleOf = async (id: string) => found(await opened.stores.notifications.find(id));

    before(async () => {
      opened = await open();
      author = await records.user();
    });
    after(() => opened.close());

    test('a rule is read back whole, by who lists it and by who watches it, now and after reopening', async () => {
      const made: Notification[] = [];
      const property = fc.asyncProperty(anyRule, fc.nat(), anyTimeMs, async (fields, afterSeq, sinceMs) => {
        const id = records.hexId();
        await opened.stores.notifications.create(id, author.key, fields, { afterSeq, sinceMs });
        const rule = await ruleOf(id);
        const { key } = rule;
        assert.deepEqual(rule, { id, key, authorKey: author.key, author: author.username, ...fields, timesSent: 0 });
        made.push(rule);
        const watched = await opened.stores.watch.findRule(id);
        assert.equal(watched !== undefined, fields.status === 'active');
        if (watched === undefined) return;
        const start = { afterSeq, watchedSinceMs: sinceMs, timesSent: 0, lastFiredMs: undefined, memories: [] };
        const expected = { key: watched.key, id, author: author.key, ...watchedFieldsOf(fields), ...start };
        assert.deepEqual(watched, expected);
      });
      await fc.assert(property, properties({ factor: 0.2 }));
      await opened.reopen();
      const all = { author: undefined, filter: [] };
      assert.deepEqual(await opened.stores.notifications.list({ ...all, limit: many, offset: 0 }), made);
      for (const limit of [1, 7]) {
        const [steps, watched] = [[] as Notification[], [] as string[]];
        for (let offset = 0; offset < made.length; offset += limit)
          steps.push(...(await opened.stores.notifications.list({ ...all, limit, offset })));
        assert.deepEqual(steps, made);
        for (let after = 0; ; ) {
          const step = await opened.stores.watch.listRules({ after, limit });
          watched.push(...step.map(({ id }) => id));
          if (step.length < limit) break;
          after = found(step.at(-1)).key;
        }
        assert.deepEqual(watched, made.filter(({ status }) => status === 'active').map(({ id }) => id)); // biome-ignore format: short
      }
      assert.equal(await opened.stores.notifications.count(all), made.length);
    });

    test('an id that is taken is refused, and so is a rule of nobody', async () => {
      const { id } = await records.rule(author);
      const start = { afterSeq: 0, sinceMs: 0 };
      const changed = await records.changedBy(async () => {
        await assertRefused(opened.stores.notifications.create(id, author.key, plainRule, start), 'exists');
        await assertRefused(
          opened.stores.notifications.create(records.hexId(), 2 ** 40, plainRule, start),
          'not-found',
        );
      });
      assert.deepEqual(changed, []);
    });

    test('a change sets the fields it names, removes those that are null, and touches nothing else', async () => {
      let rule = await records.rule(author);
      await records.rule(author);
      const nullable = Object.entries(optional).map(([field, value]) => [
        field,
        fc.option(value as fc.Arbitrary<unknown>),
      ]);
      const anyChange = fc.record({ ...needed, ...Object.fromEntries(nullable) }, { requiredKeys: [] });
      const own = [`rule ${rule.id}`, `watched ${rule.id}`, `usage of ${author.username}`];
      const property = fc.asyncProperty(anyChange, async (change: Record<string, unknown>) => {
        const watched = { afterSeq: 0, sinceMs: 0, resetsState: false };
        const changed = await records.changedBy(() => opened.stores.notifications.update(rule.id, change, watched));
        assert.ok(
          changed.every((label) => own.includes(label)),
          String(changed),
        );
        const expected: Record<string, unknown> = { ...rule, ...change };
        for (const field of Object.keys(expected)) if (expected[field] === null) delete expected[field];
        rule = await ruleOf(rule.id);
        assert.deepEqual(rule, expected);
      });
      await fc.assert(property, properties({ factor: 0.1 }));
    });

    test('a rule begins anew where that is asked for, and never looks at what it has seen', async () => {
      const { notifications, watch } = opened.stores;
      const rule = await records.rule(author, { hysteresis: 's < 1' });
      const watchedOf = async () => found(await watch.findRule(rule.id));
      const { key } = await watchedOf();
      const memories = [{ rule: key, device: 'd', memory: '{"isHeld":true}', watchedSinceMs: nowMs }];
      await watch.record({ firings: [], memories, followedSeq: undefined }, rulesFence);
      await notifications.update(rule.id, { throttlingS: 1 }, { afterSeq: 7, sinceMs: 70, resetsState: false });
      const told = async () => {
        const { afterSeq, watchedSinceMs, memories: kept } = await watchedOf();
        return [afterSeq, watchedSinceMs, kept.map(({ device, memory }) => [device, memory])];
      };
      assert.deepEqual(await told(), [7, nowMs, [['d', '{"isHeld":true}']]]);
      await notifications.update(rule.id, { throttlingS: 2 }, { afterSeq: 5, sinceMs: 80, resetsState: true });
      assert.deepEqual(await told(), [7, 80, []]);
    });

    test('rules are found by their author and their fields', async () => {
      const [awa, bou] = [await records.user(), await records.user()];
      const first = await records.rule(awa, { description: 'x', expiresMs: nowMs, forS: 5 });
      const condition = { devices: ['e', 'f'], expression: 's < 0' };
      const second = await records.rule(bou, { condition, status: 'inactive', recoveryMessage: 'over' });
      const third = await records.rule(bou, { throttlingS: 90 });
      const expected: Record<string, readonly Notification[]> = {
        [`id==${second.id}`]: [second],
        'description==x': [first],
        'status==active': [first, third],
        'throttling>80': [third],
        'for==5': [first],
        'recovery_message!=over': [first, third],
        [`owner==${awa.username}`]: [first],
        'expires<=2026-01-15T12:00:00Z': [first],
        'expires!=2026-01-15T12:00:00Z': [second, third],
        'condition.devices==f': [second],
        'condition.devices!=f': [first, third],
        'action.channels==sms': [first, second, third],
        'condition.expression==s < 0': [second],
        'times_sent==0': [first, second, third],
      };
      const ids = new Set([first, second, third].map(({ id }) => id));
      for (const [q, rules] of Object.entries(expected)) {
        const query = { filter: parseFilter(q), limit: many, offset: 0 };
        const all = await opened.stores.notifications.list({ ...query, author: undefined });
        assert.deepEqual(all.filter(({ id }) => ids.has(id)), rules, q); // biome-ignore format: short
        const ofBou = rules.filter(({ authorKey }) => authorKey === bou.key);
        assert.deepEqual(await opened.stores.notifications.list({ ...query, author: bou.key }), ofBou, q);
        assert.equal(await opened.stores.notifications.count({ ...query, author: bou.key }), ofBou.length, q);
      }
      const filter = parseFilter('unknown!=1');
      const unknown = { filter, author: undefined, limit: many, offset: 0 };
      await assert.rejects(async () => opened.stores.notifications.list(unknown), { code: 'malformed' });
    });

    test('a removed rule is gone with its state; its messages stay, and name no rule', async () => {
      const { messages, notifications, watch } = opened.stores;
      const rule = await records.rule(author, { hysteresis: 's < 1' });
      const { key } = found(await watch.findRule(rule.id));
      const message = records.message();
      const firing = { rule: key, author: author.key, isCounted: true, timesSent: 0, atMs: nowMs, seq: 1 };
      const memories = [{ rule: key, device: 'd', memory: '{}', watchedSinceMs: nowMs }];
      await watch.record(
        { firings: [{ ...firing, messages: [message] }], memories, followedSeq: undefined },
        rulesFence,
      );
      assert.equal((await messages.find(message.id))?.notification, rule.id);
      const changed = await records.changedBy(() => notifications.remove(rule.id));
      const labels = [`message ${message.id}`, `rule ${rule.id}`, `usage of ${author.username}`, `watched ${rule.id}`];
      assert.deepEqual(changed, labels.sort());
      assert.equal(found(await messages.find(message.id)).notification, undefined);
      await notifications.create(
        rule.id,
        author.key,
        { ...plainRule, hysteresis: 's < 1' },
        { afterSeq: 0, sinceMs: 0 },
      );
      assert.deepEqual(found(await watch.findRule(rule.id)).memories, []);
    });

    test('an action that is changed while another id of the device is being stored is kept', async () => {
      const { formerIds, notifications } = opened.stores;
      const { key: device, id: from } = await records.device(author);
      const condition = { devices: [from], sensors: ['s'] };
      const action = { type: 'ActuationAction', value: { device_id: from, actuator_id: 'a', actuator_value: '1' } };
      const [changed, same] = [await records.rule(author, { condition, action }), await records.rule(author, { condition, action })]; // biome-ignore format: short
      const to = records.name('device');
      const asker = { caller: 'author' };
      const prepared = found(await formerIds.prepareRename({ device, from, to, owner: author.key }, asker));
      const later = { ...action, value: { ...action.value, actuator_value: '2' } };
      await notifications.update(changed.id, { action: later }, { afterSeq: 0, sinceMs: nowMs, resetsState: false });
      assert.ok(await prepared.store({ atMs: nowMs, ageMs: nowMs, untilMs: nowMs + 1 }));
      assert.deepEqual((await ruleOf(changed.id)).action, later);
      assert.deepEqual((await ruleOf(same.id)).action, { ...action, value: { ...action.value, device_id: to } });
      for (const { id } of [changed, same])
        assert.deepEqual((await ruleOf(id)).condition, { ...condition, devices: [to] });
    });
  });
}

export function watchSuite({ name, open }: EngineKind): void {
  suite(`what the watcher of rules stores on ${name}`, () => {
    let opened: OpenedEngine;
    let author: User;
    const records = new Records(() => opened);
    const nothing: WatchRecord = { firings: [], memories: [], followedSeq: undefined };
    const watchedOf = async (id: string) => found(await opened.stores.watch.findRule(id));
    const firingOf = async (id: string, more: Partial<RecordedFiring> = {}): Promise<RecordedFiring> => {
      const { key, timesSent } = await watchedOf(id);
      const when = { atMs: nowMs, seq: undefined, messages: [] };
      return { rule: key, author: author.key, isCounted: true, timesSent, ...when, ...more };
    };

    before(async () => {
      opened = await open();
      author = await records.user();
    });
    after(() => opened.close());

    test('a step is stored as one: firings, messages, state and how far it has come', async () => {
      const { watch } = opened.stores;
      const [rule, other] = [await records.rule(author, { silenceS: 5 }), await records.rule(author)];
      const seq = await opened.commitLog.append(batchOf([{ sensor: 1 }]));
      const queued = records.message({ text: '🥁', username: 'É' });
      const failed = records.message({ state: 'failed', reason: 'no number', channel: 'voice' });
      const silent = records.message({ state: 'sent', channel: 'none' });
      const firings = [
        await firingOf(rule.id, { seq, messages: [queued, failed] }),
        await firingOf(rule.id, { timesSent: 1, atMs: nowMs + 1, messages: [silent] }),
        // A recovery is no firing.
        await firingOf(rule.id, { timesSent: 2, atMs: nowMs + 2, isCounted: false, messages: [] }),
      ];
      const { key } = await watchedOf(rule.id);
      const memories = [{ rule: key, device: '場', memory: '{"a":1}', watchedSinceMs: nowMs }];
      const work = async () =>
        assert.deepEqual(await watch.record({ firings, memories, followedSeq: seq }, rulesFence), []);
      const changed = await records.changedBy(work);
      const made = [queued, failed, silent].map(({ id }) => `message ${id}`);
      assert.deepEqual(changed, [...made, `rule ${rule.id}`, `watched ${rule.id}`].sort());
      await opened.reopen();
      const told = {
        lastNotificationMs: nowMs + 1,
        lastSuccessCode: 200,
        lastSuccessMs: nowMs + 1,
        lastFailureMs: nowMs,
      };
      const expected = { ...rule, timesSent: 2, ...told, lastFailureReason: 'no number' };
      assert.deepEqual(await opened.stores.notifications.find(rule.id), expected);
      const watched = await watchedOf(rule.id);
      assert.deepEqual([watched.timesSent, watched.lastFiredMs, watched.afterSeq], [2, nowMs + 1, seq]);
      assert.deepEqual(watched.memories.map(({ device, memory }) => [device, memory]), [['場', '{"a":1}']]); // biome-ignore format: short
      assert.equal(await opened.commitLog.confirmedPosition(), seq);
      const who = { authorKey: author.key, author: author.username, notification: rule.id, attempts: 0 };
      const messageOf = async (id: string) => {
        const { key: _, ...message } = found(await opened.stores.messages.find(id));
        return message;
      };
      assert.deepEqual(await messageOf(queued.id), { ...queued, ...who });
      assert.deepEqual(await messageOf(failed.id), { ...failed, ...who, finishedMs: nowMs });
      assert.deepEqual((await watchedOf(other.id)).memories, []);
    });

    test('a step in which nothing happened stores nothing', async () => {
      const work = async () => assert.deepEqual(await opened.stores.watch.record(nothing, rulesFence), []);
      assert.deepEqual(await records.changedBy(work), []);
    });

    test('how far the watcher has come never goes back', async () => {
      const from = found(await opened.commitLog.confirmedPosition());
      for (const [followedSeq, expected] of [
        [from + 5, from + 5],
        [from + 2, from + 5],
        [from + 6, from + 6],
      ] as const) {
        await opened.stores.watch.record({ ...nothing, followedSeq }, rulesFence);
        assert.equal(await opened.commitLog.confirmedPosition(), expected);
      }
    });

    test('a firing of a rule that has changed since is told and not stored, and the others are stored', async () => {
      const { notifications, watch } = opened.stores;
      const rules = [];
      for (let n = 0; n < 5; n++) rules.push(await records.rule(author));
      const [good, fired, off, gone, recovered] = rules.map(({ id }) => id) as [string, string, string, string, string];
      const messages = rules.map(() => records.message());
      const firings: RecordedFiring[] = [];
      for (const [n, { id }] of rules.entries())
        firings.push(await firingOf(id, { messages: messages.slice(n, n + 1), isCounted: id !== recovered }));
      const earlier = [await firingOf(fired), await firingOf(fired, { timesSent: 1 })];
      assert.deepEqual(await watch.record({ ...nothing, firings: earlier }, rulesFence), []);
      assert.deepEqual(await watch.record({ ...nothing, firings: [await firingOf(recovered)] }, rulesFence), []);
      await notifications.update(off, { status: 'inactive' }, { afterSeq: 0, sinceMs: 0, resetsState: false });
      await notifications.remove(gone);
      const work = async () =>
        assert.deepEqual(await watch.record({ ...nothing, firings }, rulesFence), firings.slice(1));
      const changed = await records.changedBy(work);
      assert.deepEqual(changed, [`message ${messages[0]?.id}`, `rule ${good}`, `watched ${good}`]);
    });

    test('a step that cannot be stored leaves nothing behind', async () => {
      const rule = await records.rule(author, { hysteresis: 's < 1' });
      const taken = records.message();
      await opened.stores.messages.create(author.key, [taken]);
      const { key } = await watchedOf(rule.id);
      const firings = [await firingOf(rule.id, { messages: [records.message(), taken] })];
      const memories = [{ rule: key, device: 'd', memory: '{}', watchedSinceMs: nowMs }];
      const followedSeq = found(await opened.commitLog.confirmedPosition());
      const record = { firings, memories, followedSeq: followedSeq + 10 };
      const changed = await records.changedBy(() =>
        assertRefused(opened.stores.watch.record(record, rulesFence), 'exists'),
      );
      assert.deepEqual(changed, []);
      assert.equal(await opened.commitLog.confirmedPosition(), followedSeq);
    });

    test('the state of a device is that stored last, and that of a rule that is gone is ignored', async () => {
      const { watch } = opened.stores;
      const rule = await records.rule(author, { forS: 1 });
      const { key } = await watchedOf(rule.id);
      const put = (of: number, device: string, memory: string) =>
        watch.record({ ...nothing, memories: [{ rule: of, device, memory, watchedSinceMs: nowMs }] }, rulesFence);
      await put(key, 'd', '1');
      await put(key, 'D', '2');
      await put(key, 'd', '3');
      assert.deepEqual(await records.changedBy(() => put(2 ** 40, 'd', '4')), []);
      const kept = (await watchedOf(rule.id)).memories.map(({ device, memory }) => `${device} ${memory}`);
      assert.deepEqual(kept.sort(), ['D 2', 'd 3']);
    });

    test('the state of a rule that has begun anew since is not stored', async () => {
      const { notifications, watch } = opened.stores;
      const rule = await records.rule(author, { forS: 1 });
      const { key, watchedSinceMs } = await watchedOf(rule.id);
      const memories = [{ rule: key, device: 'd', memory: '1', watchedSinceMs }];
      await notifications.update(rule.id, { forS: 2 }, { afterSeq: 0, sinceMs: nowMs + 1, resetsState: true });
      assert.deepEqual(await records.changedBy(() => watch.record({ ...nothing, memories }, rulesFence)), []);
      await watch.record(
        { ...nothing, memories: memories.map((one) => ({ ...one, watchedSinceMs: nowMs + 1 })) },
        rulesFence,
      );
      assert.equal((await watchedOf(rule.id)).memories.length, 1);
    });
  });
}
