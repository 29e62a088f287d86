// Which groups of shared subscriptions there are, and the sessions that are their members, connected or away. Bounded by
// limits.sharedGroupsMax, of which every owner has a fair share, and limits.sharedGroupsEachMax of a client (I4).
import { FairBudget } from '../../../base/memory/fair-budget.ts';
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { RoutedMessage } from '../routed-message.ts';
import { isConnected, type KnownGroup, type Member, SharedGroup, sharedPartsOf } from './shared-delivery.ts';
import type { Moved, SharedGroups } from './shared-groups.ts';

/** A filter of a session that is or becomes a member. */
interface Membership {
  readonly clientId: string;
  readonly text: string;
  /** The user; of guests, the address. */
  readonly owner: string;
}

export interface SharedMembersParts {
  readonly groups: SharedGroups<Member, RoutedMessage>;
  /** The user guest. */
  readonly guest: { readonly key: UserKey };
  /** Adds a group to the tree of filters, or takes it out. */
  readonly tree: { addGroup(group: SharedGroup): void; removeGroup(group: SharedGroup): void };
}

/** The part of all groups that guests may have, as of filters (live-filters.ts). */
const guestShare = 0.75;

export class SharedMembers {
  readonly #parts: SharedMembersParts;
  readonly #byKey = new Map<string, KnownGroup>();
  /** How many groups there are of each owner, and the part of them that guests have. */
  readonly #shares = new FairBudget<string>(limits.sharedGroupsMax);
  readonly #ofGuests = new FairBudget<string>(limits.sharedGroupsMax * guestShare, { multiple: 2 });
  /** By client id. */
  readonly #ofClients = new Map<string, Set<Member>>();

  constructor(parts: SharedMembersParts) {
    this.#parts = parts;
  }

  /** The memberships of a client. */
  of(clientId: string): Iterable<Member> {
    return this.#ofClients.get(clientId) ?? [];
  }

  find({ clientId, text, owner }: Membership): Member | undefined {
    return this.findGroup(owner, text)?.members.get(clientId);
  }

  /** The group of an owner that a shared filter names, while it has members. */
  findGroup(owner: string, text: string): KnownGroup | undefined {
    const parts = sharedPartsOf(text);
    return parts && this.#byKey.get(keyOf(owner, parts));
  }

  /** The user whose group it is, while it has members. */
  userOf({ key }: SharedGroup): UserKey | undefined {
    return this.#byKey.get(key)?.user;
  }

  /** Whether a user is in any group. */
  hasGroups(user: UserKey): boolean {
    return this.#shares.heldBy(`${user}`) > 0;
  }

  /** Adds a member; who is one stays as it is. Undefined where there may be no more groups or members. */
  join({ clientId, user, text, owner }: Membership & { readonly user: UserKey }): Member | undefined {
    const parts = sharedPartsOf(text);
    if (parts === undefined) return undefined;
    const key = keyOf(owner, parts);
    const known = this.#byKey.get(key);
    const before = known?.members.get(clientId);
    if (before !== undefined) return before;
    const group = known?.group ?? new SharedGroup(key, parts.filter);
    const isGuest = user === this.#parts.guest.key;
    const ofClient = this.#ofClients.get(clientId);
    if ((ofClient?.size ?? 0) >= limits.sharedGroupsEachMax) return undefined;
    if (known === undefined && !this.#hasRoomFor(owner, isGuest)) return undefined;
    const member: Member = { group, clientId, user, text, isGuest, live: undefined };
    if (!this.#parts.groups.join(key, member)) return undefined;
    if (ofClient === undefined) this.#ofClients.set(clientId, new Set([member]));
    else ofClient.add(member);
    if (known === undefined) {
      this.#byKey.set(key, { group, owner, user, members: new Map([[clientId, member]]) });
      this.#shares.count(owner, 1);
      if (isGuest) this.#ofGuests.count(owner, 1);
      this.#parts.tree.addGroup(group);
    } else known.members.set(clientId, member);
    return member;
  }

  /** Takes a member away, with its group where it was the last. @returns who has what it had: others that are connected. */
  leave(member: Member): Moved<Member, RoutedMessage>[] {
    const { group, clientId } = member;
    const known = this.#byKey.get(group.key);
    known?.members.delete(clientId);
    const ofClient = this.#ofClients.get(clientId);
    if (ofClient?.delete(member) === true && ofClient.size === 0) this.#ofClients.delete(clientId);
    if (known?.members.size === 0) {
      this.#byKey.delete(group.key);
      this.#shares.release(known.owner, 1);
      if (member.isGuest) this.#ofGuests.release(known.owner, 1);
      this.#parts.tree.removeGroup(group);
    }
    return this.#parts.groups.leave(group.key, member, (other) => isConnected(other));
  }

  /** Whether there may be one more group of this owner. */
  #hasRoomFor(owner: string, isGuest: boolean): boolean {
    return this.#shares.hasCapacityFor(owner, 1) && (!isGuest || this.#ofGuests.hasCapacityFor(owner, 1));
  }
}

function keyOf(owner: string, { name, filter }: { readonly name: string; readonly filter: string }): string {
  return `${owner}\0${name}\0${filter}`;
}
