// Who may connect: login and password, then the client id, which belongs to who may act for the gateway it names, and
// else to whoever uses it or has a stored session under it (contract 8). Wrong password: CONNACK 4; a client id of
// somebody else: CONNACK 2.
import type { Client, ConnectPacket, PublishPacket } from 'aedes';
import type { Clock } from '../base/clock.ts';
import { isCleanText } from '../base/json.ts';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { Gateway } from '../domain/gateways/gateway.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { Presence } from '../domain/gateways/presence.ts';
import { isKeyText, type Keys } from '../domain/keys/keys.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Logins } from '../domain/users/logins.ts';
import { type Actor, actorOf, guestUsername, type User } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import { Replay } from './replay.ts';
import { Session, type Sessions, type SignedIn } from './sessions.ts';

/** What is kept of sessions while nobody is connected. */
export interface StoredSessions {
  /** The user whose session is stored under the client id. */
  findSessionOwner(clientId: string): Promise<string | undefined>;
  /** Notes whose session is stored under the client id from now on. */
  claimSession(clientId: string, username: string): Promise<void>;
  /** Forgets all that is stored of a session [MQTT-3.1.2-6]. */
  endSession(clientId: string): Promise<void>;
  /** Forgets all that is stored of a user. */
  forgetUser(username: string): Promise<void>;
}

export interface SignInParts {
  readonly logins: Logins;
  readonly keys: Keys;
  readonly users: Users;
  readonly guest: Actor;
  readonly permissions: Permissions;
  readonly gateways: Gateways;
  readonly presence: Presence;
  readonly sessions: Sessions;
  readonly stored: StoredSessions;
  readonly clock: Clock;
}

/** A will, and in whose name it is published; with which API key, if with one. */
export type Will = PublishPacket & { clientId?: string; username?: string; keyId?: string };

/** CONNACK codes [MQTT-3.2.2.3]. */
const identifierRejected = 2;
const serverUnavailable = 3;
const badLogin = 4;
const notAuthorized = 5;

export class SignIn {
  readonly #parts: SignInParts;
  /** What CONNECT said that aedes does not hand on. */
  readonly #connects = new WeakMap<object, { readonly emptyId: boolean; readonly will: Will | undefined }>();

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  look(client: Client, packet: ConnectPacket): void {
    const emptyId = packet.clientId === '' || packet.clientId === undefined;
    this.#connects.set(client, { emptyId, will: packet.will as Will | undefined });
  }

  /** @throws Refusal when the connection is not taken; `returnCodeOf` says why in MQTT's words. */
  async verify(client: Client, username: string | undefined, password: Buffer | undefined): Promise<void> {
    const signedIn = await this.#verifyLogin(client, username, password);
    const { user } = signedIn;
    this.#assertClientId(client);
    const gateway = await this.#parts.gateways.find(client.id);
    const mayHold = (actor: Actor) => gateway === undefined || this.#parts.permissions.mayActFor(actor, gateway);
    if (!mayHold(actorOf(user, signedIn.limits))) throw takenId(client.id);
    const owner = await this.#parts.stored.findSessionOwner(client.id);
    const isForeign = owner !== undefined && owner !== user.username;
    // Who came under the id before it was that of a gateway, or gave the gateway away, does not keep it from its owner.
    if (isForeign && (gateway === undefined || (await this.#mayStillHold(owner, gateway)))) throw takenId(client.id);
    const will = this.#connects.get(client)?.will;
    // Kept with the will, so that it is judged as its user's even after a crash.
    if (will !== undefined) will.username = user.username;
    if (will !== undefined && signedIn.limits !== undefined) will.keyId = signedIn.limits.keyId;
    const before = this.#parts.sessions.holderOf(client.id);
    const session = this.#parts.sessions.claim(client, signedIn, (holder) => mayHold(holder.actor));
    if (session === undefined) throw takenId(client.id);
    client.conn.once('close', () => this.#parts.sessions.release(session));
    if (client.conn.destroyed) this.#parts.sessions.release(session);
    // Now, not when this connection is ready: should it break off before, nobody would know of the first one any more.
    if (before !== undefined) await new Promise<void>((resolve) => before.client.close(resolve));
    if (owner !== undefined && (client.clean || isForeign)) await this.#parts.stored.endSession(client.id);
    session.isResumed = !client.clean && owner === user.username;
    if (session.isResumed) session.replay = new Replay();
    if (!client.clean) await this.#parts.stored.claimSession(client.id, user.username);
    await this.#requireStillGood(session);
    this.#parts.presence.hear(session, gateway);
  }

  async #mayStillHold(username: string, gateway: Gateway): Promise<boolean> {
    const user = await this.#parts.users.findByName(username);
    return user !== undefined && this.#parts.permissions.mayActFor(actorOf(user), gateway);
  }

  /** The sign-in may have ended while the connection was being let in, when nobody knew of it yet. */
  async #requireStillGood(session: Session): Promise<void> {
    if (await this.#parts.sessions.isStillGood(session)) return;
    const isGone = (await this.#parts.users.findById(session.actor.userId)) === undefined;
    if (isGone) await this.#parts.stored.endSession(session.clientId);
    throw new Refusal('unauthenticated', 'The sign-in is good no more.');
  }

  returnCodeOf(error: unknown): number {
    if (!(error instanceof Refusal)) return serverUnavailable;
    if (error.code === 'unauthenticated' || error.code === 'too-many') return badLogin;
    if (error.code === 'exists' || error.code === 'malformed') return identifierRejected;
    return error.code === 'forbidden' ? notAuthorized : serverUnavailable;
  }

  /** The session in whose name a will is judged after its connection is gone for good. */
  async sessionOfWill(will: Will): Promise<Session | undefined> {
    if (will.clientId === undefined || will.username === undefined) return undefined;
    const signedIn = await this.#signedInOfWill(will.username, will.keyId);
    const ghost = { id: will.clientId, close: () => {} } as unknown as Client;
    return signedIn && new Session(ghost, signedIn, this.#parts.clock.now());
  }

  async #signedInOfWill(username: string, keyId: string | undefined): Promise<SignedIn | undefined> {
    if (keyId !== undefined) return this.#parts.keys.check(keyId);
    const user = await this.#parts.users.findByName(username);
    return user && { user };
  }

  /** An API key stands in the place of the password; the username may be left empty then, or is its owner's. */
  async #verifyLogin(client: Client, username = '', password: Buffer | undefined): Promise<SignedIn> {
    const text = password?.toString('utf8') ?? '';
    if (!isKeyText(text)) return { user: await this.#verifyUser(client, username, text) };
    const signedIn = await this.#parts.keys.find(text);
    if (signedIn !== undefined && (username === '' || username === signedIn.user.username)) return signedIn;
    if (username === '') throw new Refusal('unauthenticated', 'The API key is not valid.');
    // A password may look like a key; and who guesses keys under a name is slowed down as with passwords.
    return { user: await this.#verifyUser(client, username, text) };
  }

  async #verifyUser(client: Client, username: string, password: string): Promise<User> {
    if (username === '') {
      if (this.#parts.permissions.refusesGuests)
        throw new Refusal('forbidden', 'This service takes no connections without a login.');
      return this.#parts.users.getByName(guestUsername);
    }
    return this.#parts.logins.verify({ username, password, address: addressOf(client) });
  }

  #assertClientId(client: Client): void {
    // An empty client id needs a clean session [MQTT-3.1.3-7].
    const emptyId = this.#connects.get(client)?.emptyId === true;
    if (emptyId && !client.clean) throw new Refusal('malformed', 'A client id is needed for a session that is kept.');
    if (client.id.length > limits.clientIdCharsMax || !isCleanText(client.id)) {
      throw new Refusal('malformed', `A client id has at most ${limits.clientIdCharsMax} characters.`);
    }
  }
}

function takenId(clientId: string): Refusal {
  return new Refusal('exists', `The client id ${clientId} belongs to a session of somebody else.`);
}

function addressOf(client: Client): string {
  const { remoteAddress } = client.conn as { remoteAddress?: string };
  return remoteAddress ?? client.req?.socket.remoteAddress ?? '';
}
