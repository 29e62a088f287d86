// The messages that members of groups have. What a member does not take, or has not acknowledged when it leaves, goes to another;
// what goes to a session that is kept is stored for it, so that it outlives the service. session-delivery.ts sends them, and says
// what it sent or refused. Their memory counts for who gets them (owed-bytes.ts, I4).
import type { MqttSessions } from '../../../domain/ports/mqtt-sessions.ts';
import type { Access } from '../../access.ts';
import type { Client } from '../../session/client.ts';
import type { ClientSession, QoS, Sessions } from '../../sessions.ts';
import type { Delivered } from '../delivered.ts';
import type { LongerWay } from '../forwarding.ts';
import type { LiveFilter } from '../live-filter.ts';
import type { OwedBytes } from '../owed-bytes.ts';
import type { RoutedMessage } from '../routed-message.ts';
import { isConnected, type Member, type SharedDelivery, type SharedGroup } from './shared-delivery.ts';
import type { Moved, SharedGroups } from './shared-groups.ts';

export interface SharedDeliveriesParts {
  readonly sessions: Sessions;
  readonly access: Access;
  readonly stored: Pick<MqttSessions, 'findSession' | 'outgoingEnqueue' | 'outgoingClearMessageId'>;
  readonly delivery: LongerWay;
  readonly owed: OwedBytes;
  /** Ends the connection of a subscriber that does not keep up. */
  readonly cut: (session: ClientSession) => void;
}

export class SharedDeliveries {
  readonly #parts: SharedDeliveriesParts;
  readonly #groups: SharedGroups<Member, RoutedMessage>;
  /** What members have of QoS 1 and 2, by member and message. */
  readonly #deliveries = new Map<Member, Map<RoutedMessage, SharedDelivery>>();
  /** What connections were sent, by packet id. */
  readonly #sent = new WeakMap<Client, Map<number, SharedDelivery>>();

  constructor(groups: SharedGroups<Member, RoutedMessage>, parts: SharedDeliveriesParts) {
    this.#groups = groups;
    this.#parts = parts;
  }

  /** What the member has of QoS 1 and 2. */
  of(member: Member): Iterable<SharedDelivery> {
    return this.#deliveries.get(member)?.values() ?? [];
  }

  /** Hands a message to one member of a group. @returns what resolves when it is stored for that; undefined: it has not to be. */
  give(group: SharedGroup, message: RoutedMessage): Promise<void> | undefined {
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
    this.passOn(delivery.member, delivery.message, delivery.passedOver)?.catch(() => {});
  }

  /**
   * Gives the message to another, connected ones first. Each member is asked once: none may take it, as where it is larger than any
   * of them takes. @returns what resolves when somebody has it; undefined: nobody.
   */
  passOn(from: Member, message: RoutedMessage, passedOver = new Set<Member>()): Promise<void> | undefined {
    passedOver.add(from);
    const others = (other: Member) => !passedOver.has(other) && this.#mayGet(other, message);
    const next = this.#choose(from.group, message, others);
    return next && Promise.resolve(this.#hand(next, message, passedOver));
  }

  /** Whether the member's session may have the message now. */
  mayHave(delivery: SharedDelivery): boolean {
    return this.#isTheirs(delivery) && this.#mayGet(delivery.member, delivery.message);
  }

  /** The client of a member has come back: what waited for it is sent to it from its stored session. */
  resumed(member: Member): void {
    for (const delivery of this.of(member)) if (!delivery.isStoring) this.#settle(delivery);
  }

  /** The client of a member has gone, and its session is kept: others that are connected get what it had. */
  gone(member: Member): void {
    this.#move(
      member,
      this.#groups.release(member.group.key, member, (other) => isConnected(other)),
    );
  }

  /** A member has left its group. @param moved who has what it had. */
  left(member: Member, moved: readonly Moved<Member, RoutedMessage>[]): void {
    this.#move(member, moved);
    for (const { message, to } of moved) if (to === undefined) this.#leaveToAway(member, message);
    for (const message of [...(this.#deliveries.get(member)?.keys() ?? [])]) this.#drop(member, message);
  }

  #isTheirs(delivery: SharedDelivery): boolean {
    return this.#deliveries.get(delivery.member)?.get(delivery.message) === delivery;
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

  /** Nobody who is connected may have what a member had that has left: it is kept for one that is away. */
  #leaveToAway(from: Member, message: RoutedMessage): void {
    const delivery = this.#deliveries.get(from)?.get(message);
    const kept = this.passOn(from, message, delivery?.passedOver);
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
  #move(from: Member, moved: readonly Moved<Member, RoutedMessage>[]): void {
    for (const { message, to } of moved) {
      if (to === undefined) continue;
      const delivery = this.#drop(from, message);
      const passedOver = delivery?.passedOver ?? new Set<Member>();
      let taken: Promise<void> | undefined;
      if (this.#mayGet(to, message)) taken = Promise.resolve(this.#hand(to, message, passedOver));
      else {
        this.#settle({ member: to, message });
        taken = this.passOn(to, message, passedOver);
      }
      if (delivery === undefined) taken?.catch(() => {});
      else this.#forgetBehind(delivery, taken);
    }
  }
}

function nothing(): void {}
