// A model of MQTT for mqtt-streams.test.ts, written from the specifications of 3.1, 3.1.1 and 5 and from contract 8, not from the
// service: sessions, subscriptions, what is retained, and what each client is to be sent. It is slow and plain.

export type Qos = 0 | 1 | 2;

export interface Will {
  readonly topic: string;
  readonly payload: string;
  readonly qos: Qos;
  readonly retain: boolean;
  /** Whether it waits for longer than any stream lasts, unless its session ends before. */
  readonly isDelayed: boolean;
}

export interface Message {
  readonly topic: string;
  readonly payload: string;
  readonly qos: Qos;
  readonly retain: boolean;
  readonly from: string;
  readonly expiryS?: number | undefined;
  readonly contentType?: string | undefined;
}

export interface Subscription {
  readonly filter: string;
  readonly qos: Qos;
  readonly isNoLocal: boolean;
  readonly isAsPublished: boolean;
  readonly retainHandling: 0 | 1 | 2;
  readonly id: number | undefined;
}

/** A message on its way to one client. */
export interface Delivery {
  readonly topic: string;
  readonly payload: string;
  readonly qos: Qos;
  /** Messages of one client to one topic at one QoS keep their order [MQTT-4.6.0-5]: what names these. */
  readonly row: string;
  /** Either, where the subscriptions that match differ in what they want. */
  readonly retain: boolean | 'either';
  readonly ids: readonly number[];
  /** By the subscriptions at the connection on which it is sent, where it waited for that or is sent again. */
  later?: Pick<Delivery, 'ids' | 'retain'>;
  readonly message: Message;
  /** Whether it is what was retained when its receiver subscribed. */
  readonly isGivenRetained?: boolean;
  /** Whether it waited when its client came back. */
  isReplayed?: boolean;
  readonly contentType: string | undefined;
  /** When it is worth nothing any more; by the clock of the test. */
  readonly expiresMs: number | undefined;
  packetId: number | undefined;
  /** `sent` and `received` (PUBREC) are under way. */
  state: 'waits' | 'sent' | 'received';
}

/** What is to come to a client in this step. */
export type Expected =
  | { readonly kind: 'publish'; readonly delivery: Delivery; readonly isAgain: boolean; readonly isSure: boolean }
  | { readonly kind: 'pubrel'; readonly packetId: number };

/** A retained message that is due by a SUBSCRIBE with this filter. */
interface Given {
  readonly delivery: Delivery;
  readonly filter: string;
}

export interface Member {
  readonly session: Session;
  readonly delivery: Delivery;
}

export class Session {
  readonly clientId: string;
  readonly isStranger: boolean;
  readonly receiveMaximum: number;
  readonly isOfFive: boolean;
  readonly subscriptions = new Map<string, Subscription>();
  /** In their order: what is under way, then what waits. */
  deliveries: Delivery[] = [];
  /** Of QoS 0, behind what waits since before its connection: none is sent while the Receive Maximum is reached (4.9). */
  held: Delivery[] = [];
  /** What is retained for its last SUBSCRIBE and not given yet: the first waits for room, the others behind it (4.9 allows it for QoS 0). */
  given: Given[] = [];
  /** Packet ids of QoS 2 that wait for PUBREL. */
  readonly unreleased = new Set<number>();
  isConnected = false;
  /** Seconds for which it is kept; Infinity without an end. */
  expiryS = 0;
  leftMs = 0;
  will: Will | undefined;

  constructor(options: Pick<Session, 'clientId' | 'isStranger' | 'receiveMaximum' | 'isOfFive'>) {
    this.clientId = options.clientId;
    this.isStranger = options.isStranger;
    this.receiveMaximum = options.receiveMaximum;
    this.isOfFive = options.isOfFive;
  }

  get underWay(): Delivery[] {
    return this.deliveries.filter(({ state }) => state !== 'waits');
  }
}

/** Section 4.7, character by character. */
function matches(filter: string, topic: string): boolean {
  const [wanted, levels] = [filter.split('/'), topic.split('/')];
  for (const [n, level] of wanted.entries()) {
    if (level === '#') return true;
    if (n >= levels.length) return false;
    if (level !== '+' && level !== levels[n]) return false;
  }
  // `a/#` is for `a` too, which the loop has left before it came to the `#`.
  return wanted.length === levels.length;
}

function matchesWithParent(filter: string, topic: string): boolean {
  return matches(filter, topic) || (filter.endsWith('/#') && matches(filter.slice(0, -2), topic));
}

/** Contract 8: a filter that begins with `/` or `+/` asks for the form with a slash before it. */
function formOf(filter: string, topic: string): string | undefined {
  const form = /^\+?\//.test(filter) ? `/${topic}` : topic;
  return matchesWithParent(filter, form) ? form : undefined;
}

/** `$share/group/filter` in its parts. */
function sharedOf(filter: string): { readonly group: string; readonly filter: string } | undefined {
  const [, group, inner] = /^\$share\/([^/]+)\/(.+)$/.exec(filter) ?? [];
  return group === undefined || inner === undefined ? undefined : { group, filter: inner };
}

function idsAndRetain({ retain }: Message, subscriptions: readonly Subscription[]): Pick<Delivery, 'ids' | 'retain'> {
  const wishes = new Set(subscriptions.map(({ isAsPublished }) => isAsPublished && retain));
  return {
    ids: subscriptions.flatMap(({ id }) => id ?? []).toSorted((a, b) => a - b),
    retain: wishes.size === 2 ? 'either' : wishes.has(true),
  };
}

const isStrangers = (topic: string) => topic.startsWith('users/stranger/');

export class MqttModel {
  readonly sessions = new Map<string, Session>();
  readonly retained = new Map<string, { readonly message: Message; readonly atMs: number }>();
  /** Readings that are to be stored, in their order. */
  readonly stored: string[] = [];
  /** What is to come to each client in this step, and what is to come to one of several. */
  readonly expected = new Map<Session, Expected[]>();
  shared: (readonly Member[])[] = [];
  readonly #readings: string;
  nowMs: number;

  /** @param readings the one topic whose messages are readings, of a device of the owner. */
  constructor(readings: string, nowMs: number) {
    this.#readings = readings;
    this.nowMs = nowMs;
  }

  /** A PUBLISH that is taken (3.3.1.3, 3.3.4, 4.8.2), heard by the sessions of the user it belongs to. */
  publish(message: Message): void {
    if (message.topic === this.#readings) this.stored.push(message.payload);
    else if (message.retain) this.#retain(message);
    const groups = new Map<string, Member[]>();
    for (const session of this.sessions.values())
      if (session.isStranger === isStrangers(message.topic)) this.#offer(session, message, groups);
    for (const members of groups.values()) this.shared.push(members);
  }

  #offer(session: Session, message: Message, groups: Map<string, Member[]>): void {
    const forms = new Map<string, Subscription[]>();
    for (const subscription of session.subscriptions.values()) {
      if (subscription.isNoLocal && message.from === session.clientId) continue;
      const shared = sharedOf(subscription.filter);
      const form = formOf(shared?.filter ?? subscription.filter, message.topic);
      if (form === undefined) continue;
      if (shared === undefined) forms.set(form, [...(forms.get(form) ?? []), subscription]);
      else if (session.isConnected) {
        const delivery = this.#deliveryOf(form, message, [subscription]);
        groups.set(subscription.filter, [...(groups.get(subscription.filter) ?? []), { session, delivery }]);
      }
    }
    // Topics have no order among each other [MQTT-4.6.0-5]; where one fits into the Receive Maximum, the server takes the bare form.
    const ordered = [...forms].toSorted(
      ([one], [other]) => Number(one.startsWith('/')) - Number(other.startsWith('/')),
    );
    for (const [form, subscriptions] of ordered) this.#deliver(session, this.#deliveryOf(form, message, subscriptions));
  }

  #deliveryOf(topic: string, message: Message, subscriptions: readonly Subscription[]): Delivery {
    const greatest = Math.max(...subscriptions.map(({ qos }) => qos));
    return {
      topic,
      message,
      payload: message.payload,
      qos: Math.min(message.qos, greatest) as Qos,
      row: `${topic} of ${message.from}, QoS ${message.qos}`,
      ...idsAndRetain(message, subscriptions),
      contentType: message.contentType,
      expiresMs: message.expiryS === undefined ? undefined : this.nowMs + message.expiryS * 1_000,
      packetId: undefined,
      state: 'waits',
    };
  }

  #deliver(session: Session, delivery: Delivery): void {
    if (!session.isConnected && delivery.qos === 0) return;
    if (delivery.qos > 0) session.deliveries.push(delivery);
    else session.held.push(delivery);
    this.send(session);
  }

  /** What the Receive Maximum leaves room for. */
  send(session: Session): void {
    if (!session.isConnected) return;
    for (const delivery of [...session.deliveries]) {
      if (delivery.state !== 'waits') continue;
      if (session.underWay.length >= session.receiveMaximum) break;
      if (this.#isExpired(delivery)) {
        session.deliveries = session.deliveries.filter((one) => one !== delivery);
        continue;
      }
      delivery.state = 'sent';
      this.expect(session, { kind: 'publish', delivery, isAgain: false, isSure: true });
    }
    if (session.deliveries.some(({ isReplayed, state }) => isReplayed === true && state === 'waits')) return;
    for (const delivery of session.held.splice(0))
      if (!this.#isExpired(delivery)) this.expect(session, { kind: 'publish', delivery, isAgain: false, isSure: true });
    const isOpen = () =>
      session.underWay.length < session.receiveMaximum && session.deliveries.every(({ state }) => state !== 'waits');
    const [next] = session.given;
    if (next !== undefined && (next.delivery.qos === 0 || isOpen())) this.#deliver(session, this.#takeGiven(session));
  }

  #takeGiven(session: Session): Delivery {
    return (session.given.shift() as Given).delivery;
  }

  /** No acknowledgement is read before the next SUBSCRIBE is done: what is to be given is sent as others are. */
  #hurry(session: Session): void {
    while (session.given.length > 0) this.#deliver(session, this.#takeGiven(session));
  }

  /** UNSUBSCRIBE, also of what was to be given by it; gives whether there was such a subscription. */
  unsubscribe(session: Session, filter: string): boolean {
    const was = session.subscriptions.delete(filter);
    this.#dropGiven(session);
    return was;
  }

  /** The first is judged by all subscriptions, the others have not been looked at: by their own. */
  #dropGiven(session: Session): void {
    const all = [...session.subscriptions.values()];
    session.given = session.given.filter(({ delivery: { topic, message }, filter }, n) =>
      all.some(
        (one) =>
          formOf(one.filter, message.topic) === topic &&
          !(one.isNoLocal && message.from === session.clientId) &&
          (n === 0 || one.filter === filter),
      ),
    );
    this.send(session);
  }

  expect(session: Session, expected: Expected): void {
    this.expected.set(session, [...(this.expected.get(session) ?? []), expected]);
  }

  #isExpired({ expiresMs }: Delivery): boolean {
    return expiresMs !== undefined && this.nowMs >= expiresMs;
  }

  #retain(message: Message): void {
    if (message.payload === '') this.retained.delete(message.topic);
    else this.retained.set(message.topic, { message, atMs: this.nowMs });
  }

  /** SUBSCRIBE with one filter: 3.8.4, 3.3.1.3. */
  subscribe(session: Session, subscription: Subscription): void {
    const isNew = !session.subscriptions.has(subscription.filter);
    session.subscriptions.set(subscription.filter, subscription);
    this.#dropGiven(session);
    this.#hurry(session);
    const wantsRetained = subscription.retainHandling === 0 || (subscription.retainHandling === 1 && isNew);
    if (sharedOf(subscription.filter) !== undefined || !wantsRetained) return;
    // Topics have no order among each other [MQTT-4.6.0-5]. Where not all fit into the Receive Maximum it shows which the server
    // takes first: that of their names.
    const byTopic = [...this.retained].toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (const [, { message, atMs }] of byTopic) {
      if (session.isStranger !== isStrangers(message.topic)) continue;
      if (subscription.isNoLocal && message.from === session.clientId) continue;
      const form = formOf(subscription.filter, message.topic);
      const expiresMs = message.expiryS === undefined ? undefined : atMs + message.expiryS * 1_000;
      if (form === undefined || (expiresMs !== undefined && this.nowMs >= expiresMs)) continue;
      // In the QoS of this subscription, whatever others ask for [MQTT-3.8.4-8].
      const own = this.#deliveryOf(form, message, [subscription]);
      const delivery: Delivery = { ...own, retain: true, expiresMs, isGivenRetained: true };
      session.given.push({ delivery, filter: subscription.filter });
    }
    this.send(session);
  }

  /** CONNECT: 3.1.2.4, 3.1.2.11.2, 4.4. Gives whether a session is present. */
  connect(
    session: Session,
    { isClean, expiryS, will }: { isClean: boolean; expiryS: number; will: Will | undefined },
  ): boolean {
    if (session.isConnected) this.lose(session);
    const isPresent = this.isPresent(session) && !isClean;
    if (!isPresent) this.endSession(session);
    // A new connection in time takes a will away that waits [MQTT-3.1.3-9].
    session.will = will;
    session.isConnected = true;
    session.expiryS = expiryS;
    this.sessions.set(session.clientId, session);
    this.#lookAgain(session);
    for (const delivery of session.underWay) this.#sendAgain(session, delivery);
    this.send(session);
    return isPresent;
  }

  /**
   * Where a subscription was replaced since, a message that is kept may name the identifiers of either, and be marked with RETAIN
   * for either (4.4 speaks of packet ids alone). What was not sent is dropped where its subscription has gone (3.10.4 allows it).
   */
  #lookAgain(session: Session): void {
    session.deliveries = session.deliveries.filter((delivery) => {
      const { topic, message, isGivenRetained = false } = delivery;
      const now = [...session.subscriptions.values()].filter(
        ({ filter, isNoLocal }) =>
          formOf(filter, message.topic) === topic && !(isNoLocal && message.from === session.clientId),
      );
      delivery.isReplayed = true;
      delivery.later = isGivenRetained ? { ...idsAndRetain(message, now), retain: true } : idsAndRetain(message, now);
      return now.length > 0 || delivery.state !== 'waits';
    });
  }

  #sendAgain(session: Session, delivery: Delivery): void {
    // Whether a message of QoS 1 that was sent expires is left to the server.
    const isSure = !this.#isExpired(delivery);
    if (delivery.state === 'sent') this.expect(session, { kind: 'publish', delivery, isAgain: true, isSure });
    else this.expect(session, { kind: 'pubrel', packetId: delivery.packetId ?? 0 });
  }

  isPresent(session: Session): boolean {
    if (!this.sessions.has(session.clientId)) return false;
    return session.isConnected || this.nowMs < session.leftMs + session.expiryS * 1_000;
  }

  /** The connection is lost, or ended by an error: its will is published, unless it waits. */
  lose(session: Session): void {
    this.#disconnect(session);
    if (session.will?.isDelayed === false || session.expiryS === 0) this.#publishWill(session);
    if (session.expiryS === 0) this.endSession(session);
  }

  /** DISCONNECT, which may change the expiry. */
  leave(session: Session, expiryS = session.expiryS): void {
    session.will = undefined;
    session.expiryS = expiryS;
    this.#disconnect(session);
    if (session.expiryS === 0) this.endSession(session);
  }

  #disconnect(session: Session): void {
    session.isConnected = false;
    session.held = [];
    // A session that is kept has what is to be given of QoS 1 and 2, which waits then (4.1).
    this.#hurry(session);
    session.leftMs = this.nowMs;
  }

  /** Also where its interval has passed; the will of it is published then. */
  endSession(session: Session): void {
    session.subscriptions.clear();
    session.deliveries = [];
    session.held = [];
    session.given = [];
    session.unreleased.clear();
    this.sessions.delete(session.clientId);
    this.#publishWill(session);
  }

  #publishWill(session: Session): void {
    const { will } = session;
    session.will = undefined;
    if (will === undefined) return;
    this.publish({ ...will, from: session.clientId });
  }
}
