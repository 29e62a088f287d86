// Shared subscriptions, `$share/{group}/{filter}` [4.8.2]: each message goes to one member of a group, connected ones first. A group
// is of one user: the same name is another group for others. Here is who becomes a member and stops being one; the members are in
// shared-members.ts, the choice of one in shared-groups.ts, and what they have in shared-deliveries.ts.
import type { MqttSessions, StoredPacket, TakesWaiting } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { ClientSession, QoS } from '../../sessions.ts';
import type { StoredMessage } from '../delivered.ts';
import type { LiveFilter } from '../live-filter.ts';
import { RoutedMessage } from '../routed-message.ts';
import { SharedDeliveries, type SharedDeliveriesParts } from './shared-deliveries.ts';
import type { Member, SharedGroup } from './shared-delivery.ts';
import { SharedGroups } from './shared-groups.ts';
import { SharedMembers, type SharedMembersParts } from './shared-members.ts';
import { UserVerdicts } from './user-verdicts.ts';

export interface SharedSubscriptionsParts extends SharedDeliveriesParts, Omit<SharedMembersParts, 'groups'> {
  readonly stored: SharedDeliveriesParts['stored'] & Pick<MqttSessions, 'sessionIds'>;
  /** Loads what decides about messages on the topic; false where it is there no more. */
  readonly load: (topic: string) => Promise<boolean>;
}

export class SharedSubscriptions {
  readonly #parts: SharedSubscriptionsParts;
  readonly #members: SharedMembers;
  readonly deliveries: SharedDeliveries;
  readonly #verdicts: UserVerdicts;

  constructor(parts: SharedSubscriptionsParts) {
    this.#parts = parts;
    const groups = new SharedGroups<Member, RoutedMessage>();
    this.#members = new SharedMembers({ groups, guest: parts.guest, tree: parts.tree });
    this.deliveries = new SharedDeliveries(groups, parts);
    this.#verdicts = new UserVerdicts(parts.access);
  }

  /** Takes up the members whose sessions were stored. Of guests it is not known any more who shares a group with whom. */
  start(): void {
    for (const clientId of this.#parts.stored.sessionIds()) this.taken(clientId);
  }

  /** A stored session of a client has become one of this process. */
  taken(clientId: string): void {
    const { stored, guest } = this.#parts;
    const facts = stored.findSession(clientId);
    if (facts?.user === undefined || facts.user === guest.key) return;
    const { user, filters } = facts;
    for (const text of filters.keys()) this.#members.join({ clientId, user, text, owner: `${user}` });
  }

  /**
   * The stored session of a client has ended: it is a member no more, unless it is connected. @returns who takes what waits for
   * it: the other members of its groups. Of guests it is not known who those are.
   */
  ended(clientId: string, user: UserKey | undefined): TakesWaiting | undefined {
    const members = [...this.#members.of(clientId)];
    /** What others have by its leaving. */
    const moved = new Set<number | undefined>();
    for (const member of members) for (const { stored } of this.deliveries.of(member)) moved.add(stored?.brokerCounter);
    for (const member of members) if (member.live === undefined) this.#leave(member);
    if (user === undefined || user === this.#parts.guest.key || !this.#members.hasGroups(user)) return undefined;
    return (message) => this.#passOnWaiting(user, message as Waiting, moved);
  }

  /** A client subscribes, or comes back. False where there may be no more groups or members. */
  add(session: ClientSession, live: LiveFilter): boolean {
    const { actor, clientId } = session;
    const member = this.#members.join({ clientId, user: actor.key, text: live.filter, owner: ownerOf(session) });
    if (member === undefined) return false;
    this.deliveries.resumed(member);
    member.live = live;
    return true;
  }

  /** A client unsubscribes. */
  remove(live: LiveFilter): void {
    const member = this.#memberOf(live);
    if (member !== undefined) this.#leave(member);
  }

  /** The client of a shared filter has gone; its session may be kept. */
  gone(live: LiveFilter): void {
    const member = this.#memberOf(live);
    if (member === undefined || member.live !== live) return;
    member.live = undefined;
    // Where the session of version 5 ends with this connection, what was stored for it goes to others then (`ended`).
    const isKept = !live.client.clean && this.#parts.stored.findSession(member.clientId) !== undefined;
    if (member.isGuest || !isKept) this.#leave(member);
    else this.deliveries.gone(member);
  }

  /**
   * Hands a message to one member of a group. @returns what resolves when it is stored for that; undefined: it has not to be.
   */
  give(group: SharedGroup, message: RoutedMessage): Promise<void> | undefined {
    const user = this.#members.userOf(group);
    if (user === undefined || !this.#verdicts.isFor(user, message)) return undefined;
    return this.deliveries.give(group, message);
  }

  /**
   * A message that was stored for a member, which may not have it any more: somebody else gets it. @returns what resolves when they
   * have it, and it is not to be stored for this member any more.
   * @throws Refusal when it could not be stored for them.
   */
  async passOnStored(clientId: string, text: string, stored: StoredMessage): Promise<void> {
    for (const member of this.#members.of(clientId)) {
      if (member.text !== text) continue;
      return this.deliveries.passOn(member, routedOf(stored, member.user));
    }
  }

  /** A message of a group that waits for a session that ends goes to another member of the group, while there are any. */
  async #passOnWaiting(user: UserKey, waiting: Waiting, moved: ReadonlySet<number | undefined>): Promise<void> {
    const { ofGroup, messageId, qos, brokerCounter } = waiting;
    const known = ofGroup === undefined ? undefined : this.#members.findGroup(`${user}`, ofGroup);
    // With QoS 2 what was sent goes to nobody else [MQTT-4.8.2-5].
    if (known === undefined || moved.has(brokerCounter) || (qos === 2 && messageId !== undefined)) return;
    const { topic } = waiting;
    // Its right can be judged while the device is in memory.
    if (topic === undefined || !(await this.#parts.load(topic))) return;
    const stored = { ...waiting, topic, payload: Buffer.from(waiting.payload ?? ''), qos: (qos ?? 0) as QoS };
    await this.deliveries.give(known.group, routedOf(stored as StoredMessage, user))?.catch(() => {});
  }

  #leave(member: Member): void {
    this.deliveries.left(member, this.#members.leave(member));
  }

  #memberOf({ filter, client }: LiveFilter): Member | undefined {
    const session = this.#parts.sessions.known(client);
    return session && this.#members.find({ clientId: client.id, text: filter, owner: ownerOf(session) });
  }
}

/** All guests are one user, but not one person. */
function ownerOf({ actor }: ClientSession): string {
  return actor.guest ? actor.caller.key : `${actor.key}`;
}

/** What waits for a session, as it is stored. */
type Waiting = StoredPacket & { readonly ofGroup?: string };

/** @param user of the group: what is below `users/` is published by who may have it. */
function routedOf(stored: StoredMessage, user: UserKey): RoutedMessage {
  const { topic, payload, qos, publishedRetain = false, properties, expiresMs, publisherId, device, part } = stored;
  const of = { ...(device === undefined ? {} : { device }), ...(part === undefined ? {} : { part }) };
  return new RoutedMessage({
    ...{ topic, payload, qos, retain: publishedRetain, properties, expiresMs, publisherId, user },
    ...of,
  });
}
