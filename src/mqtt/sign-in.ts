// Decides who may connect: checks the login, then the client id. The id of a gateway belongs to users who may act for
// it; any other id to the user who is connected under it or has a stored session with it, where signed-in users take
// precedence over guests (contract 8). Wrong password: CONNACK 4; client id of another user: CONNACK 2; beyond a quota:
// CONNACK 3; guests where they are refused: CONNACK 5.

import { Refusal } from '../base/refusal.ts';
import { isStorableText } from '../base/text/json.ts';
import { hasCharsMax } from '../base/text/text-length.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { Callers } from '../domain/callers/callers.ts';
import { loopTurns } from '../domain/callers/loop-turns.ts';
import type { ClientIdHolders, ClientIds } from '../domain/gateways/client-ids.ts';
import type { Gateway } from '../domain/gateways/gateway.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { Presence } from '../domain/gateways/presence.ts';
import { isKeyText, type Keys } from '../domain/keys/keys.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Standing } from '../domain/ports/coordination.ts';
import type { MqttSessions } from '../domain/ports/mqtt-sessions.ts';
import type { GuestShares } from '../domain/quotas/guest-shares.ts';
import type { Logins } from '../domain/users/logins.ts';
import { type Actor, guestUsername, type User, type UserKey } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import { signInByCertificate } from './certified-sign-in.ts';
import { certifiedNameOf } from './client-certificate.ts';
import { type ReasonCode, reasonCodes } from './protocol/reason-codes.ts';
import { addressOf } from './proxy/client-address.ts';
import { SessionReplay } from './routing/replay.ts';
import type { Client } from './session/client.ts';
import { ClientFault } from './session/client-fault.ts';
import type { Hello } from './session/connect-packet.ts';
import type { Will } from './session/will.ts';
import { actorOfSignIn, ClientSession, type ConnectFacts, type Sessions, type SignedIn } from './sessions.ts';

/** What signing in needs of the port of stored sessions. */
export type SignInSessions = Pick<
  MqttSessions,
  | 'findSessionOwner'
  | 'sessionOwner'
  | 'sessionUsers'
  | 'claimSession'
  | 'leaveSession'
  | 'endSession'
  | 'letGoSession'
  | 'takeSession'
  | 'forgetUser'
  | 'hasCapacityForFilter'
  | 'hasCapacityForBytes'
>;

export interface SignInParts {
  readonly logins: Logins;
  readonly keys: Keys;
  readonly users: Users;
  readonly callers: Callers;
  readonly permissions: Permissions;
  readonly shares: GuestShares;
  readonly gateways: Gateways;
  readonly clientIds: ClientIds;
  readonly presence: Presence;
  readonly standing: Standing;
  readonly sessions: Sessions;
  readonly stored: SignInSessions;
  readonly clock: Clock;
  /** Called when the connection of a session has ended. */
  readonly onGone: (session: ClientSession) => void;
  /** Resolves when what all processes had committed at the call is kept for stored sessions. */
  readonly settled: () => Promise<void>;
  /** Resolves when what an earlier connection was not sent any more is kept for its session. */
  readonly restKept: (clientId: string) => Promise<void>;
}

export class SignIn implements ClientIdHolders {
  readonly #parts: SignInParts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /** @throws Refusal when the connection is not accepted; `reasonCodeOf` converts it to what the client is told. */
  async verify(client: Client, hello: Hello): Promise<void> {
    if (!this.#parts.standing.isSure) await this.#parts.standing.makeSure();
    const signedIn = await this.#verifyLogin(client, hello.username, hello.password);
    this.#assertClientId(hello);
    await this.#assertWill(hello, signedIn.user);
    // Many that waited for the same login are let in by one hash; they take turns with all else that is brought.
    await loopTurns.turn(signedIn.caller.signIns);
    // One connection at a time for each client id, and none while a gateway of that id is being declared.
    await this.#parts.clientIds.inTurn(client.id, () => this.#letIn(client, hello, signedIn));
  }

  async #letIn(client: Client, hello: Hello, signedIn: SignedIn): Promise<void> {
    const { stored, sessions } = this.#parts;
    const { user } = signedIn;
    if (client.closed) throw new Refusal('busy', 'The connection ended before it was let in.');
    const actor = actorOfSignIn(signedIn);
    const gateway = await this.#parts.gateways.find(client.id);
    if (gateway !== undefined && !this.#parts.permissions.mayActFor(actor, gateway)) throw takenId(client.id);
    const known = await this.#ownerFor(client, actor, gateway);
    const before = sessions.holderOf(client.id);
    // A connection takes over from an earlier one with its client id [MQTT-3.1.4-2]. Where it waited so long for its login that
    // its client has opened another meanwhile, that later one stays, and this one is refused.
    if (before !== undefined && before.actor.key === user.key && client.connectNumber < before.client.connectNumber)
      throw new Refusal('busy', 'A later connection has this client id.');
    // A session that was kept is taken up, though it ends with this connection.
    if (!client.isFresh && known === user.key) client.clean = false;
    const session = sessions.claim(client, signedIn, (holder) => !this.#givesWay(holder.actor, actor, gateway));
    if (session === undefined) throw takenId(client.id);
    session.connect = this.#factsOf(hello);
    signWill(hello, signedIn);
    const leave = () => {
      sessions.release(session);
      this.#parts.onGone(session);
      // Its end may come behind that of a later connection, which has said what becomes of the session.
      const isLast = !session.isTakenOver && sessions.holderOf(client.id) === undefined;
      if (!client.clean && isLast) this.#leaveStored(client);
    };
    client.conn.once('close', leave);
    if (client.conn.destroyed) leave();
    // Waits for the earlier connection to close now: if this one closed before it is ready, nobody would close the
    // earlier one.
    before?.client.fail(new ClientFault(reasonCodes.sessionTakenOver, 'A later connection has this client id.'));
    await this.#parts.restKept(client.id);
    await this.#parts.clientIds.takeOver(client.id, user.key);
    // Another process had it, and has let it go by now.
    await stored.takeSession(client.id);
    const owner = await this.#ownerFor(client, actor, gateway);
    if (owner !== undefined && (client.isFresh || owner !== user.key)) await stored.endSession(client.id);
    session.isResumed = !client.isFresh && owner === user.key;
    if (session.isResumed) sessions.keep(session);
    if (session.isResumed) session.replay = new SessionReplay();
    if (!client.clean) {
      const claim = () => stored.claimSession(client.id, user.key, client.v5?.keptS);
      await this.#parts.shares.take(actor, { mqtt_sessions: owner === user.key ? 0 : 1 }, claim).catch(asQuota);
    }
    // The connection may have closed before the session existed, so that `leave` was not called.
    if (client.conn.destroyed) leave();
    await this.#requireStillGood(session);
    this.#parts.presence.noteActivity(session, gateway);
  }

  /** Whose the stored session of the client id is. @throws Refusal `exists` where it is somebody's who need not give way. */
  async #ownerFor({ id }: Client, actor: Actor, gateway: Gateway | undefined): Promise<UserKey | undefined> {
    const owner = await this.#parts.stored.findSessionOwner(id);
    const isForeign = owner !== undefined && owner !== actor.key;
    if (isForeign && !this.#givesWay(await this.#actorOfKey(owner), actor, gateway)) throw takenId(id);
    return owner;
  }

  /** The client of a session that is kept has gone. Of version 5 it may have wanted it to end with the connection. */
  #leaveStored(client: Client): void {
    const { stored } = this.#parts;
    if (client.v5?.sessionExpiryS === 0) void stored.endSession(client.id).catch(() => {});
    else stored.leaveSession(client.id, client.v5?.keptS);
  }

  #factsOf({ version, keepAliveS, will }: Hello): ConnectFacts {
    return { sinceMs: this.#parts.clock.now(), protocolLevel: version, keepAliveS, will };
  }

  /** The users of a client id, apart from guest. */
  holdersOf(clientId: string): readonly UserKey[] {
    return this.#parts.sessions.holdersOf(clientId);
  }

  /**
   * Closes the connection under a client id, where it gives way to a user who connects to another process, and lets go of its stored
   * session.
   * @throws Refusal `exists` where it stays.
   */
  async letGo(clientId: string, user: UserKey): Promise<void> {
    const { sessions, stored } = this.#parts;
    const asks = await this.#actorOfKey(user);
    if (asks === undefined) return;
    const gateway = await this.#parts.gateways.find(clientId);
    const owner = stored.sessionOwner(clientId);
    const isForeign = owner !== undefined && owner !== user;
    if (isForeign && !this.#givesWay(await this.#actorOfKey(owner), asks, gateway)) throw takenId(clientId);
    const holder = sessions.holderOf(clientId);
    if (holder !== undefined) {
      if (holder.actor.key !== user && !this.#givesWay(holder.actor, asks, gateway)) throw takenId(clientId);
      holder.client.fail(new ClientFault(reasonCodes.sessionTakenOver, 'A connection elsewhere has this client id.'));
    }
    // What was said to it by now comes with it.
    await this.#parts.restKept(clientId);
    if (owner !== undefined) await this.#parts.settled();
    await stored.letGoSession(clientId);
  }

  /**
   * Whether the present holder of a client id has to give way: a guest to signed-in users; and a holder who may no
   * longer act for the gateway of that id, or was removed, to users who may.
   */
  #givesWay(holder: Actor | undefined, asks: Actor, gateway: Gateway | undefined): boolean {
    if (holder === undefined || (holder.guest && !asks.guest)) return true;
    return gateway !== undefined && !this.#parts.permissions.mayActFor(holder, gateway);
  }

  async #actorOfKey(key: UserKey): Promise<Actor | undefined> {
    const user = await this.#parts.users.findByKey(key);
    return user && this.#parts.users.actorOf(user);
  }

  /** The sign-in may have been revoked while the connection was being accepted, when it was not in any list yet. */
  async #requireStillGood(session: ClientSession): Promise<void> {
    if (await this.#parts.sessions.isStillGood(session)) return;
    const isGone = (await this.#parts.users.findById(session.actor.userId)) === undefined;
    if (isGone) await this.#parts.stored.endSession(session.clientId);
    throw new Refusal('unauthenticated', 'The sign-in is good no more.');
  }

  /** What a client is told for an error of `verify`; older versions in their codes [MQTT-3.2.2.3]. */
  reasonCodeOf(error: unknown): ReasonCode {
    if (!(error instanceof Refusal)) return reasonCodes.serverUnavailable;
    if (error.code === 'unauthenticated' || error.code === 'too-many') return reasonCodes.badUserNameOrPassword;
    if (error.code === 'exists' || error.code === 'malformed') return reasonCodes.clientIdentifierNotValid;
    if (error.code === 'quota') return reasonCodes.quotaExceeded;
    return error.code === 'forbidden' ? reasonCodes.notAuthorized : reasonCodes.serverUnavailable;
  }

  /** A session in whose name a will is checked after its connection has closed. */
  async sessionOfWill(will: Will): Promise<ClientSession | undefined> {
    if (will.clientId === undefined || will.user === undefined) return undefined;
    const signedIn = await this.#signedInOfWill(will.user, will);
    const ghost = { id: will.clientId, close: () => {} } as unknown as Client;
    return signedIn && new ClientSession(ghost, signedIn, this.#parts.clock.elapsedMs());
  }

  async #signedInOfWill(key: UserKey, { keyId, byCertificate = false }: Will): Promise<SignedIn | undefined> {
    const { users, keys, callers } = this.#parts;
    const signedIn = keyId === undefined ? undefined : await keys.check(keyId);
    const user = keyId === undefined ? await users.findByKey(key) : signedIn?.user;
    // The address of a guest is not stored with the will.
    return user && { ...signedIn, user, caller: callers.ofUser(user), byCertificate };
  }

  /** An API key may be given as the password; the username is then empty or its owner's. A certificate goes before both. */
  async #verifyLogin(client: Client, username = '', password: Buffer | undefined): Promise<SignedIn> {
    assertLoginLength(username, password);
    const certified = certifiedNameOf(client);
    if (certified !== undefined) return signInByCertificate(this.#parts, certified, username);
    const text = password?.toString('utf8') ?? '';
    if (!isKeyText(text)) return this.#verifyUser(client, username, text);
    const { keys, callers } = this.#parts;
    const signedIn = await keys.find(text);
    if (signedIn !== undefined && (username === '' || username === signedIn.user.username))
      return { ...signedIn, caller: callers.ofUser(signedIn.user) };
    if (username === '') throw new Refusal('unauthenticated', 'The API key is not valid.');
    // A password may look like a key; and guessing keys under a username is slowed down like guessing passwords.
    return this.#verifyUser(client, username, text);
  }

  async #verifyUser(client: Client, username: string, password: string): Promise<SignedIn> {
    const { users, logins, callers, permissions } = this.#parts;
    const address = addressOf(client);
    if (username === '') {
      if (permissions.refusesGuests)
        throw new Refusal('forbidden', 'This service takes no connections without a login.');
      return { user: await users.getByName(guestUsername), caller: callers.ofAddress(address) };
    }
    const user = await logins.verify({ username, password, address, isGone: () => client.closed });
    return { user, caller: callers.ofUser(user) };
  }

  #assertClientId({ clientId, isIdAssigned, isFresh, version }: Hello): void {
    // An empty client id needs a clean session [MQTT-3.1.3-7]; 3.1 has none, and 5.0 tells the client which it got.
    if (isIdAssigned && version !== 5 && (!isFresh || version === 3))
      throw new Refusal('malformed', 'A client id is needed for a session that is kept.');
    if (clientId.length > limits.clientIdCharsMax || !isStorableText(clientId)) {
      throw new Refusal('malformed', `A client id has at most ${limits.clientIdCharsMax} characters.`);
    }
  }

  /** @throws Refusal `quota` for a will that is too large or exceeds the quota: CONNACK 3. */
  async #assertWill({ will }: Hello, user: User): Promise<void> {
    if (will === undefined) return;
    const bytes = Buffer.byteLength(will.topic) + will.payload.length + (will.properties?.length ?? 0);
    if (bytes > limits.willBytesMax) throw new Refusal('quota', `A will has at most ${limits.willBytesMax} bytes.`);
    if (await this.#parts.stored.hasCapacityForBytes(user.key, bytes)) return;
    throw new Refusal('quota', `The MQTT sessions of ${user.username} take more than the quota allows.`);
  }
}

/** Notes the user in the will, so that permission is checked in their name even after a crash. */
function signWill({ will }: Hello, { user, keyScopes, byCertificate }: SignedIn): void {
  if (will === undefined) return;
  will.user = user.key;
  if (keyScopes !== undefined) will.keyId = keyScopes.keyId;
  if (byCertificate === true) will.byCertificate = true;
}

/** The store says `busy` of a session that finds no room: a later try may succeed. To the client it is a quota. */
function asQuota(error: unknown): never {
  if (error instanceof Refusal && error.code === 'busy') throw new Refusal('quota', error.message);
  throw error;
}

function takenId(clientId: string): Refusal {
  return new Refusal('exists', `The client id ${clientId} belongs to a session of somebody else.`);
}

/** Checked before anything is decoded, looked up, hashed or cached. A character has up to four bytes. */
function assertLoginLength(username: string, password: Buffer | undefined): void {
  const isLong =
    !hasCharsMax(username, limits.knownUsernameCharsMax) || (password?.length ?? 0) > 4 * limits.knownPasswordCharsMax;
  if (isLong) throw new Refusal('unauthenticated', 'The username or the password is longer than any.');
}
