// Decides who may receive a message and who may publish messages that only clients exchange (contract 8). The decision is
// made at each delivery, by the same permission function as for HTTP (I6).
import type { Device } from '../domain/devices/device.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { GuestAccess, Permissions, ProtectedRecord } from '../domain/permissions/permission.ts';
import { scope } from '../domain/scopes.ts';
import type { Actor, UserKey } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { ClientSession, QoS, Sessions } from './sessions.ts';
import { idsNamedBy, type Levels, matchesFilter, matchesForm, parseTopic, type Topic, withIds } from './topics.ts';

/** What decides about a topic's messages, besides the subscriber: the record it belongs to, and whether guests may read. */
export interface GrantFacts {
  /** The device or gateway; undefined for topics of users, and where it is not in memory or does not exist. */
  readonly record: ProtectedRecord | undefined;
  readonly guestAccess: GuestAccess;
}

/** How a subscriber gets the messages of a topic, by those of its filters that match. */
export interface Match {
  /** The highest of them [MQTT-3.3.5-1]. */
  readonly qos: QoS;
  /** Whether one of them asks for RETAIN as it was published. */
  readonly retainAsPublished: boolean;
  /** Of those filters that have one. */
  readonly identifiers: readonly number[];
}

/** How a subscriber may have the messages of a topic, and all that this was decided by. */
export interface Grant {
  readonly session: ClientSession;
  /** Undefined: not at all. */
  readonly match: Match | undefined;
  /** The same for messages that it has published itself. */
  readonly ownMatch: Match | undefined;
  readonly facts: GrantFacts;
  readonly actor: Actor;
  readonly filterChanges: number;
}

export class Access {
  readonly #directory: DeviceDirectory;
  readonly #gateways: Gateways;
  readonly #permissions: Permissions;
  readonly #sessions: Sessions;
  readonly #users: Users;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly gateways: Gateways;
    readonly permissions: Permissions;
    readonly sessions: Sessions;
    readonly users: Users;
  }) {
    this.#directory = parts.directory;
    this.#gateways = parts.gateways;
    this.#permissions = parts.permissions;
    this.#sessions = parts.sessions;
    this.#users = parts.users;
  }

  /**
   * Loads the records that `grantedQos` needs for a stored message.
   * @returns false where the device, part, gateway or user that the message belongs to was removed since. A new record
   * with the same id or name has another key and does not count.
   */
  async prepare(message: {
    readonly topic: string;
    readonly device?: number;
    readonly part?: number;
    readonly user?: UserKey;
  }): Promise<boolean> {
    const topic = parseTopic(message.topic);
    if (topic.kind === 'none') return true;
    if (topic.kind === 'user') return isStill(await this.#users.findByName(topic.username), message.user);
    if (topic.kind === 'gateway') return isStill(await this.#gateways.find(topic.gateway), message.device);
    const device = await this.#directory.find(topic.device);
    const part = topic.kind === 'sensor' ? device?.sensors.get(topic.sensor) : device?.actuators.get(topic.actuator);
    return isStill(device, message.device) && isStill(part, message.part);
  }

  /**
   * The highest QoS in which a message on this topic may be sent to the session now; undefined: not at all. `exactLevels`:
   * levels that filters must name (`matchesForm`). `device`: the one of the topic, where the caller has it; otherwise it must
   * be in memory by the id in the topic.
   */
  grantedQos(
    session: ClientSession,
    topic: string,
    { exactLevels, device }: { readonly exactLevels?: Levels | undefined; readonly device?: Device } = {},
  ): QoS | undefined {
    return this.matchOf(session, topic, { exactLevels, device })?.qos;
  }

  /** As `grantedQos`, with what else its filters ask for. `isOwn`: the session has published the message itself. */
  matchOf(
    session: ClientSession,
    topic: string,
    options: {
      readonly exactLevels?: Levels | undefined;
      readonly device?: Device | undefined;
      readonly isOwn?: boolean;
    } = {},
  ): Match | undefined {
    // The permission is checked before the filters: subscribers to everything often may read little of it, and some
    // have a thousand filters.
    return this.mayRead(session, topic, options.device) ? matchOf(session, topic, options) : undefined;
  }

  /** Whether a message on this topic may be sent to the session now, whatever its filters. */
  mayRead(session: ClientSession, topic: string, device?: Device): boolean {
    return !topic.startsWith('$') && this.#mayRead(session, parseTopic(topic), device);
  }

  /** The filter by the ids that its device and sensor have now; undefined where it names them so, or names none. */
  async presentFilter(filter: string): Promise<string | undefined> {
    const named = idsNamedBy(filter);
    const device = named && (await this.#directory.find(named.device));
    if (named === undefined || device === undefined) return undefined;
    const sensor = named.sensor === undefined ? undefined : (device.sensors.get(named.sensor)?.id ?? named.sensor);
    return device.id === named.device && sensor === named.sensor
      ? undefined
      : withIds(filter, { device: device.id, sensor });
  }

  /** What decides about messages on this topic now. */
  factsOf(topic: Topic): GrantFacts {
    const { guestAccess } = this.#permissions;
    if (topic.kind === 'gateway') return { record: this.#gateways.peek(topic.gateway), guestAccess };
    const isOfDevice = topic.kind === 'sensor' || topic.kind === 'actuator';
    return { record: isOfDevice ? this.#directory.peek(topic.device) : undefined, guestAccess };
  }

  /**
   * As `grantedQos`, remembered. An earlier grant counts only as long as everything it was decided by is the same
   * object: devices with their shares, gateways and actors are never changed, but replaced before the change is
   * acknowledged.
   */
  grant(
    session: ClientSession,
    { topic, exactLevels }: { readonly topic: string; readonly exactLevels?: Levels | undefined },
    facts: GrantFacts,
    earlier: Grant | undefined,
  ): Grant {
    if (
      earlier !== undefined &&
      earlier.session === session &&
      earlier.actor === session.actor &&
      earlier.filterChanges === session.filterChanges &&
      earlier.facts.record === facts.record &&
      earlier.facts.guestAccess === facts.guestAccess
    )
      return earlier;
    const { actor, filterChanges } = session;
    const match = this.matchOf(session, topic, { exactLevels });
    const ownMatch = match && matchOf(session, topic, { exactLevels, isOwn: true });
    return { session, match, ownMatch, facts, actor, filterChanges };
  }

  /**
   * Whether to queue a message for stored sessions of a user. True where the records are not in memory, because delivery
   * checks again.
   */
  mayKeep(user: UserKey, message: { readonly topic: string; readonly user?: UserKey | undefined }): boolean {
    const parsed = parseTopic(message.topic);
    // Messages below `users/` pass between connections of one user, so the receiver must be the publisher.
    if (parsed.kind === 'user') return message.user === user;
    if (parsed.kind === 'none') return false;
    const actor = this.#sessions.actorByKey(user);
    if (parsed.kind === 'gateway') {
      const gateway = this.#gateways.peek(parsed.gateway);
      return gateway === undefined || actor === undefined || this.#permissions.mayActFor(actor, gateway);
    }
    const device = this.#directory.peek(parsed.device);
    if (device === undefined || actor === undefined) return true;
    return (this.#permissions.scopesOf(actor, device) & scope.dataView) !== 0;
  }

  #mayRead(session: ClientSession, topic: Topic, known?: Device): boolean {
    if (topic.kind === 'sensor' || topic.kind === 'actuator') {
      const device = known ?? this.#directory.peek(topic.device);
      return device !== undefined && (this.#permissions.scopesOf(session.actor, device) & scope.dataView) !== 0;
    }
    return this.#mayRelay(session, topic);
  }

  /** Whether a message on this topic may be relayed from this session to others. */
  async mayRelay(session: ClientSession, topic: Topic): Promise<boolean> {
    // Loaded now, so that the check at delivery finds it in memory.
    if (topic.kind === 'gateway') await this.#gateways.find(topic.gateway);
    return this.#mayRelay(session, topic);
  }

  /** The key of the gateway that the topic belongs to. */
  gatewayKeyOf(text: string): number | undefined {
    const topic = parseTopic(text);
    return topic.kind === 'gateway' ? this.#gateways.peek(topic.gateway)?.key : undefined;
  }

  /**
   * Topics of neither sensors nor actuators pass between signed-in clients only: `users/{username}/…` between those of
   * that user, `devices/{gateway id}/…` between those who may act for the gateway.
   */
  #mayRelay(session: ClientSession, topic: Topic): boolean {
    if (topic.kind !== 'user' && topic.kind !== 'gateway') return false;
    if (!this.#permissions.mayRelay(session.actor, topic.kind)) return false;
    if (topic.kind === 'user') return topic.username === session.actor.username;
    const gateway = this.#gateways.peek(topic.gateway);
    return gateway !== undefined && this.#permissions.mayActFor(session.actor, gateway);
  }
}

/** Whether the record is the one that had this key. A message without a key belongs to any record. */
function isStill(record: { readonly key: number } | undefined, key: number | undefined): boolean {
  return record !== undefined && (key === undefined || key === record.key);
}

/**
 * A message is sent once in each form of its topic; a client gets the forms that its filters ask for. `isOwn`: filters that
 * ask for no messages of their own client do not count [MQTT-3.8.3-3].
 */
function matchOf(
  session: ClientSession,
  topic: string,
  { exactLevels, isOwn = false }: { readonly exactLevels?: Levels | undefined; readonly isOwn?: boolean },
): Match | undefined {
  let highest: QoS | undefined;
  let retainAsPublished = false;
  let identifiers: number[] | undefined;
  const isPlain = session.client.version !== 5;
  for (const [filter, { options }] of session.filters) {
    const { qos } = options;
    // Without options of version 5 the highest QoS alone counts.
    if (isPlain && qos <= (highest ?? -1)) continue;
    if ((isOwn && options.noLocal) || !matchesForm(filter, topic, exactLevels) || !matchesFilter(filter, topic))
      continue;
    highest = Math.max(qos, highest ?? 0) as QoS;
    retainAsPublished ||= options.retainAsPublished;
    if (options.identifier === undefined) continue;
    identifiers ??= [];
    identifiers.push(options.identifier);
  }
  return highest === undefined ? undefined : { qos: highest, retainAsPublished, identifiers: identifiers ?? none };
}

const none: readonly number[] = [];
