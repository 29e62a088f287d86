// Groups of shared subscriptions: who is chosen, what becomes of what a member had, and a model of all that may happen.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { limits } from '../../../config/limits.ts';
import type { Qos } from '../../protocol/packet-types.ts';
import { SharedGroups } from './shared-groups.ts';

const all = () => true;

function groupOf(...members: readonly string[]): SharedGroups<string, number> {
  const groups = new SharedGroups<string, number>();
  for (const member of members) assert.ok(groups.join('g', member));
  return groups;
}

const given = (groups: SharedGroups<string, number>, messages: readonly number[], qos: Qos = 1) =>
  messages.map((message) => groups.give('g', message, qos, all));

suite('a message to a group', () => {
  test('goes to one member after the other where all have acknowledged the same', () => {
    assert.deepEqual(given(groupOf('a', 'b', 'c'), [1, 2, 3, 4], 0), ['a', 'b', 'c', 'a']);
    assert.deepEqual(given(groupOf('a', 'b', 'c'), [1, 2, 3, 4], 1), ['a', 'b', 'c', 'a']);
  });

  test('goes to the member that has the fewest to acknowledge', () => {
    const groups = groupOf('a', 'b');
    assert.deepEqual(given(groups, [1, 2, 3, 4]), ['a', 'b', 'a', 'b']);
    groups.settled('g', 'b', 2);
    groups.settled('g', 'b', 4);
    assert.deepEqual(given(groups, [5, 6, 7]), ['b', 'b', 'a']);
    assert.deepEqual([groups.unsettledOf('g', 'a'), groups.unsettledOf('g', 'b')], [3, 2]);
  });

  test('passes over who may not get it, and goes to nobody where nobody may', () => {
    const groups = groupOf('a', 'b', 'c');
    for (let n = 0; n < 4; n++)
      assert.equal(
        groups.give('g', n, 1, (member) => member === 'b'),
        'b',
      );
    assert.equal(
      groups.give('g', 9, 1, () => false),
      undefined,
    );
    assert.equal(groups.give('none', 9, 1, all), undefined);
  });

  test('passes over who has as many as it may have', () => {
    const groups = groupOf('a', 'b');
    const onlyA = (member: string) => member === 'a';
    for (let n = 0; n < limits.sharedUnacknowledgedMax; n++) groups.give('g', n, 1, onlyA);
    assert.equal(groups.give('g', -1, 1, onlyA), undefined);
    assert.equal(groups.give('g', -1, 1, all), 'b');
  });

  test('of one group is none of another', () => {
    const groups = groupOf('a');
    groups.join('other', 'b');
    assert.deepEqual(given(groups, [1, 2]), ['a', 'a']);
    assert.equal(groups.unsettledOf('other', 'b'), 0);
  });
});

suite('what a member had', () => {
  test('goes to others in its order when it leaves', () => {
    const groups = groupOf('a', 'b', 'c');
    given(groups, [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(groups.leave('g', 'a', all), [
      { message: 1, to: 'b' },
      { message: 4, to: 'c' },
    ]);
    groups.settled('g', 'a', 1);
    assert.deepEqual([groups.membersOf('g'), groups.unsettledOf('g', 'b'), groups.unsettledOf('g', 'c')], [2, 3, 3]);
    assert.deepEqual(groups.leave('g', 'a', all), []);
  });

  test('stays with it where its PUBLISH of QoS 2 has left [MQTT-4.8.2-4, MQTT-4.8.2-5]', () => {
    const groups = groupOf('a');
    given(groups, [1, 2], 2);
    given(groups, [3], 1);
    groups.join('g', 'b');
    groups.sent('g', 'a', 1);
    groups.sent('g', 'a', 3);
    assert.deepEqual(groups.release('g', 'a', all), [
      { message: 2, to: 'b' },
      { message: 3, to: 'b' },
    ]);
    assert.equal(groups.unsettledOf('g', 'a'), 1);
    assert.deepEqual(groups.leave('g', 'a', all), []);
  });

  test('stays with it while it stays and nobody else may get it, and is told to be nobody’s when the last leaves', () => {
    const groups = groupOf('a', 'b');
    given(groups, [1, 2]);
    assert.deepEqual(
      groups.release('g', 'a', () => false),
      [{ message: 1, to: undefined }],
    );
    assert.equal(groups.unsettledOf('g', 'a'), 1);
    assert.deepEqual(groups.leave('g', 'a', all), [{ message: 1, to: 'b' }]);
    assert.deepEqual(groups.leave('g', 'b', all), [
      { message: 2, to: undefined },
      { message: 1, to: undefined },
    ]);
    assert.equal(groups.size, 0);
  });
});

suite('there are no more', () => {
  test('members of a group than its bound, and who is one may join again', () => {
    const groups = new SharedGroups<number, number>();
    for (let n = 0; n < limits.sharedMembersMax; n++) assert.ok(groups.join('g', n));
    assert.equal(groups.join('g', -1), false);
    assert.equal(groups.join('g', 5), true);
    groups.leave('g', 5, all);
    assert.equal(groups.join('g', -1), true);
  });

  test('groups than their bound; one without members is none', () => {
    const groups = new SharedGroups<number, number>();
    for (let n = 0; n < limits.sharedGroupsMax; n++) assert.ok(groups.join(`g${n}`, 1));
    assert.equal(groups.join('more', 1), false);
    assert.equal(groups.join('g0', 2), true);
    groups.leave('g1', 1, all);
    assert.equal(groups.join('more', 1), true);
    assert.equal(groups.size, limits.sharedGroupsMax);
  });
});

/** One thing that happens; numbers choose among what there is. */
const event = fc.record({
  kind: fc.constantFrom('give', 'give', 'give', 'settle', 'send', 'join', 'leave', 'release', 'forbid', 'allow'),
  which: fc.nat(),
  qos: fc.constantFrom<Qos[]>(0, 1, 2),
});

test('nothing is lost, and nothing goes to a second member but when the first left or was released', () => {
  const property = fc.property(fc.array(event, { maxLength: 120 }), (events) => {
    const groups = new SharedGroups<number, number>();
    const present = new Set<number>();
    const forbidden = new Set<number>();
    /** Who has each message of QoS 1 and 2 that is not acknowledged, in the order in which it was given. */
    const holders = new Map<number, { member: number; readonly qos: Qos; isClaimed: boolean }>();
    const mayGet = (member: number) => !forbidden.has(member);
    const pick = <T>(from: readonly T[], which: number): T | undefined => from[which % from.length];
    const heldBy = (member: number) => [...holders].filter(([, holder]) => holder.member === member);
    let messages = 0;

    const moveFrom = (
      member: number,
      moved: readonly { message: number; to: number | undefined }[],
      isLeft: boolean,
    ) => {
      const movable = heldBy(member).filter(([, { isClaimed }]) => !isClaimed);
      assert.deepEqual(moved.map(({ message }) => message).sort(), movable.map(([message]) => message).sort());
      const others = [...present].filter((other) => other !== member && mayGet(other));
      for (const { message, to } of moved) {
        assert.equal(to === undefined, others.length === 0);
        assert.ok(to === undefined || others.includes(to));
        const holder = holders.get(message) ?? assert.fail('a message of nobody was moved');
        // What moves is behind what its new holder has.
        if (to !== undefined) {
          holders.delete(message);
          holders.set(message, { ...holder, member: to });
        } else if (isLeft) holders.delete(message);
      }
      if (isLeft) for (const [message] of heldBy(member)) holders.delete(message);
    };

    for (const { kind, which, qos } of events) {
      const member = pick([...present], which);
      const [message, holder] = pick([...holders], which) ?? [];
      if (kind === 'join') {
        groups.join('g', which % 6);
        present.add(which % 6);
      } else if (kind === 'forbid') forbidden.add(which % 6);
      else if (kind === 'allow') forbidden.delete(which % 6);
      else if (kind === 'give') {
        messages += 1;
        const may = [...present].filter(mayGet);
        const fewest = Math.min(...may.map((one) => heldBy(one).length));
        const to = groups.give('g', messages, qos, mayGet);
        assert.equal(to === undefined, may.length === 0);
        if (to === undefined) continue;
        assert.ok(mayGet(to) && present.has(to));
        assert.equal(heldBy(to).length, fewest);
        if (qos > 0) holders.set(messages, { member: to, qos, isClaimed: false });
      } else if (kind === 'settle' && message !== undefined && holder !== undefined) {
        groups.settled('g', holder.member, message);
        holders.delete(message);
      } else if (kind === 'send' && message !== undefined && holder !== undefined) {
        groups.sent('g', holder.member, message);
        if (holder.qos === 2) holder.isClaimed = true;
      } else if (kind === 'leave' && member !== undefined) {
        present.delete(member);
        moveFrom(member, groups.leave('g', member, mayGet), true);
      } else if (kind === 'release' && member !== undefined) {
        moveFrom(member, groups.release('g', member, mayGet), false);
      }
      for (const one of present) assert.equal(groups.unsettledOf('g', one), heldBy(one).length);
    }
    assert.equal(groups.membersOf('g'), present.size);
  });
  fc.assert(property, properties());
});
