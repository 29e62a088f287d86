// Who gets what at the moment of delivery (contract 8): the same permission function as every other door (I6).
import type { Client } from 'aedes';
import { limits } from '../config/limits.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import { scope } from '../domain/permissions/scopes.ts';
import { actorOf, type User } from '../domain/users/user.ts';
import type { QoS, Session, Sessions } from './sessions.ts';
import { matchesFilter, matchesForm, parseTopic, type Topic } from './topics.ts';

export class Access {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #sessions: Sessions;
  readonly #onSlow: (session: Session) => void;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly sessions: Sessions;
    /** Told of a subscriber that is cut because it does not keep up. */
    readonly onSlow: (session: Session) => void;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#sessions = parts.sessions;
    this.#onSlow = parts.onSlow;
  }

  /** Loads what `grantedQos` needs to know about a topic. */
  async prepare(topic: string): Promise<void> {
    const parsed = parseTopic(topic);
    if (parsed.kind === 'sensor' || parsed.kind === 'actuator') await this.#directory.find(parsed.device);
  }

  /**
   * The QoS up to which a message on this topic may go out to the client now; undefined: it may not. A subscriber that
   * does not keep up is cut here.
   */
  grantedQos(client: Client, topic: string): QoS | undefined {
    const session = this.#sessions.of(client);
    if (session === undefined || topic.startsWith('$')) return undefined;
    if (client.conn.writableLength > limits.subscriberBytesMax) {
      this.#onSlow(session);
      client.conn.destroy();
      return undefined;
    }
    const granted = highestQos(session, topic);
    return granted !== undefined && this.#mayRead(session, parseTopic(topic)) ? granted : undefined;
  }

  /** Is it of use to keep a message for a user who is away? What is not known now is judged at delivery. */
  mayKeep(user: User | undefined, topic: string): boolean {
    const parsed = parseTopic(topic);
    if (user === undefined || (parsed.kind !== 'sensor' && parsed.kind !== 'actuator')) return true;
    const device = this.#directory.peek(parsed.device);
    return device === undefined || (this.#permissions.scopesOf(actorOf(user), device) & scope.dataView) !== 0;
  }

  #mayRead(session: Session, topic: Topic): boolean {
    if (topic.kind === 'sensor' || topic.kind === 'actuator') {
      const device = this.#directory.peek(topic.device);
      return device !== undefined && (this.#permissions.scopesOf(session.actor, device) & scope.dataView) !== 0;
    }
    return this.mayRelay(session, topic);
  }

  /**
   * Topics that are nobody's record pass between the connections of one signed-in user: `users/{username}/…`, and
   * `devices/{gateway id}/…` while a client of that user with the gateway's id is connected.
   */
  mayRelay(session: Session, topic: Topic): boolean {
    if (session.actor.guest) return false;
    if (topic.kind === 'user') return topic.username === session.actor.username;
    if (topic.kind !== 'gateway') return false;
    return this.#sessions.holderOf(topic.gateway)?.actor.username === session.actor.username;
  }
}

/**
 * A message goes out once in each form; a client gets the forms that its filters ask for. Where several take the
 * message, the highest QoS among them counts [MQTT-3.3.5-1].
 */
function highestQos(session: Session, topic: string): QoS | undefined {
  let highest: QoS | undefined;
  for (const [filter, qos] of session.filters) {
    if (qos <= (highest ?? -1) || !matchesForm(filter, topic) || !matchesFilter(filter, topic)) continue;
    highest = qos;
  }
  return highest;
}
