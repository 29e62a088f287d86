// Who gets what at the moment of delivery (contract 8): the same permission function as every other door (I6).
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import { scope } from '../domain/permissions/scopes.ts';
import type { QoS, Session, Sessions } from './sessions.ts';
import { matchesFilter, matchesForm, parseTopic, type Topic } from './topics.ts';

export class Access {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #sessions: Sessions;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly sessions: Sessions;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#sessions = parts.sessions;
  }

  /**
   * Loads what `grantedQos` needs to know about a stored message.
   * @returns false when it is of a device that was removed since: one that has its id now is another.
   */
  async prepare({ topic, device: key }: { readonly topic: string; readonly device?: number }): Promise<boolean> {
    const parsed = parseTopic(topic);
    if (parsed.kind !== 'sensor' && parsed.kind !== 'actuator') return true;
    const device = await this.#directory.find(parsed.device);
    return device !== undefined && (key === undefined || key === device.key);
  }

  /** The QoS up to which a message on this topic may go out to the session now; undefined: it may not. */
  grantedQos(session: Session, topic: string): QoS | undefined {
    const granted = topic.startsWith('$') ? undefined : highestQos(session, topic);
    return granted !== undefined && this.#mayRead(session, parseTopic(topic)) ? granted : undefined;
  }

  /** Is it of use to keep a message for a user who is away? What is not known now is judged at delivery. */
  mayKeep(username: string, topic: string): boolean {
    const parsed = parseTopic(topic);
    if (parsed.kind === 'user') return parsed.username === username;
    if (parsed.kind === 'gateway') return this.#sessions.holderOf(parsed.gateway)?.actor.username === username;
    if (parsed.kind === 'none') return false;
    const device = this.#directory.peek(parsed.device);
    const actor = this.#sessions.actorNamed(username);
    if (device === undefined || actor === undefined) return true;
    return (this.#permissions.scopesOf(actor, device) & scope.dataView) !== 0;
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
    if (topic.kind !== 'user' && topic.kind !== 'gateway') return false;
    if (!this.#permissions.mayRelay(session.actor, topic.kind)) return false;
    if (topic.kind === 'user') return topic.username === session.actor.username;
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
