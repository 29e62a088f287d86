// The only function that decides who may do what with a device, a gateway or a project (I6), for every protocol: v2,
// v1, MQTT, live streams. Lists get their filter from `audienceOf`, which expresses the same rule as a condition for
// the store.
import { Refusal } from '../../base/refusal.ts';
import {
  noScopes,
  publicScopes,
  type RecordKind,
  type ScopeName,
  type ScopeSet,
  scope,
  scopeNames,
  scopesOn,
} from '../scopes.ts';
import type { Actor, UserKey } from '../users/user.ts';
import { audienceOfKey, restrictedToKey } from './key-restriction.ts';
import type { Visibility } from './visibility.ts';

/** What callers without a token may do: `full` (act as owner of what guest owns), `push` (create and push), `none`. */
export type GuestAccess = 'full' | 'push' | 'none';

/** The fields of a record that decide permission. A project is always private. */
export interface ProtectedRecord {
  readonly kind: RecordKind;
  readonly id: string;
  readonly ownerKey: UserKey;
  readonly visibility: Visibility;
  /**
   * The scopes on this record that users have by shares. Those of a device include what shares of its gateway and of
   * projects give on it (contract 3).
   */
  readonly shares?: ReadonlyMap<UserKey, ScopeSet>;
  /** Ids that a device had before: an API key that a connection was opened with may name it by one of them. */
  readonly formerIds?: readonly { readonly id: string }[];
}

/** A reason why an actor has rights on a record, and these rights. */
export interface PermissionReason {
  readonly reason: 'owner' | 'admin' | 'public' | 'share';
  readonly scopes: ScopeSet;
}

/**
 * Which records an actor has a right on, as a condition for the store: all, or public ones, ones that the user owns,
 * and ones that are shared with the user.
 */
export type Audience = {
  /** The only ids that count, where an API key names ids. */
  readonly only?: readonly string[];
  /** The caller (`Caller.key`), because long reads take turns by caller. */
  readonly caller?: string;
  /** True once nobody can receive the answer (`Actor.isGone`). */
  readonly isGone?: () => boolean;
} & (
  | { readonly all: true }
  | {
      readonly all: false;
      readonly public: boolean;
      readonly user: UserKey | undefined;
      /** A share counts when it has one of these scopes. */
      readonly shared: ScopeSet;
    }
);

/** Whose alarms an actor sees, and which of them the actor may acknowledge, as conditions for the store. */
export interface AlarmView {
  /** Alarms of these devices. Being public makes no alarms visible. */
  readonly devices: Audience;
  readonly gateways: Audience;
  /** The devices about which the actor sees the alarms of their own rules: those whose values they may view, public ones too. */
  readonly ownRules: Audience;
  /** Devices and gateways whose alarms the actor may acknowledge, snooze and assign. */
  readonly updatable: { readonly devices: Audience; readonly gateways: Audience };
  /** Whether the actor may do the same about alarms of their own rules: a key needs the right to change devices. */
  readonly updatesOwn: boolean;
  /** The devices whose description, such as name and position, the actor may view. */
  readonly described: Audience;
  readonly user: UserKey;
  /** True where the actor also sees the alarms of the service, and those of other people's rules about devices that are not theirs. */
  readonly all: boolean;
}

export class Permissions {
  #guestAccess: GuestAccess;

  constructor(options: { readonly guestAccess: GuestAccess }) {
    this.#guestAccess = options.guestAccess;
  }

  get guestAccess(): GuestAccess {
    return this.#guestAccess;
  }

  /** Sets the access of guests, with effect from now on. */
  set guestAccess(access: GuestAccess) {
    this.#guestAccess = access;
  }

  /** True where callers without a token are refused. */
  get refusesGuests(): boolean {
    return this.#guestAccess === 'none';
  }

  /** The scopes that the actor has on the record (contract 3). */
  scopesOf(actor: Actor, record: ProtectedRecord): ScopeSet {
    return restrictedToKey(actor, record, this.#scopesOfUser(actor, record));
  }

  #scopesOfUser(actor: Actor, record: ProtectedRecord): ScopeSet {
    if (this.#ownsOrAdministers(actor, record)) return scopesOn[record.kind];
    if (actor.guest && this.#guestAccess === 'none') return noScopes;
    const shared = this.#sharedWith(actor, record);
    return record.visibility === 'public' ? (publicScopes & scopesOn[record.kind]) | shared : shared;
  }

  /**
   * Requires all scopes of `needed`. @throws Refusal `forbidden`; `unauthenticated` for a guest where guests are
   * refused.
   */
  require(actor: Actor, record: ProtectedRecord, needed: ScopeSet): void {
    const held = this.scopesOf(actor, record);
    if ((held & needed) === needed) return;
    this.requireGuestAllowed(actor);
    const missing = missingName(held, needed);
    throw new Refusal('forbidden', `You need the right ${missing} on ${nameOf(record)}.`);
  }

  /** Whether the actor may set values of the device's actuators. A public device gives nobody this right. */
  maySetActuators(actor: Actor, device: ProtectedRecord): boolean {
    if ((this.scopesOf(actor, device) & scope.update) !== 0) return true;
    return restrictedToKey(actor, device, this.#sharedWith(actor, device) & scope.dataCreate) !== noScopes;
  }

  /** Whether the actor's user may push to the device only because the device is public. */
  isStranger(actor: Actor, device: ProtectedRecord): boolean {
    return !this.#ownsOrAdministers(actor, device) && (this.#sharedWith(actor, device) & scope.dataCreate) === 0;
  }

  /** As `maySetActuators`. @throws Refusal `forbidden`, `unauthenticated` */
  requireSetActuators(actor: Actor, device: ProtectedRecord): void {
    if (this.maySetActuators(actor, device)) return;
    this.requireGuestAllowed(actor);
    throw new Refusal(
      'forbidden',
      `Setting an actuator of ${nameOf(device)} needs the right devices:update, or devices-data:create given by a share.`,
    );
  }

  /** Whether the actor sees who has set the device's actuators: its owner and admins do. */
  seesWhoSet(actor: Actor, device: ProtectedRecord): boolean {
    return this.#ownsOrAdministers(actor, device) && this.scopesOf(actor, device) !== noScopes;
  }

  /**
   * Requires the right to answer for the device that it took a setting: who may push to it as its owner, an admin or by
   * a share. A public device gives nobody this right. @throws Refusal `forbidden`, `unauthenticated`
   */
  requireAcknowledge(actor: Actor, device: ProtectedRecord): void {
    if (!this.isStranger(actor, device) && (this.scopesOf(actor, device) & scope.dataCreate) !== 0) return;
    this.requireGuestAllowed(actor);
    throw new Refusal(
      'forbidden',
      `Confirming a setting of ${nameOf(device)} needs the right devices-data:create as its owner or given by a share.`,
    );
  }

  /**
   * Requires the owner or an admin. An API key must have a right on the record, too. @throws Refusal `forbidden`,
   * `unauthenticated`
   */
  requireOwner(actor: Actor, record: ProtectedRecord): void {
    if (this.#ownsOrAdministers(actor, record) && this.scopesOf(actor, record) !== noScopes) return;
    this.requireGuestAllowed(actor);
    throw new Refusal('forbidden', `Only the owner of ${nameOf(record)} or an admin may do this.`);
  }

  /** Whether the actor may give rights on the record: its owner and admins may, and never by an API key. */
  mayShare(actor: Actor, record: ProtectedRecord): boolean {
    return actor.keyScopes === undefined && this.#ownsOrAdministers(actor, record);
  }

  /**
   * Requires the right to create. Everybody who is not refused has it; an API key needs the right to change the new
   * record.
   */
  requireCreate(actor: Actor, record: { readonly kind: RecordKind; readonly id: string }): void {
    this.requireGuestAllowed(actor);
    const needed = updates & scopesOn[record.kind];
    if (restrictedToKey(actor, record, needed) === needed) return;
    const name = missingName(noScopes, needed);
    throw new Refusal('forbidden', `This API key lacks the scope ${name} for ${record.id}, which creating needs.`);
  }

  /** Refuses API keys: they never manage accounts, passwords, keys, shares and owners (contract 2). */
  requireNoKey(actor: Actor, managed: string): void {
    if (actor.keyScopes === undefined) return;
    throw new Refusal('forbidden', `An API key does not manage ${managed}. Sign in with username and password.`);
  }

  /** Requires an admin without an API key, who may change settings of the service. */
  requireSettings(actor: Actor): void {
    this.requireNoKey(actor, 'settings');
    this.requireGuestAllowed(actor);
    if (!actor.admin) throw new Refusal('forbidden', 'Only an admin reads and changes the settings of the service.');
  }

  /** Requires an admin without an API key, who may see the servers of the service. @throws Refusal `unauthenticated`, `forbidden` */
  requireNodes(actor: Actor): void {
    if (actor.guest) throw new Refusal('unauthenticated', 'Sign in as an admin to see the servers of the service.');
    this.requireNoKey(actor, 'servers');
    if (!actor.admin) throw new Refusal('forbidden', 'Only an admin sees the servers of the service.');
  }

  /**
   * Requires the right to read metrics, which reveal how much there is of everything: admins have it, and keys that
   * admins made for this.
   */
  requireMetrics(actor: Actor): void {
    if (actor.admin || actor.keyScopes?.metrics === true) return;
    const right = 'the token of an admin, or an API key with the scope metrics:view that an admin made';
    if (actor.guest) throw new Refusal('unauthenticated', `The figures need ${right}.`);
    throw new Refusal('forbidden', `The figures need ${right}.`);
  }

  /** Whether messages that belong to no record may pass between the connections of the actor's user. */
  mayRelay(actor: Actor, kind: 'user' | 'gateway'): boolean {
    if (actor.guest) return false;
    if (actor.keyScopes === undefined || actor.keyScopes.whole) return true;
    return kind === 'gateway' && (actor.keyScopes.scopes & scope.gatewayUpdate) !== 0;
  }

  /** Refuses restricted API keys, because a rule acts with all rights of its author. */
  requireRules(actor: Actor): void {
    this.requireGuestAllowed(actor);
    if (actor.keyScopes === undefined || actor.keyScopes.whole) return;
    throw new Refusal(
      'forbidden',
      'This API key was made for chosen scopes or devices; notifications need all rights.',
    );
  }

  /** Requires the author of a rule or message, or an admin. */
  requireAuthor(
    actor: Actor,
    rule: { readonly id: string; readonly authorKey: UserKey; readonly noun?: 'message' },
  ): void {
    this.requireRules(actor);
    if (this.#isOrAdministers(actor, rule.authorKey)) return;
    throw new Refusal(
      'forbidden',
      `Only the author of ${rule.noun ?? 'notification'} ${rule.id} or an admin may do this.`,
    );
  }

  /** Whose rules a list shows; consistent with `requireAuthor`. */
  rulesOf(actor: Actor): 'all' | 'own' | 'none' {
    this.requireRules(actor);
    if (actor.admin) return 'all';
    return this.#isOrAdministers(actor, actor.key) ? 'own' : 'none';
  }

  /**
   * Requires the right to send heartbeats: users who may change the gateway have it, and everybody where it is public
   * (contract 6).
   */
  requireHeartbeat(actor: Actor, gateway: ProtectedRecord): void {
    this.requireGuestAllowed(actor);
    if (gateway.visibility !== 'public') this.require(actor, gateway, scope.gatewayUpdate);
  }

  /**
   * Whether the actor may connect by MQTT as the gateway and exchange messages with it (contract 8): those may who
   * may change it.
   */
  mayActFor(actor: Actor, gateway: ProtectedRecord): boolean {
    return (this.scopesOf(actor, gateway) & scope.gatewayUpdate) !== 0;
  }

  /** Why the actor has which rights on the record; all reasons together give `scopesOf`. */
  reasonsOf(actor: Actor, record: ProtectedRecord): readonly PermissionReason[] {
    const held = this.scopesOf(actor, record);
    const own = this.#ownsOrAdministers(actor, record) ? scopesOn[record.kind] : noScopes;
    const reasons: readonly PermissionReason[] = [
      { reason: 'owner', scopes: record.ownerKey === actor.key ? own : noScopes },
      { reason: 'admin', scopes: actor.admin ? own : noScopes },
      { reason: 'public', scopes: record.visibility === 'public' ? publicScopes : noScopes },
      { reason: 'share', scopes: this.#sharedWith(actor, record) },
    ];
    return reasons
      .map(({ reason, scopes }) => ({ reason, scopes: scopes & held }))
      .filter(({ scopes }) => scopes !== noScopes);
  }

  /** Refuses guests where guest access is `none`. @throws Refusal `unauthenticated` */
  requireGuestAllowed(actor: Actor): void {
    if (actor.guest && this.#guestAccess === 'none') {
      throw new Refusal('unauthenticated', 'This service takes no calls without a token. Sign in first.');
    }
  }

  /** Whether the actor may act as an owner; false for guests who may not act as owner of guest's records. */
  mayOwn(actor: Actor): boolean {
    return !actor.guest || this.#guestAccess === 'full';
  }

  /**
   * The records on which the actor has at least one of these scopes by `scopesOf`. The scopes must be of one kind of
   * record.
   */
  audienceOf(actor: Actor, needed: ScopeSet): Audience {
    const { wanted: shared, ...narrowing } = audienceOfKey(actor, needed);
    const { isGone } = actor;
    const only = { ...narrowing, caller: actor.caller.key, ...(isGone === undefined ? {} : { isGone }) };
    if (shared === noScopes) return { ...only, all: false, public: false, user: undefined, shared };
    if (actor.admin) return { ...only, all: true };
    const isShut = actor.guest && this.#guestAccess === 'none';
    const user = this.mayOwn(actor) ? actor.key : undefined;
    return { ...only, all: false, public: !isShut && (shared & publicScopes) !== 0, user, shared };
  }

  /**
   * The alarms that the actor may see: of devices whose values the actor may view, and of gateways, as owner, admin or by a
   * share. @throws Refusal `unauthenticated` for guests, who see none.
   */
  alarmViewOf(actor: Actor): AlarmView {
    if (actor.guest) throw new Refusal('unauthenticated', 'Sign in to see alarms.');
    const named = (needed: ScopeSet): Audience => {
      const audience = this.audienceOf(actor, needed);
      return audience.all ? audience : { ...audience, public: false };
    };
    const updatable = { devices: named(scope.update), gateways: named(scope.gatewayUpdate) };
    return {
      ownRules: this.audienceOf(actor, scope.dataView),
      described: this.audienceOf(actor, scope.view),
      updatesOwn: actor.keyScopes === undefined || (actor.keyScopes.scopes & scope.update) !== 0,
      ...{ devices: named(scope.dataView), gateways: named(scope.gatewayView), updatable, user: actor.key },
      all: actor.admin,
    };
  }

  /** The alarms of the actor's own devices, gateways and rules, whatever else the actor may see. @throws Refusal `unauthenticated` */
  ownAlarmViewOf(actor: Actor): AlarmView {
    const own = this.ownAudienceOf(actor);
    return { ...this.alarmViewOf(actor), devices: own, gateways: own, all: false };
  }

  /** Whether a rule of the actor about the device is one of those who run the device, so that all who see its alarms see it. */
  speaksForDevice(actor: Actor, device: ProtectedRecord): boolean {
    return (this.scopesOf(actor, device) & scope.update) !== 0;
  }

  /** The records that the actor owns, whatever else the actor may do. */
  ownAudienceOf(actor: Actor): Audience {
    this.requireGuestAllowed(actor);
    const { isGone } = actor;
    const only = { caller: actor.caller.key, ...(isGone === undefined ? {} : { isGone }) };
    const user = this.mayOwn(actor) && actor.keyScopes === undefined ? actor.key : undefined;
    return { ...only, all: false, public: false, user, shared: noScopes };
  }

  #sharedWith(actor: Actor, record: ProtectedRecord): ScopeSet {
    return actor.guest ? noScopes : (record.shares?.get(actor.key) ?? noScopes);
  }

  #ownsOrAdministers(actor: Actor, record: ProtectedRecord): boolean {
    return this.#isOrAdministers(actor, record.ownerKey);
  }

  #isOrAdministers(actor: Actor, owner: UserKey): boolean {
    return actor.admin || (owner === actor.key && this.mayOwn(actor));
  }
}

const updates: ScopeSet = scope.update | scope.gatewayUpdate | scope.projectUpdate;

function missingName(held: ScopeSet, needed: ScopeSet): ScopeName {
  const bit = scopeNames.findIndex((_, n) => (needed & ~held & (1 << n)) !== 0);
  return scopeNames[bit] ?? 'devices:view';
}

/**
 * The record as a refusal names it, beginning with its kind. A device that has former ids is not named, because its new id is not for
 * those who may not see it.
 */
function nameOf({ kind, id, formerIds }: Pick<ProtectedRecord, 'kind' | 'id' | 'formerIds'>): string {
  return formerIds === undefined ? `${kind} ${id}` : `this ${kind}`;
}
