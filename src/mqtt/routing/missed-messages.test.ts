import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommittedPush } from '../../domain/datapoints/feed.ts';
import type { ClientMessage, FollowedPush } from '../../domain/ports/commit-log.ts';
import type { StoredPacket } from '../../domain/ports/mqtt-sessions.ts';
import { MissedMessages } from './missed-messages.ts';

/** Messages that were kept, each with the place of its commit. */
function makeMissed(committedPushesOf: (pushes: readonly FollowedPush[]) => Promise<readonly CommittedPush[]>) {
  const kept: [number, string | undefined][] = [];
  const missed = new MissedMessages({
    stored: { enqueueMissed: ({ topic }: StoredPacket, place) => void kept.push([place, topic]) },
    committedPushesOf,
    delivery: {
      messagesOf: ({ firstSeq }) => [{ topic: `push/${firstSeq}`, payload: Buffer.alloc(0), qos: 1, retain: false }],
    },
    prepared: async (messages) => messages.filter(({ topic }) => topic !== 'users/gone/x'),
  });
  return { missed, kept };
}

const push = (firstSeq: number, qos?: 0 | 1 | 2) =>
  ({ firstSeq, original: qos === undefined ? undefined : { qos } }) as FollowedPush;
const said = (topic: string, qos: 0 | 1 | 2) =>
  ({ topic, payload: new Uint8Array(0), qos, retain: false, user: 1 }) as ClientMessage;

test('what was pushed or said with QoS 1 and 2 is kept in the order of the commits; QoS 0, HTTP and what is gone is not', async () => {
  const { missed, kept } = makeMissed(async (pushes) => pushes as unknown as readonly CommittedPush[]);
  await missed.keep([
    { place: 7, pushes: [push(1, 1), push(2, 0), push(3)], messages: [said('users/a/x', 2), said('users/a/y', 0)] },
    { place: 9, pushes: [push(4, 2)], messages: [said('users/gone/x', 1)] },
  ]);
  assert.deepEqual(kept, [
    [7, 'push/1'],
    [7, 'users/a/x'],
    [7, '/users/a/x'],
    [9, 'push/4'],
  ]);
});

test('where a commit cannot be looked up, none of them is kept, so that all may come again', async () => {
  const { missed, kept } = makeMissed(async ([first]) => {
    if (first?.firstSeq === 2) throw new Error('away');
    return [first] as unknown as readonly CommittedPush[];
  });
  const commits = [1, 2].map((n) => ({ place: n, pushes: [push(n, 1)], messages: [] }));
  await assert.rejects(missed.keep(commits), /away/);
  assert.deepEqual(kept, []);
});
