// SUBSCRIBE and UNSUBSCRIBE: which filters a session has, stored before they are acknowledged where the session is kept, and
// the retained messages that a subscriber is sent [MQTT-3.8.4, MQTT-3.10.4].
import { setTimeout as delay } from 'node:timers/promises';
import type { ISubscribePacket, IUnsubscribePacket } from 'mqtt-packet';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import type { MqttSessions, StoredPacket, Subscription } from '../../domain/ports/mqtt-sessions.ts';
import { suback, unsuback } from '../protocol/answers.ts';
import { parsePacket } from '../protocol/parsed-packets.ts';
import { type ReasonCode, reasonCodes } from '../protocol/reason-codes.ts';
import type { Delivered } from '../routing/delivered.ts';
import type { FilterOptions, LiveFilter } from '../routing/live-filter.ts';
import type { LiveFilters } from '../routing/live-filters.ts';
import type { Router } from '../routing/router.ts';
import type { SessionDelivery } from '../routing/session-delivery.ts';
import { sharedPartsOf } from '../routing/shared/shared-delivery.ts';
import type { SharedSubscriptions } from '../routing/shared/shared-subscriptions.ts';
import type { ClientSession, QoS, Sessions } from '../sessions.ts';
import type { StoredMessages } from '../stored-messages.ts';
import { matchesFilter, matchesForm } from '../topics.ts';
import type { Client } from './client.ts';
import { ClientFault } from './client-fault.ts';
import type { MessageProperties } from './publish-packet.ts';

export interface SubscribingParts {
  readonly sessions: Sessions;
  readonly stored: Pick<
    MqttSessions,
    'addSubscriptions' | 'removeSubscriptions' | 'hasCapacityForFilter' | 'sessionOwner'
  >;
  readonly messages: StoredMessages;
  readonly liveFilters: LiveFilters;
  readonly router: Router;
  readonly shared: SharedSubscriptions;
  readonly delivery: SessionDelivery;
  /** Called when filters were granted, and acknowledged. */
  readonly onSubscribed: (session: ClientSession, filters: readonly string[]) => void;
}

/** A filter that was asked for. */
interface Asked {
  readonly filter: string;
  readonly options: FilterOptions;
}

export class Subscribing {
  readonly #parts: SubscribingParts;
  /** By client id: the end of what is still to be kept for a connection that has closed. Its next one waits for that. */
  readonly #keeping = new Map<string, Promise<void>>();
  /** Those of them whose next connection has waited for too long. */
  readonly #givenUp = new Set<string>();

  constructor(parts: SubscribingParts) {
    this.#parts = parts;
  }

  subscribe(client: Client, bytes: Buffer): void {
    const packet = parsePacket(bytes, client.version) as ISubscribePacket;
    const asked = packet.subscriptions.map((each): Asked => ({ filter: each.topic, options: optionsOf(each, packet) }));
    if (this.#areShort(client, asked)) client.handling(this.#grant(client, packet.messageId ?? 0, asked));
  }

  unsubscribe(client: Client, bytes: Buffer): void {
    const { messageId = 0, unsubscriptions } = parsePacket(bytes, client.version) as IUnsubscribePacket;
    const filters = unsubscriptions.map((filter) => ({ filter }));
    if (this.#areShort(client, filters)) client.handling(this.#withdraw(client, messageId, unsubscriptions));
  }

  /** Takes up the filters that were stored. */
  restore(client: Client, subscriptions: readonly Subscription[]): void {
    const session = this.#parts.sessions.of(client);
    if (session === undefined) return;
    for (const subscription of subscriptions)
      this.#take(session, { filter: subscription.topic, options: storedOptionsOf(subscription) });
  }

  /** The client has gone: nothing is routed to it any more. Its filters stay in the list of the session. */
  release(session: ClientSession): void {
    const { router, shared } = this.#parts;
    if (session.sendingRetained !== undefined) this.#keepRest(session.clientId, session.sendingRetained);
    for (const live of session.filters.values()) {
      if (isShared(live)) shared.gone(live);
      else router.remove(live);
    }
  }

  /**
   * Resolves when the retained messages that an earlier connection was not sent any more are kept for its session, or have taken too
   * long: then the rest is not kept.
   */
  async restKept(clientId: string): Promise<void> {
    const keeping = this.#keeping.get(clientId);
    if (keeping === undefined) return;
    const isOver = new AbortController();
    const timer = delay(limits.retainedKeptMsMax, undefined, { signal: isOver.signal, ref: false });
    const isLate = timer.then(() => void this.#givenUp.add(clientId)).catch(() => {});
    await Promise.race([keeping, isLate]);
    isOver.abort();
  }

  #keepRest(clientId: string, sending: Promise<void>): void {
    const kept = sending.then(() => {
      if (this.#keeping.get(clientId) !== kept) return;
      this.#keeping.delete(clientId);
      this.#givenUp.delete(clientId);
    });
    this.#keeping.set(clientId, kept);
  }

  /** Matching goes level by level: a filter with very many ends its connection. */
  #areShort(client: Client, asked: readonly { readonly filter: string }[]): boolean {
    if (asked.every(({ filter }) => filter.split('/', limits.topicLevelsMax + 1).length <= limits.topicLevelsMax))
      return true;
    client.fail(new ClientFault(reasonCodes.topicFilterInvalid, 'a filter has too many levels'));
    return false;
  }

  async #grant(client: Client, messageId: number, asked: readonly Asked[]): Promise<void> {
    const session = this.#parts.sessions.of(client);
    if (session === undefined) return;
    const fresh = new Set<string>();
    const stored: Promise<void>[] = [];
    const codes = asked.map((each): ReasonCode => {
      const { filter, options } = each;
      const isNew = !session.filters.has(filter);
      if (!this.#mayHave(client, filter) || this.#take(session, each) === undefined) {
        session.noteRefusal('subscription');
        return reasonCodes.quotaExceeded;
      }
      if (isNew) fresh.add(filter);
      // One by one, so that each is judged by the room that those before have left. They are written together.
      if (!client.clean) stored.push(this.#parts.stored.addSubscriptions(client, [toStored(filter, options)]));
      return options.qos as ReasonCode;
    });
    const granted = asked.filter((_, n) => (codes[n] as number) < 0x80);
    await Promise.all(stored);
    if (client.closed) return;
    const written = client.send(suback(messageId, client.version, codes));
    const filters = [...new Set(granted.map(({ filter }) => filter))];
    this.#parts.onSubscribed(session, filters);
    const wanted = granted.filter(
      // No shared subscription gets retained messages [3.8.4].
      ({ filter, options }) => !filter.startsWith('$share/') && wantsRetained(options, fresh.has(filter)),
    );
    // One look-up at a time: those behind it wait, and with them the packet, so that no more are read.
    const earlier = session.sendingRetained;
    const sending = this.#sendRetained(session, {
      qosOf: new Map(wanted.map(({ filter, options }) => [filter, options.qos as QoS])),
      identifier: asked[0]?.options.identifier,
      earlier,
    });
    session.sendingRetained = sending;
    void sending.then(() => {
      if (session.sendingRetained === sending) session.sendingRetained = undefined;
    });
    if (earlier !== undefined) await this.#untilSent(session, earlier);
    await written;
  }

  /** No acknowledgement is read meanwhile, so that those messages do not wait for any. */
  async #untilSent(session: ClientSession, earlier: Promise<void>): Promise<void> {
    session.retainedAwaited += 1;
    session.client.v5?.window.hurry();
    await earlier;
    session.retainedAwaited -= 1;
  }

  #mayHave(client: Client, filter: string): boolean {
    return client.clean || this.#parts.stored.hasCapacityForFilter(client.id, filter);
  }

  #take(session: ClientSession, { filter, options }: Asked): LiveFilter | undefined {
    const isNew = !session.filters.has(filter);
    const { liveFilters, router, shared } = this.#parts;
    const live = liveFilters.take(session, filter, options);
    if (live === undefined || !isNew) return live;
    if (!isShared(live)) router.add(live);
    else if (!shared.add(session, live)) {
      liveFilters.release(session, filter);
      return undefined;
    }
    return live;
  }

  async #withdraw(client: Client, messageId: number, filters: readonly string[]): Promise<void> {
    const session = this.#parts.sessions.of(client);
    if (session === undefined) return;
    if (!client.clean) await this.#parts.stored.removeSubscriptions(client, filters);
    if (client.closed) return;
    const codes = filters.map((filter) => {
      const live = session.filters.get(filter);
      if (live === undefined) return reasonCodes.noSubscriptionExisted;
      if (isShared(live)) this.#parts.shared.remove(live);
      else this.#parts.router.remove(live);
      this.#parts.liveFilters.release(session, filter);
      return reasonCodes.success;
    });
    await client.send(unsuback(messageId, client.version, codes));
  }

  /** Only SUBSCRIBE asks for retained messages, and no session that is taken up [3.1.2.4]. */
  async #sendRetained(
    session: ClientSession,
    wanted: {
      /** By filter. */
      readonly qosOf: ReadonlyMap<string, QoS>;
      readonly identifier: number | undefined;
      readonly earlier: Promise<void> | undefined;
    },
  ): Promise<void> {
    const { qosOf, identifier, earlier } = wanted;
    await earlier;
    if (qosOf.size === 0) return;
    const { client } = session;
    // What a connection was not sent that has closed is kept for the next one [4.1], written many at a time.
    let kept: Promise<boolean>[] = [];
    let looked = 0;
    try {
      for await (const message of this.#parts.messages.retained([...qosOf.keys()])) {
        if (client.closed && (!this.#mayKeep(session) || ++looked > limits.sessionMessagesMax)) break;
        const settledQos = grantedQosOf(session, message, qosOf);
        // It was unsubscribed meanwhile [MQTT-3.10.4-2], or is the client's own [MQTT-3.8.3-3].
        if (settledQos === undefined) continue;
        const delivered = { ...retainedOf(message, identifier), settledQos };
        const sent = this.#parts.delivery.deliverRetained(session, delivered, message);
        // A store that refuses it has said so.
        if (client.closed) kept.push(sent.catch(() => false));
        else await sent;
        if (kept.length < limits.retainedKeptAtOnce) continue;
        const areAllKept = (await Promise.all(kept)).every((isKept) => isKept);
        kept = [];
        if (!areAllKept) break;
        await loopTurns.turn(session.actor.caller);
      }
    } catch {
      // The store has closed, or cannot be read: as for any reader, nothing comes.
    }
    await Promise.all(kept);
  }

  /** Whether the session outlives its connection, and is still stored here. */
  #mayKeep({ client, clientId, isEnded, actor }: ClientSession): boolean {
    if (client.clean || isEnded || client.v5?.sessionExpiryS === 0 || this.#givenUp.has(clientId)) return false;
    return this.#parts.stored.sessionOwner(clientId) === actor.key;
  }
}

/** Older versions know no groups: to them such a filter is one of topics that nobody publishes to. */
function isShared({ client, filter }: LiveFilter): boolean {
  return client.version === 5 && sharedPartsOf(filter) !== undefined;
}

/** By the retain handling of a filter [3.8.3.1]. @param isNew whether the session did not have it. */
function wantsRetained({ retainHandling }: FilterOptions, isNew: boolean): boolean {
  return retainHandling === 0 || (retainHandling === 1 && isNew);
}

/**
 * The highest QoS that one SUBSCRIBE was granted for a topic, by its filters that the session has still [MQTT-3.8.4-8].
 */
function grantedQosOf(
  session: ClientSession,
  { topic, publisherId }: { readonly topic: string; readonly publisherId?: string | undefined },
  qosOf: ReadonlyMap<string, QoS>,
): QoS | undefined {
  let highest: QoS | undefined;
  for (const [filter, qos] of qosOf) {
    const live = session.filters.get(filter);
    if (live === undefined || qos <= (highest ?? -1)) continue;
    if (live.options.noLocal && publisherId === session.clientId) continue;
    if (matchesForm(filter, topic) && matchesFilter(filter, topic)) highest = qos;
  }
  return highest;
}

function retainedOf(message: StoredPacket & { readonly topic: string }, identifier: number | undefined): Delivered {
  const {
    topic,
    payload = '',
    qos = 0,
    properties,
    expiresMs,
    publisherId,
  } = message as typeof message & MessageProperties;
  return {
    ...{ topic, payload: bytesOf(payload), qos: qos as QoS, retain: true, isNew: true, expiresMs, publisherId },
    ...(properties === undefined ? {} : { properties: bytesOf(properties) }),
    identifiers: identifier === undefined ? [] : [identifier],
  };
}

function optionsOf(
  { qos, nl = false, rap = false, rh = 0 }: ISubscribePacket['subscriptions'][number],
  { properties }: ISubscribePacket,
): FilterOptions {
  const identifier: number | readonly number[] | undefined = properties?.subscriptionIdentifier;
  return {
    qos,
    noLocal: nl,
    retainAsPublished: rap,
    retainHandling: rh as 0 | 1 | 2,
    identifier: typeof identifier === 'object' ? (identifier as readonly number[])[0] : identifier,
  };
}

function storedOptionsOf({ qos, nl, rap, rh, subscriptionIdentifier }: Subscription): FilterOptions {
  return {
    qos: qos as QoS,
    noLocal: nl === true,
    retainAsPublished: rap === true,
    retainHandling: (rh ?? 0) as 0 | 1 | 2,
    identifier: subscriptionIdentifier,
  };
}

function toStored(
  topic: string,
  { qos, noLocal, retainAsPublished, retainHandling, identifier }: FilterOptions,
): Subscription {
  return {
    ...{ topic, qos },
    ...(noLocal ? { nl: true } : {}),
    ...(retainAsPublished ? { rap: true } : {}),
    ...(retainHandling === 0 ? {} : { rh: retainHandling }),
    ...(identifier === undefined ? {} : { subscriptionIdentifier: identifier }),
  };
}

function bytesOf(payload: string | Uint8Array): Buffer {
  return typeof payload === 'string'
    ? Buffer.from(payload)
    : Buffer.from(payload.buffer, payload.byteOffset, payload.length);
}
