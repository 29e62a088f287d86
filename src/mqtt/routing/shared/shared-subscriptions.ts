// Shared subscriptions, `$share/{group}/{filter}` [4.8.2]: each message goes to one member of a group, connected ones first.
// A group is of one user: the same name is another group for others. What a member has not acknowledged when it leaves goes to
// others; what goes to a session that is kept is stored for it, so that it outlives the service. Who chooses is shared-groups.ts.
import { FairBudget } from '../../../base/memory/fair-budget.ts';
import { limits } from '../../../config/limits.ts';
import type { MqttSessions, StoredPacket, TakesWaiting } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { Access } from '../../access.ts';
import type { Client } from '../../session/client.ts';
import type { ClientSession, QoS, Sessions } from '../../sessions.ts';
import type { Delivered, StoredMessage } from '../delivered.ts';
import type { LongerWay } from '../forwarding.ts';
import type { LiveFilter } from '../live-filter.ts';
import type { OwedBytes } from '../owed-bytes.ts';
import { RoutedMessage } from '../routed-message.ts';
import {
  isConnected,
  type KnownGroup,
  type Member,
  type SharedDelivery,
  SharedGroup,
  sharedPartsOf,
} from './shared-delivery.ts';
import { SharedGroups } from './shared-groups.ts';
import { UserVerdicts } from './user-verdicts.ts';

export interface SharedSubscriptionsParts {
  readonly sessions: Sessions;
  readonly access: Access;
  readonly stored: Pick<MqttSessions, 'sessionIds' | 'findSession' | 'outgoingEnqueue' | 'outgoingClearMessageId'>;
  readonly delivery: LongerWay;
  readonly owed: OwedBytes;
  /** Loads what decides about messages on the topic; false where it is there no more. */
  readonly load: (topic: string) => Promise<boolean>;
  /** Ends the connection of a subscriber that does not keep up. */
  readonly cut: (session: ClientSession) => void;
  /** The user guest. */
  readonly guest: { readonly key: UserKey };
  /** Adds a group to the tree of filters, or takes it out. */
  readonly tree: { addGroup(group: SharedGroup): void; removeGroup(group: SharedGroup): void };
}

/** The part of all groups that guests may have, as of filters (live-filters.ts). */
const guestShare = 0.75;

export class SharedSubscriptions {
  readonly #parts: SharedSubscriptionsParts;
  readonly #groups = new SharedGroups<Member, RoutedMessage>();
  readonly #byKey = new Map<string, KnownGroup>();
  /** How many groups there are of each owner, and the part of them that guests have. */
  readonly #shares = new FairBudget<string>(limits.sharedGroupsMax);
  readonly #ofGuests = new FairBudget<string>(limits.sharedGroupsMax * guestShare, { multiple: 2 });
  /** By client id. */
  readonly #ofClients = new Map<string, Set<Member>>();
  /** What members have of QoS 1 and 2, by member and message. */
  readonly #deliveries = new Map<Member, Map<RoutedMessage, SharedDelivery>>();
  /** What connections were sent, by packet id. */
  readonly #sent = new WeakMap<Client, Map<number, SharedDelivery>>();
  readonly #verdicts: UserVerdicts;

  constructor(parts: SharedSubscriptionsParts) {
    this.#parts = parts;
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
    for (const text of facts.filters.keys()) this.#join({ clientId, user: facts.user, text, owner: `${facts.user}` });
  }

  /**
   * The stored session of a client has ended: it is a member no more, unless it is connected. @returns who takes what waits for
   * it: the other members of its groups. Of guests it is not known who those are.
   */
  ended(clientId: string, user: UserKey | undefined): TakesWaiting | undefined {
    const members = [...(this.#ofClients.get(clientId) ?? [])];
    /** What others have by its leaving. */
    const moved = new Set<number | undefined>();
    for (const member of members)
      for (const { stored } of this.#deliveries.get(member)?.values() ?? []) moved.add(stored?.brokerCounter);
    for (const member of members) if (member.live === undefined) this.#leave(member);
    if (user === undefined || user === this.#parts.guest.key || !this.#hasGroups(user)) return undefined;
    return (message) => this.#passOnWaiting(user, message as Waiting, moved);
  }

  /** A client subscribes, or comes back. False where there may be no more groups or members. */
  add(session: ClientSession, live: LiveFilter): boolean {
    const { actor, clientId } = session;
    // All guests are one user, but not one person.
    const owner = actor.guest ? actor.caller.key : `${actor.key}`;
    const member = this.#join({ clientId, user: actor.key, text: live.filter, owner });
    if (member === undefined) return false;
    // What waited for it is sent to it from its stored session.
    for (const delivery of this.#deliveries.get(member)?.values() ?? [])
      if (!delivery.isStoring) this.#settle(delivery);
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
    else
      this.#move(
        member,
        this.#groups.release(member.group.key, member, (other) => isConnected(other)),
      );
  }

  /**
   * Hands a message to one member of a group. @returns what resolves when it is stored for that; undefined: it has not to be.
   */
  give(group: SharedGroup, message: RoutedMessage): Promise<void> | undefined {
    const user = this.#byKey.get(group.key)?.user;
    if (user === undefined || !this.#verdicts.isFor(user, message)) return undefined;
    const member = this.#choose(group, message, (one) => this.#mayGet(one, message));
    return member && this.#hand(member, message);
  }

  /** A message was written to the member under this packet id. */
  sent(client: Client, delivery: SharedDelivery, messageId: number): void {
    const { member, message } = delivery;
    delivery.messageId = messageId;
    // With QoS 1 another may have it still, whatever its publisher's QoS.
    if (delivery.qos === 2) this.#groups.sent(member.group.key, member, message);
    const sent = this.#sent.get(client) ?? new Map<number, SharedDelivery>();
    sent.set(messageId, delivery);
    this.#sent.set(client, sent);
  }

  /** The client has acknowledged a message, which may be one of these. */
  acknowledged(client: Client, messageId: number): void {
    const sent = this.#sent.get(client);
    const delivery = sent?.get(messageId);
    if (sent === undefined || delivery === undefined) return;
    sent.delete(messageId);
    this.#settle(delivery);
  }

  /** The member may not have the message any more, or does not take it: somebody else gets it. */
  refused(delivery: SharedDelivery): void {
    // Otherwise somebody else has it already.
    if (!this.#isTheirs(delivery)) return;
    this.#settle(delivery);
    this.#passOn(delivery.member, delivery.message, delivery.passedOver)?.catch(() => {});
  }

  /**
   * A message that was stored for a member, which may not have it any more: somebody else gets it. @returns what resolves when they
   * have it, and it is not to be stored for this member any more.
   * @throws Refusal when it could not be stored for them.
   */
  async passOnStored(clientId: string, text: string, stored: StoredMessage): Promise<void> {
    for (const member of this.#ofClients.get(clientId) ?? []) {
      if (member.text !== text) continue;
      return this.#passOn(member, routedOf(stored, member.user), new Set());
    }
  }

  /** A message of a group that waits for a session that ends goes to another member of the group, while there are any. */
  async #passOnWaiting(user: UserKey, waiting: Waiting, moved: ReadonlySet<number | undefined>): Promise<void> {
    const { ofGroup, messageId, qos, brokerCounter } = waiting;
    const parts = ofGroup === undefined ? undefined : sharedPartsOf(ofGroup);
    const known = parts && this.#byKey.get(keyOf(`${user}`, parts));
    // With QoS 2 what was sent goes to nobody else [MQTT-4.8.2-5].
    if (known === undefined || moved.has(brokerCounter) || (qos === 2 && messageId !== undefined)) return;
    const { topic } = waiting;
    // Its right can be judged while the device is in memory.
    if (topic === undefined || !(await this.#parts.load(topic))) return;
    const stored = { ...waiting, topic, payload: Buffer.from(waiting.payload ?? ''), qos: (qos ?? 0) as QoS };
    const message = routedOf(stored as StoredMessage, user);
    const next = this.#choose(known.group, message, (member) => this.#mayGet(member, message));
    if (next !== undefined) await Promise.resolve(this.#hand(next, message)).catch(() => {});
  }

  /** Whether a user is in any group. */
  #hasGroups(user: UserKey): boolean {
    return this.#shares.heldBy(`${user}`) > 0;
  }

  /** Whether the member's session may have the message now. */
  mayHave(delivery: SharedDelivery): boolean {
    return this.#isTheirs(delivery) && this.#mayGet(delivery.member, delivery.message);
  }

  #isTheirs(delivery: SharedDelivery): boolean {
    return this.#deliveries.get(delivery.member)?.get(delivery.message) === delivery;
  }

  /**
   * Gives the message to another, connected ones first. Each member is asked once: none may take it, as where it is larger than any
   * of them takes. @returns what resolves when somebody has it; undefined: nobody.
   */
  #passOn(from: Member, message: RoutedMessage, passedOver: Set<Member>): Promise<void> | undefined {
    passedOver.add(from);
    const others = (other: Member) => !passedOver.has(other) && this.#mayGet(other, message);
    const next = this.#choose(from.group, message, others);
    return next && Promise.resolve(this.#hand(next, message, passedOver));
  }

  /** Connected members first; what they do not have is kept for one that is away. */
  #choose({ key }: SharedGroup, message: RoutedMessage, mayGet: (member: Member) => boolean): Member | undefined {
    return (
      this.#groups.give(key, message, message.qos, (one) => isConnected(one) && mayGet(one)) ??
      (message.qos > 0 ? this.#groups.give(key, message, message.qos, mayGet) : undefined)
    );
  }

  #settle({ member, message }: Pick<SharedDelivery, 'member' | 'message'>): void {
    this.#groups.settled(member.group.key, member, message);
    this.#drop(member, message);
  }

  #drop(member: Member, message: RoutedMessage): SharedDelivery | undefined {
    const theirs = this.#deliveries.get(member);
    const delivery = theirs?.get(message);
    theirs?.delete(message);
    if (theirs?.size === 0) this.#deliveries.delete(member);
    if (delivery?.owed !== undefined) this.#parts.owed.release(delivery.owed);
    return delivery;
  }

  #hand(member: Member, message: RoutedMessage, passedOver = new Set<Member>()): Promise<void> | undefined {
    const { live } = member;
    const qos = Math.min(message.qos, live?.qos ?? this.#keptQosOf(member)) as QoS;
    if (qos === 0) {
      this.#groups.settled(member.group.key, member, message);
      if (live !== undefined) this.#send(live, { message, qos });
      return undefined;
    }
    const session = live && this.#parts.sessions.known(live.client);
    const owed = session && this.#parts.owed.ofMessage(session, message);
    const delivery: SharedDelivery = {
      ...{ member, message, qos, passedOver, owed },
      ...{ messageId: undefined, stored: undefined, isStoring: false },
    };
    const theirs = this.#deliveries.get(member) ?? new Map<RoutedMessage, SharedDelivery>();
    theirs.set(message, delivery);
    this.#deliveries.set(member, theirs);
    let stored: Promise<void> | undefined;
    if (live === undefined || !live.client.clean) stored = this.#store(delivery, qos);
    else this.#send(live, { message, qos, delivery });
    // It goes to somebody else then.
    if (session !== undefined && owed === undefined) this.#parts.cut(session);
    return stored;
  }

  /**
   * Stores the message for the member's session, and sends it if its client is there.
   * @throws Refusal when it could not be stored; it is sent all the same.
   */
  async #store(delivery: SharedDelivery, qos: QoS): Promise<void> {
    const { member, message } = delivery;
    const packet = { ...message.toStore(), ofGroup: member.text };
    delivery.stored = packet;
    delivery.isStoring = true;
    try {
      await this.#parts.stored.outgoingEnqueue({ clientId: member.clientId, qos }, packet);
    } finally {
      delivery.isStoring = false;
      // It may have gone to somebody else meanwhile.
      if (!this.#isTheirs(delivery)) this.#forget(delivery);
      else if (member.live !== undefined) this.#send(member.live, { message, qos, delivery });
      // Its stored session has it now.
      else this.#settle(delivery);
    }
  }

  #forget({ member, stored, messageId }: SharedDelivery): void {
    if (stored === undefined) return;
    const { brokerId, brokerCounter, topic, payload } = stored;
    const packet = messageId === undefined ? { brokerId, brokerCounter, topic, payload } : { messageId };
    this.#parts.stored.outgoingClearMessageId({ id: member.clientId }, packet).catch(() => {});
  }

  #send(
    live: LiveFilter,
    {
      message,
      qos,
      delivery,
    }: { readonly message: RoutedMessage; readonly qos: QoS; readonly delivery?: SharedDelivery },
  ): void {
    const session = this.#parts.sessions.of(live.client);
    if (session === undefined) return;
    const { topic, payload, properties, expiresMs, retain } = message;
    const { identifier, retainAsPublished } = live.options;
    const numbered = delivery?.stored ?? message;
    const delivered: Delivered = {
      ...{ topic, payload, qos, properties, expiresMs, retain: false, isNew: true },
      ...{ brokerId: numbered.brokerId, brokerCounter: numbered.brokerCounter },
      publishedRetain: retain && retainAsPublished,
      identifiers: identifier === undefined ? [] : [identifier],
      shared: delivery ?? 'not-kept',
    };
    this.#parts.delivery.deliver(session, delivered, nothing);
  }

  #mayGet(member: Member, message: RoutedMessage): boolean {
    if (member.live === undefined)
      return this.#keptQosOf(member) > 0 && this.#parts.access.mayKeep(member.user, message);
    const session = this.#parts.sessions.of(member.live.client);
    return session !== undefined && this.#parts.access.mayRead(session, message.topic);
  }

  /** The QoS of the filter of a member that is away, for whom nothing of QoS 0 is kept; 0 too where its session has ended. */
  #keptQosOf({ clientId, text, user }: Member): QoS {
    const facts = this.#parts.stored.findSession(clientId);
    return facts?.user === user ? ((facts.filters.get(text)?.qos ?? 0) as QoS) : 0;
  }

  #join(joining: {
    readonly clientId: string;
    readonly user: UserKey;
    readonly text: string;
    readonly owner: string;
  }): Member | undefined {
    const { clientId, user, text, owner } = joining;
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
    if (!this.#groups.join(key, member)) return undefined;
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

  /** Whether there may be one more group of this owner. */
  #hasRoomFor(owner: string, isGuest: boolean): boolean {
    return this.#shares.hasCapacityFor(owner, 1) && (!isGuest || this.#ofGuests.hasCapacityFor(owner, 1));
  }

  #leave(member: Member): void {
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
    const moved = this.#groups.leave(group.key, member, (other) => isConnected(other));
    this.#move(member, moved);
    for (const { message, to } of moved) if (to === undefined) this.#leaveToAway(member, message);
    for (const message of [...(this.#deliveries.get(member)?.keys() ?? [])]) this.#drop(member, message);
  }

  /** Nobody who is connected may have what a member had that has left: it is kept for one that is away. */
  #leaveToAway(from: Member, message: RoutedMessage): void {
    const delivery = this.#deliveries.get(from)?.get(message);
    const kept = this.#passOn(from, message, delivery?.passedOver ?? new Set());
    if (delivery !== undefined) this.#forgetBehind(delivery, kept);
  }

  /** What is stored for the former member stays until somebody else has the message. */
  #forgetBehind(delivery: SharedDelivery, taken: Promise<void> | undefined): void {
    taken?.then(
      () => this.#forget(delivery),
      () => {},
    );
  }

  /** Hands on what was moved from a member. */
  #move(from: Member, moved: readonly { readonly message: RoutedMessage; readonly to: Member | undefined }[]): void {
    for (const { message, to } of moved) {
      if (to === undefined) continue;
      const delivery = this.#drop(from, message);
      const passedOver = delivery?.passedOver ?? new Set<Member>();
      let taken: Promise<void> | undefined;
      if (this.#mayGet(to, message)) taken = Promise.resolve(this.#hand(to, message, passedOver));
      else {
        this.#settle({ member: to, message });
        taken = this.#passOn(to, message, passedOver);
      }
      if (delivery === undefined) taken?.catch(() => {});
      else this.#forgetBehind(delivery, taken);
    }
  }

  #memberOf(live: LiveFilter): Member | undefined {
    const parts = sharedPartsOf(live.filter);
    if (parts === undefined) return undefined;
    const session = this.#parts.sessions.known(live.client);
    if (session === undefined) return undefined;
    const { actor } = session;
    const owner = actor.guest ? actor.caller.key : `${actor.key}`;
    return this.#byKey.get(keyOf(owner, parts))?.members.get(live.client.id);
  }
}

/** What waits for a session, as it is stored. */
type Waiting = StoredPacket & { readonly ofGroup?: string };

function keyOf(owner: string, { name, filter }: { readonly name: string; readonly filter: string }): string {
  return `${owner}\0${name}\0${filter}`;
}

/** @param user of the group: what is below `users/` is published by who may have it. */
function routedOf(stored: StoredMessage, user: UserKey): RoutedMessage {
  const { topic, payload, qos, publishedRetain = false, properties, expiresMs, publisherId, device, part } = stored;
  const of = { ...(device === undefined ? {} : { device }), ...(part === undefined ? {} : { part }) };
  return new RoutedMessage({
    ...{ topic, payload, qos, retain: publishedRetain, properties, expiresMs, publisherId, user },
    ...of,
  });
}

function nothing(): void {}
