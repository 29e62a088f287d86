// Who is connected over MQTT, and whose sessions are kept, on all servers: admins see all clients, other users their own, guests none.
// A client of somebody else is answered exactly like one that does not exist. Methods take the actor first. What other servers have they
// are asked for (ports/questions.ts); whoever does not answer is named, never passed over.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { FairQueue } from '../callers/fair-queue.ts';
import { FairShare } from '../callers/fair-share.ts';
import type { Answers, Asks, QuestionKind, QuestionKinds } from '../ports/questions.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { MqttClient, MqttClientId } from './mqtt-client.ts';
import type { OwnClients } from './own-clients.ts';
import {
  type ClientSelection,
  type ClientState,
  type ClientTotals,
  clientOf,
  clientStates,
  type Whose,
} from './told-client.ts';

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
  readonly state?: ClientState | undefined;
}

export interface MqttClientPage {
  /** Clients that match, on all pages. */
  readonly total: number;
  /** Ids of servers that did not answer: their clients are neither counted nor listed. */
  readonly silent: readonly string[];
  /** Those of the page. One that leaves before its turn is left out. @throws Refusal `busy` where a server answers no more. */
  readonly clients: AsyncGenerator<SeenMqttClient>;
}

/** A part of the page: some clients of one server. */
type Segment =
  | { readonly ownIds: readonly MqttClientId[] }
  | { readonly server: string; readonly state: ClientState; readonly offset: number; readonly limit: number };

/** What one server has; this one counts while it lists. */
interface ServerTotals {
  readonly server: string | undefined;
  readonly place: number;
  readonly totals?: ClientTotals;
}

export class MqttClients {
  readonly #users: Users;
  readonly #own: OwnClients;
  readonly #others: Asks;
  readonly #turns = new FairQueue({
    share: new FairShare('questions', { aloneMax: limits.questionsWaitingMax, reserve: limits.questionsWaitingMax }),
    atOnceMax: limits.questionsAtOnce,
    waitMsMax: limits.questionWaitMsMax,
  });

  constructor(parts: { readonly users: Users; readonly own: OwnClients; readonly others: Asks }) {
    this.#users = parts.users;
    this.#own = parts.own;
    this.#others = parts.others;
  }

  /**
   * A page of the clients that the actor sees: those connected, then kept sessions; in both server by server, in the order in which
   * these joined, and those of a server in the order in which they came. Looks at the actor's own alone, unless they are an admin.
   * @throws Refusal `unauthenticated` to guests, `forbidden` to a restricted API key.
   */
  async list(actor: Actor, query: MqttClientQuery): Promise<MqttClientPage> {
    requireAccount(actor);
    const selection: ClientSelection = { user: whoseOf(actor), text: query.text };
    const { given, silent } = await this.#ask(actor, 'clients-counted', selection);
    const servers: ServerTotals[] = given.map(({ server, place, answer }) => ({ server, place, totals: answer }));
    servers.push({ server: undefined, place: this.#others.place });
    servers.sort((one, other) => one.place - other.place);
    const segments: Segment[] = [];
    const end = query.offset + query.limit;
    let total = 0;
    for (const state of clientStates) {
      if (query.state !== undefined && query.state !== state) continue;
      for (const { server, totals } of servers) {
        const part = {
          state,
          offset: Math.max(0, query.offset - total),
          limit: Math.max(0, end - Math.max(total, query.offset)),
        };
        if (server === undefined) {
          const own = await this.#own.list({ ...selection, ...part }, actor.caller);
          segments.push({ ownIds: own.ids });
          total += own.total;
        } else {
          const count = totals?.[state] ?? 0;
          const limit = Math.min(part.limit, count - part.offset);
          if (limit > 0) segments.push({ server, ...part, limit });
          total += count;
        }
      }
    }
    return { total, silent, clients: this.#seenOf(actor, { selection, segments }) };
  }

  /** @throws Refusal `not-found` where there is no such client, or it is not the actor's; `busy` where a server does not answer. */
  async get(actor: Actor, id: MqttClientId): Promise<SeenMqttClient> {
    requireAccount(actor);
    const own = this.#own.find(id, whoseOf(actor));
    if (own !== undefined) return this.#seen(actor, own);
    const { given, silent } = await this.#ask(actor, 'client-found', { client: id });
    for (const { answer } of given) {
      const client = answer.client && clientOf(answer.client);
      if (client !== undefined && (actor.admin || client.owner === actor.key)) return this.#seen(actor, client);
    }
    throw absent(id, silent);
  }

  /**
   * Ends the client's connection, and its kept session unless `keepSession`. Resolves when it is closed, on whichever server it was.
   * Nothing keeps the client from connecting again.
   * @throws Refusal `not-found` where there is no such client, or it is not the actor's; `busy` where that is not known, because a server
   * does not answer.
   */
  async disconnect(actor: Actor, id: MqttClientId, { keepSession }: { readonly keepSession: boolean }): Promise<void> {
    requireAccount(actor);
    const how = { user: whoseOf(actor), keepSession, by: actor.username };
    if (await this.#own.disconnect(id, how)) return;
    const { given, silent } = await this.#ask(actor, 'client-disconnected', { client: id, ...how });
    if (!given.some(({ answer }) => answer.isDone)) throw absent(id, silent);
  }

  async *#seenOf(
    actor: Actor,
    { selection, segments }: { readonly selection: ClientSelection; readonly segments: readonly Segment[] },
  ): AsyncGenerator<SeenMqttClient> {
    for (const segment of segments) {
      const clients =
        'ownIds' in segment ? this.#ownOf(selection, segment.ownIds) : this.#othersOf(actor, selection, segment);
      for await (const client of clients) yield await this.#seen(actor, client);
    }
  }

  *#ownOf({ user }: ClientSelection, ids: readonly MqttClientId[]): Iterable<MqttClient> {
    for (const id of ids) {
      const client = this.#own.find(id, user);
      if (client !== undefined) yield client;
    }
  }

  /** Asks a server for its part of the page, as much at a time as it answers. */
  async *#othersOf(
    actor: Actor,
    selection: ClientSelection,
    { server, state, ...part }: Exclude<Segment, { readonly ownIds: unknown }>,
  ): AsyncGenerator<MqttClient> {
    const end = part.offset + part.limit;
    for (let offset = part.offset; offset < end; ) {
      const asked = { ...selection, state, offset, limit: end - offset };
      const { given, silent } = await this.#ask(actor, 'clients-listed', asked, { server });
      if (silent.length > 0) throw silence(silent, 'Not all of the list could be read.');
      // It has ended, and with it its clients; or they have left.
      const { clients, looked } = given[0]?.answer ?? { clients: [], looked: 0 };
      if (looked === 0) return;
      for (const client of clients) yield clientOf(client);
      offset += looked;
    }
  }

  /** A few at a time, and callers in turns, so that who asks without end waits for themselves. @throws Refusal `busy` */
  async #ask<K extends QuestionKind>(
    { caller }: Actor,
    kind: K,
    asked: QuestionKinds[K]['asked'],
    options?: { readonly server?: string },
  ): Promise<Answers<K>> {
    if (this.#others.isAlone) return this.#others.ask(kind, asked, options);
    if (!(await this.#turns.acquire(caller)))
      throw new Refusal('busy', 'Too much is asked of the other servers.', { retryAfterS: limits.busyRetryAfterS });
    try {
      return await this.#others.ask(kind, asked, options);
    } finally {
      this.#turns.release();
    }
  }

  async #seen(actor: Actor, client: MqttClient): Promise<SeenMqttClient> {
    const owner = client.owner === undefined ? undefined : await this.#users.findByKey(client.owner);
    return { ...client, username: owner?.username, isOwn: client.owner === actor.key };
  }
}

/** Whose clients the actor sees. */
function whoseOf(actor: Actor): Whose {
  return actor.admin ? 'everybody' : actor.key;
}

function absent(id: MqttClientId, silent: readonly string[]): Refusal {
  const client = JSON.stringify(id);
  if (silent.length === 0)
    return new Refusal('not-found', `You have no MQTT client ${client}, connected or with a kept session.`);
  return silence(silent, `Whether you have an MQTT client ${client} there is not known.`);
}

function silence(silent: readonly string[], consequence: string): Refusal {
  const who = `${silent.length === 1 ? 'A server does' : 'Some servers do'} not answer: ${silent.join(', ')}.`;
  return new Refusal('busy', `${who} ${consequence}`, { retryAfterS: limits.busyRetryAfterS });
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
