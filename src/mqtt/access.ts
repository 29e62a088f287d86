// Who gets what at the moment of delivery (contract 8): the same permission function as every other door (I6).
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import { scope } from '../domain/scopes.ts';
import type { UserKey } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { ClientSession, QoS, Sessions } from './sessions.ts';
import { matchesFilter, matchesForm, parseTopic, type Topic } from './topics.ts';

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
   * Loads what `grantedQos` needs to know about a stored message.
   * @returns false when it is of a device, a part of one, a gateway or a user that was removed since: one that has its id
   * or name now is another.
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

  /** The QoS up to which a message on this topic may go out to the session now; undefined: it may not. */
  grantedQos(session: ClientSession, topic: string): QoS | undefined {
    // The right first: most who subscribe to everything may have little of it, and some have a thousand filters.
    if (topic.startsWith('$') || !this.#mayRead(session, parseTopic(topic))) return undefined;
    return highestQos(session, topic);
  }

  /** Is it of use to keep a message for a user who is away? What is not known now is judged at delivery. */
  mayKeep(user: UserKey, message: { readonly topic: string; readonly user?: UserKey | undefined }): boolean {
    const parsed = parseTopic(message.topic);
    // It passes between the connections of one user, so that is who published it.
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

  #mayRead(session: ClientSession, topic: Topic): boolean {
    if (topic.kind === 'sensor' || topic.kind === 'actuator') {
      const device = this.#directory.peek(topic.device);
      return device !== undefined && (this.#permissions.scopesOf(session.actor, device) & scope.dataView) !== 0;
    }
    return this.#mayRelay(session, topic);
  }

  /** May a message on such a topic pass from this session to others? */
  async mayRelay(session: ClientSession, topic: Topic): Promise<boolean> {
    // In memory from here on, for the check at delivery.
    if (topic.kind === 'gateway') await this.#gateways.find(topic.gateway);
    return this.#mayRelay(session, topic);
  }

  /** The gateway whose own a topic is, by its key. */
  gatewayKeyOf(text: string): number | undefined {
    const topic = parseTopic(text);
    return topic.kind === 'gateway' ? this.#gateways.peek(topic.gateway)?.key : undefined;
  }

  /**
   * What is neither sensor nor actuator passes between signed-in clients alone: `users/{username}/…` between those of
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

/** What is there under an id, is it what had the key? A message without one is of whatever is there. */
function isStill(record: { readonly key: number } | undefined, key: number | undefined): boolean {
  return record !== undefined && (key === undefined || key === record.key);
}

/**
 * A message goes out once in each form; a client gets the forms that its filters ask for. Where several take the
 * message, the highest QoS among them counts [MQTT-3.3.5-1].
 */
function highestQos(session: ClientSession, topic: string): QoS | undefined {
  let highest: QoS | undefined;
  for (const [filter, qos] of session.filters) {
    if (qos <= (highest ?? -1) || !matchesForm(filter, topic) || !matchesFilter(filter, topic)) continue;
    highest = qos;
  }
  return highest;
}
