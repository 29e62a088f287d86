// What every engine must do alike where a list is read to its end in steps, as an archive of everything somebody has is: no
// record is skipped because others were removed meanwhile, and none comes twice. Run on each by engines.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { inStepsAfter, type StepAfter } from '../../../src/base/in-batches.ts';
import type { ShareOfDevice } from '../../../src/domain/devices/device-store.ts';
import type { ShareOfRecord } from '../../../src/domain/devices/record-share-store.ts';
import type { Message } from '../../../src/domain/notifications/outbox/message.ts';
import type { Notification } from '../../../src/domain/notifications/rules/notification.ts';
import type { User } from '../../../src/domain/users/user.ts';
import { nowMs } from '../../support/points.ts';
import type { EngineKind, OpenedEngine } from '../engines.ts';
import { many, Records } from './records.ts';

/** A list that is walked: its ids in order, and how one is removed. */
interface Walked<T> {
  readonly ids: readonly string[];
  readonly read: (step: StepAfter<T>) => Promise<readonly T[]>;
  readonly idOf: (record: T) => string;
  readonly remove: (id: string) => Promise<unknown>;
}

const stepRows = 3;
const made = Array.from({ length: 10 }, (_, n) => n);

export function walksSuite({ name, open }: EngineKind): void {
  suite(`lists that are walked while records are removed on ${name}`, () => {
    let opened: OpenedEngine;
    const records = new Records(() => opened);
    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    /** After each step all but the last of what was read goes, and after the first the last too. */
    const walk = async <T>({ ids, read, idOf, remove }: Walked<T>) => {
      const found: string[] = [];
      for await (const step of inStepsAfter(read, { offset: 0, stepRows, turn: async () => {} })) {
        const listed = step.map(idOf);
        const gone = found.length === 0 ? listed : listed.slice(0, -1);
        found.push(...listed);
        for (const id of gone) await remove(id);
      }
      assert.deepEqual(found, ids);
    };

    test('rules', async () => {
      const { notifications } = opened.stores;
      const author = await records.user();
      const ids: string[] = [];
      for (const _ of made) ids.push((await records.rule(author)).id);
      await walk<Notification>({
        ids,
        read: ({ after, ...step }) =>
          notifications.list({ author: author.key, filter: [], ...step, after: after?.key ?? 0 }),
        idOf: ({ id }) => id,
        remove: (id) => notifications.remove(id),
      });
    });

    test('messages, newest first', async () => {
      const { messages } = opened.stores;
      const author = await records.user();
      const drafts = made.map(() => records.message());
      await messages.create(author.key, drafts);
      await walk<Message>({
        ids: drafts.map(({ id }) => id).reverse(),
        read: (step) => messages.list({ author: author.key, filter: [], ...step }),
        idOf: ({ id }) => id,
        remove: (id) => messages.remove(id),
      });
    });

    test('users', async () => {
      const { users } = opened.stores;
      for (const n of made) await records.user({ username: `walked-${n}` });
      await walk<User>({
        ids: made.map((n) => `walked-${n}`),
        read: (step) => users.list({ username: 'walked', ...step }),
        idOf: ({ username }) => username,
        remove: async (username) => {
          const user = await users.findByName(username);
          if (user !== undefined) await users.remove(user.key, { newOwner: undefined, atMs: nowMs });
        },
      });
    });

    test('shares of devices, several of one device among them', async () => {
      const { devices } = opened.stores;
      const owner = await records.user();
      const friends = [await records.user(), await records.user()];
      const shares = new Map<string, () => Promise<void>>();
      for (const _ of made.slice(0, 5)) {
        const device = await records.device(owner);
        for (const { key, username } of friends) {
          await devices.putShare(device.key, key, { scopes: 1, givenBy: owner.key });
          shares.set(`${device.id} ${username}`, () => devices.removeShare(device.key, key));
        }
      }
      await walk<ShareOfDevice>({
        ids: [...shares.keys()],
        read: (step) => devices.listSharesOf({ ownedBy: owner.key }, step),
        idOf: ({ device, username }) => `${device} ${username}`,
        remove: async (id) => shares.get(id)?.(),
      });
    });

    for (const kind of ['gateway', 'project'] as const) {
      test(`shares of ${kind}s`, async () => {
        const { recordShares } = opened.stores;
        const owner = await records.user();
        const friends = [await records.user(), await records.user()];
        const shares = new Map<string, () => Promise<unknown>>();
        for (const _ of made.slice(0, 5)) {
          const record = kind === 'gateway' ? await records.gateway(owner) : await records.project(owner);
          for (const { key, username } of friends) {
            await recordShares.put(record, key, { scopes: 1 << 5, givenBy: owner.key, reachingMax: many });
            shares.set(`${record.id} ${username}`, () => recordShares.remove(record, key));
          }
        }
        await walk<ShareOfRecord>({
          ids: [...shares.keys()],
          read: (step) => recordShares.listOf(kind, { ownedBy: owner.key }, step),
          idOf: ({ id, username }) => `${id} ${username}`,
          remove: async (id) => shares.get(id)?.(),
        });
      });
    }
  });
}
