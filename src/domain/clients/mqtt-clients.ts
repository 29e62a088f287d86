// Who is connected over MQTT, and whose sessions are kept: admins see all clients, other users their own, guests none. A
// client of somebody else is answered exactly like one that does not exist. Methods take the actor first.
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { ClientIds } from '../gateways/client-ids.ts';
import type { Actor, UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { MqttClient, MqttClientId, MqttClientSource } from './mqtt-client.ts';

/** A client as the actor sees it. */
export interface SeenMqttClient extends MqttClient {
  /** The name of its owner; undefined where there is none. */
  readonly username: string | undefined;
  /** Whether it is the actor's own: then they see the payload of its will. */
  readonly isOwn: boolean;
}

export interface MqttClientQuery {
  readonly limit: number;
  readonly offset: number;
  /** Only those whose id, owner or address contains this text, whatever the case. */
  readonly text?: string | undefined;
  readonly state?: 'connected' | 'kept' | undefined;
}

export interface MqttClientPage {
  /** Clients that match, on all pages. */
  readonly total: number;
  /** Those of the page. One that leaves before its turn is left out. */
  readonly clients: AsyncGenerator<SeenMqttClient>;
}

export class MqttClients {
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

  /**
   * A page of the clients that the actor sees: those connected in the order in which they came, then kept sessions. Looks
   * at the actor's own alone, unless they are an admin.
   * @throws Refusal `unauthenticated` to guests, `forbidden` to a restricted API key.
   */
  async list(actor: Actor, query: MqttClientQuery): Promise<MqttClientPage> {
    requireAccount(actor);
    const ids = this.#source?.ids(actor.admin ? undefined : actor.key) ?? [];
    const names = new Map<UserKey, string>();
    const page: MqttClientId[] = [];
    let total = 0;
    let looked = 0;
    for (const id of ids) {
      looked += 1;
      if (looked % limits.clientsLookedAtOnce === 0) await loopTurns.turn(actor.caller);
      if (!(await this.#matches(id, query, names))) continue;
      if (total >= query.offset && page.length < query.limit) page.push(id);
      total += 1;
    }
    return { total, clients: this.#seenOf(actor, page) };
  }

  /** @throws Refusal `not-found` where there is no such client, or it is not the actor's. */
  async get(actor: Actor, id: MqttClientId): Promise<SeenMqttClient> {
    requireAccount(actor);
    return this.#seen(actor, this.#require(actor, id));
  }

  /**
   * Ends the client's connection, and its kept session unless `keepSession`. Nothing keeps the client from connecting
   * again.
   * @throws Refusal `not-found` where there is no such client, or it is not the actor's.
   */
  async disconnect(actor: Actor, id: MqttClientId, { keepSession }: { readonly keepSession: boolean }): Promise<void> {
    requireAccount(actor);
    this.#require(actor, id);
    await this.#clientIds.inTurn(id, async () => {
      // The id may belong to somebody else by now.
      this.#require(actor, id);
      await this.#source?.disconnect(id);
      if (!keepSession) await this.#source?.endSession(id);
    });
    this.#log.audit({ by: actor.username, client: id, keepSession }, 'audit: an MQTT client was disconnected');
  }

  async *#seenOf(actor: Actor, ids: readonly MqttClientId[]): AsyncGenerator<SeenMqttClient> {
    for (const id of ids) {
      const client = this.#findFor(actor, id);
      if (client !== undefined) yield await this.#seen(actor, client);
    }
  }

  async #seen(actor: Actor, client: MqttClient): Promise<SeenMqttClient> {
    const owner = client.owner === undefined ? undefined : await this.#users.findByKey(client.owner);
    return { ...client, username: owner?.username, isOwn: client.owner === actor.key };
  }

  #findFor(actor: Actor, id: MqttClientId): MqttClient | undefined {
    const client = this.#source?.find(id);
    return actor.admin || client?.owner === actor.key ? client : undefined;
  }

  #require(actor: Actor, id: MqttClientId): MqttClient {
    const client = this.#findFor(actor, id);
    if (client !== undefined) return client;
    throw new Refusal('not-found', `You have no MQTT client ${JSON.stringify(id)}, connected or with a kept session.`);
  }

  async #matches(id: MqttClientId, { text, state }: MqttClientQuery, names: Map<UserKey, string>): Promise<boolean> {
    if (text === undefined && state === undefined) return true;
    const client = this.#source?.find(id);
    if (client === undefined) return false;
    if (state !== undefined && (client.connection !== undefined) !== (state === 'connected')) return false;
    if (text === undefined) return true;
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

/** Guests share one user, so nothing is anybody's own; a restricted key was made for records, not for the account. */
function requireAccount(actor: Actor): void {
  if (actor.guest) throw new Refusal('unauthenticated', 'Sign in to see the MQTT clients of your account.');
  if (actor.keyScopes === undefined || actor.keyScopes.whole) return;
  throw new Refusal(
    'forbidden',
    'This API key was made for chosen scopes or devices; the MQTT clients of the account need all rights.',
  );
}
