// Who of a shared subscription's group gets a message [4.8.2]: the member with the fewest that it has not acknowledged, in turn
// where they are equal. What a member had when it leaves goes to others, in its order, so that nothing is lost by leaving.
// Pure; used by what routes messages, which holds them. Each message counted here waits in its member's session too, and is
// bounded with it: whoever takes it from there, for whatever reason, must say `settled`.
import { limits } from '../../../config/limits.ts';
import type { Qos } from '../../protocol/packet-types.ts';

/** Whether a member may get messages: whether it may view them, and what else its session asks for. */
export type MayGet<M> = (member: M) => boolean;

/** A message that somebody else had. */
export interface Moved<M, K> {
  readonly message: K;
  /** Who has it now; undefined: nobody of those that are left may get it. */
  readonly to: M | undefined;
}

interface Unsettled {
  readonly qos: 1 | 2;
  /** A PUBLISH of QoS 2 has left: the message belongs to this member [MQTT-4.8.2-4, MQTT-4.8.2-5]. */
  isClaimed: boolean;
}

interface Member<M, K> {
  readonly member: M;
  /** What it was given with QoS 1 or 2 and has not acknowledged, in this order. */
  readonly unsettled: Map<K, Unsettled>;
}

interface Group<M, K> {
  readonly members: Member<M, K>[];
  readonly byMember: Map<M, Member<M, K>>;
  /** Where the search for a member begins: behind the one that was found last. */
  next: number;
}

/** @typeParam K what a message is known by: an object or number that no other message in its group has. */
export class SharedGroups<M, K> {
  readonly #groups = new Map<string, Group<M, K>>();

  /** How many groups have a member. */
  get size(): number {
    return this.#groups.size;
  }

  membersOf(group: string): number {
    return this.#groups.get(group)?.members.length ?? 0;
  }

  /** How many messages a member was given with QoS 1 or 2 and has not acknowledged. */
  unsettledOf(group: string, member: M): number {
    return this.#memberOf(group, member)?.unsettled.size ?? 0;
  }

  /**
   * Adds a member; who is one stays as it is.
   * @param group its name with its user and filter: the same name is another group for others [4.8.2].
   * @returns false where there are as many groups, or members, as there may be.
   */
  join(group: string, member: M): boolean {
    const known = this.#groups.get(group);
    if (known?.byMember.has(member) === true) return true;
    if (known === undefined ? this.#groups.size >= limits.sharedGroupsMax : isFull(known)) return false;
    const joined = known ?? { members: [], byMember: new Map<M, Member<M, K>>(), next: 0 };
    const added = { member, unsettled: new Map<K, Unsettled>() };
    joined.members.push(added);
    joined.byMember.set(member, added);
    if (known === undefined) this.#groups.set(group, joined);
    return true;
  }

  /**
   * Chooses who gets a message, and remembers with QoS 1 and 2 that it has it.
   * @returns undefined where nobody may get it, or all who may have as many as they may.
   */
  give(group: string, message: K, qos: Qos, mayGet: MayGet<M>): M | undefined {
    const known = this.#groups.get(group);
    if (known === undefined) return undefined;
    const chosen = choose(known, mayGet, limits.sharedUnacknowledgedMax);
    if (chosen === undefined) return undefined;
    if (qos > 0) chosen.unsettled.set(message, { qos: qos as 1 | 2, isClaimed: false });
    return chosen.member;
  }

  /** A PUBLISH of the message has left to the member. With QoS 2 it goes to nobody else from then on. */
  sent(group: string, member: M, message: K): void {
    const unsettled = this.#memberOf(group, member)?.unsettled.get(message);
    if (unsettled?.qos === 2) unsettled.isClaimed = true;
  }

  /** The member has acknowledged the message (PUBACK, PUBCOMP, or a PUBREC of failure), or its session has dropped it. */
  settled(group: string, member: M, message: K): void {
    this.#memberOf(group, member)?.unsettled.delete(message);
  }

  /** Takes a member away: its subscription or session has ended. @returns who has what it had, in its order. */
  leave(group: string, member: M, mayGet: MayGet<M>): Moved<M, K>[] {
    const known = this.#groups.get(group);
    const left = known?.byMember.get(member);
    if (known === undefined || left === undefined) return [];
    const at = known.members.indexOf(left);
    known.members.splice(at, 1);
    known.byMember.delete(member);
    if (at < known.next) known.next -= 1;
    if (known.members.length === 0) this.#groups.delete(group);
    return move(known, left, mayGet);
  }

  /**
   * Gives what a member has to others, and leaves it in the group: it may not get messages for a while, or its connection
   * is gone and its session waits. @param mayGet not asked of the member itself.
   */
  release(group: string, member: M, mayGet: MayGet<M>): Moved<M, K>[] {
    const known = this.#groups.get(group);
    const from = known?.byMember.get(member);
    if (known === undefined || from === undefined) return [];
    return move(known, from, (other) => other !== member && mayGet(other));
  }

  #memberOf(group: string, member: M): Member<M, K> | undefined {
    return this.#groups.get(group)?.byMember.get(member);
  }
}

function isFull({ members }: { readonly members: readonly unknown[] }): boolean {
  return members.length >= limits.sharedMembersMax;
}

/** The member with the fewest unsettled messages; the first behind the last one that was chosen, where some are equal. */
function choose<M, K>(group: Group<M, K>, mayGet: MayGet<M>, unsettledMax: number): Member<M, K> | undefined {
  const { members } = group;
  let best: Member<M, K> | undefined;
  let bestAt = 0;
  let fewest = unsettledMax;
  for (let n = 0; n < members.length && fewest > 0; n++) {
    const at = (group.next + n) % members.length;
    const candidate = members[at] as Member<M, K>;
    // Asked last: it may cost more than the count.
    if (candidate.unsettled.size >= fewest || !mayGet(candidate.member)) continue;
    best = candidate;
    bestAt = at;
    fewest = candidate.unsettled.size;
  }
  if (best !== undefined) group.next = (bestAt + 1) % members.length;
  return best;
}

/**
 * Moves what may be moved. Others take it beyond their bound: no more messages are in the group than before.
 * What nobody may get, and no claim holds, stays with `from`, as far as that stays in the group.
 */
function move<M, K>(group: Group<M, K>, from: Member<M, K>, mayGet: MayGet<M>): Moved<M, K>[] {
  const moved: Moved<M, K>[] = [];
  for (const [message, { qos, isClaimed }] of [...from.unsettled]) {
    if (isClaimed) continue;
    const to = choose(group, mayGet, Number.POSITIVE_INFINITY);
    if (to !== undefined) {
      from.unsettled.delete(message);
      to.unsettled.set(message, { qos, isClaimed: false });
    }
    moved.push({ message, to: to?.member });
  }
  return moved;
}
