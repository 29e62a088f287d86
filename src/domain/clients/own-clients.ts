// The MQTT clients of this process: counted, listed in parts, and disconnected, for those who ask it and for other processes. Checks no
// permission but whose a client is.
import type { Log } from '../../base/log.ts';
import { limits } from '../../config/limits.ts';
import type { TurnTaker } from '../callers/caller.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { ClientIds } from '../gateways/client-ids.ts';
import type { UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { MqttClient, MqttClientId, MqttClientSource } from './mqtt-client.ts';
import type { ClientSelection, ClientState, Whose } from './told-client.ts';

/** Clients of one state, in the order in which they came. */
export interface ClientPart extends ClientSelection {
  readonly state: ClientState;
  /** How many are passed over, and of how many more the ids are wanted. */
  readonly offset: number;
  readonly limit: number;
}

export class OwnClients {
  readonly #users: Users;
  readonly #clientIds: ClientIds;
  readonly #log: Log;
  #source: MqttClientSource | undefined;

  constructor(parts: { readonly users: Users; readonly clientIds: ClientIds; readonly log: Log }) {
    this.#users = parts.users;
    this.#clientIds = parts.clientIds;
    this.#log = parts.log;
  }

  /** Sets the source. Until then there are no clients, because none can be connected. */
  follow(source: MqttClientSource): void {
    this.#source = source;
  }

  /** How many clients match in all, and the ids of the part that is asked for. `taker`: whose time it takes. */
  async list(part: ClientPart, taker: TurnTaker): Promise<{ readonly total: number; readonly ids: MqttClientId[] }> {
    const { user, state, offset, limit } = part;
    const names = new Map<UserKey, string>();
    const ids: MqttClientId[] = [];
    let total = 0;
    let looked = 0;
    for (const id of this.#idsOf(state, user)) {
      looked += 1;
      if (looked % limits.clientsLookedAtOnce === 0) await loopTurns.turn(taker);
      if (!(await this.#matches(id, part, names))) continue;
      if (total >= offset && ids.length < limit) ids.push(id);
      total += 1;
    }
    return { total, ids };
  }

  /** Nobody's where another process has not said whose. */
  #idsOf(state: ClientState, user: Whose | undefined): Iterable<MqttClientId> {
    if (this.#source === undefined || user === undefined) return [];
    return this.#source.ids(state, user === 'everybody' ? undefined : user);
  }

  /** @param user whose it must be. */
  find(id: MqttClientId, user: Whose | undefined): MqttClient | undefined {
    const client = this.#source?.find(id);
    return user === 'everybody' || (user !== undefined && client?.owner === user) ? client : undefined;
  }

  /**
   * Ends the client's connection, and its kept session unless `keepSession`; false where there is no such client of the user.
   * `by`: who asked for it, for the log.
   */
  async disconnect(
    id: MqttClientId,
    { user, keepSession, by }: { readonly user: Whose; readonly keepSession: boolean; readonly by: string },
  ): Promise<boolean> {
    if (this.find(id, user) === undefined) return false;
    const isDone = await this.#clientIds.inTurn(id, async () => {
      // The id may belong to somebody else by now.
      if (this.find(id, user) === undefined) return false;
      await this.#source?.disconnect(id);
      if (!keepSession) await this.#source?.endSession(id);
      return true;
    });
    if (isDone) this.#log.audit({ by, client: id, keepSession }, 'audit: an MQTT client was disconnected');
    return isDone;
  }

  async #matches(id: MqttClientId, { text, state }: ClientPart, names: Map<UserKey, string>): Promise<boolean> {
    if (text === undefined) return true;
    const client = this.#source?.find(id);
    if (client === undefined || (client.connection !== undefined) !== (state === 'connected')) return false;
    const wanted = text.toLowerCase();
    if (id.toLowerCase().includes(wanted) || client.connection?.address.includes(wanted)) return true;
    if (client.owner === undefined) return false;
    let name = names.get(client.owner);
    if (name === undefined) {
      name = (await this.#users.findByKey(client.owner))?.username.toLowerCase() ?? '';
      names.set(client.owner, name);
    }
    return name.includes(wanted);
  }
}
