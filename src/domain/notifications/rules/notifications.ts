// Reading and changing notifications (spec 4.1, contract 7). A rule belongs to its author; only the author and admins
// may read and change it. Rules of guest belong to all guests.

import type { Ids } from '../../../base/ids.ts';
import { type BatchRange, inBatches } from '../../../base/in-batches.ts';
import { Refusal } from '../../../base/refusal.ts';
import type { Json } from '../../../base/text/json.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import { loopTurns } from '../../callers/loop-turns.ts';
import { parseFilter } from '../../devices/filter.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { GuestShares } from '../../quotas/guest-shares.ts';
import type { Actor, UserKey } from '../../users/user.ts';
import type { DryRun, DryRunQuery, DryRunReport } from './dry-run.ts';
import {
  assertFields,
  isJsonObject,
  isNotificationId,
  isWrapped,
  type JsonObject,
  type Notification,
  type NotificationChange,
  type NotificationFields,
  type NotificationId,
  parseNotificationId,
  type Status,
} from './notification.ts';
import type { NotificationStore } from './notification-store.ts';
import { textsOf } from './rule.ts';
import type { RuleChanges, RuleWeight } from './rule-changes.ts';

export interface NotificationPage {
  /** The rules of the page, in steps small enough to be held in memory. */
  readonly steps: AsyncGenerator<readonly Notification[]>;
  /** Notifications that match, on all pages. */
  readonly total: number;
}

/** The change a caller asks for; null removes a field, also within condition and action (RFC 7396). */
export type NotificationPatch = NotificationChange;

/** Default fields for the rule of a dry run. */
const blank: NotificationFields = {
  condition: {},
  action: { usernames: [], channels: [], message: '' },
  status: 'active',
  throttlingS: 0,
};

/** A change of one of these fields makes the rule's stored device states meaningless, so they are deleted. */
const fieldsResettingState = ['condition', 'hysteresis', 'forS', 'silenceS'] as const;

export class Notifications {
  readonly #store: NotificationStore;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #ids: Ids;
  readonly #clock: Clock;
  readonly #ruleChanges: RuleChanges;
  readonly #dryRun: DryRun;

  constructor(parts: {
    readonly store: NotificationStore;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly ids: Ids;
    readonly clock: Clock;
    readonly ruleChanges: RuleChanges;
    readonly dryRun: DryRun;
  }) {
    this.#store = parts.store;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#ids = parts.ids;
    this.#clock = parts.clock;
    this.#ruleChanges = parts.ruleChanges;
    this.#dryRun = parts.dryRun;
  }

  /** @throws Refusal `malformed`, `quota`. */
  async create(actor: Actor, fields: NotificationFields): Promise<NotificationId> {
    this.#permissions.requireRules(actor);
    assertFields(fields);
    const id = Buffer.from(this.#ids.bytes(12)).toString('hex');
    const sinceMs = this.#clock.now();
    // Datapoints before its creation are ignored (contract 7: a rule never fires at creation).
    const release = this.#reserve(actor.key, fields);
    try {
      await this.#shares.take(actor, { rules: 1 }, () =>
        this.#ruleChanges.add(id, ({ newest: afterSeq }) =>
          this.#store.create(id, actor.key, fields, { afterSeq, sinceMs }),
        ),
      );
    } finally {
      release();
    }
    return id;
  }

  /** @throws Refusal `malformed`, `not-found`, `forbidden` */
  async get(actor: Actor, text: string): Promise<Notification> {
    const id = parseNotificationId(text);
    const notification = await this.#store.find(id);
    if (notification === undefined) throw new Refusal('not-found', `There is no notification ${id}.`);
    this.#permissions.requireAuthor(actor, notification);
    return notification;
  }

  /** A page of the actor's rules; an admin's page has the rules of everybody. */
  async list(
    actor: Actor,
    { q, limit, offset }: { readonly q?: string | undefined; readonly limit: number; readonly offset: number },
  ): Promise<NotificationPage> {
    const readable = this.#permissions.rulesOf(actor);
    const filter = parseFilter(q);
    const author = readable === 'all' ? undefined : actor.key;
    const total = readable === 'none' ? 0 : await this.#store.count({ author, filter });
    const read = async (step: BatchRange) =>
      total <= step.offset ? [] : this.#store.list({ author, filter, ...step });
    return {
      steps: inBatches(read, {
        limit,
        offset,
        stepRows: limits.notificationStepRows,
        turn: () => loopTurns.turn(actor.caller),
      }),
      total,
    };
  }

  /** Applies the patch to the rule; the result is checked like a new rule. */
  async update(actor: Actor, id: string, patch: NotificationPatch): Promise<void> {
    const notification = await this.get(actor, id);
    const condition = isJsonObject(patch.condition) ? merge(notification.condition, patch.condition) : patch.condition;
    const action = isJsonObject(patch.action) ? mergeAction(notification.action, patch.action) : patch.action;
    for (const [field, value] of Object.entries({ condition, action })) {
      if (value !== null) continue;
      const detail = 'cannot be taken away';
      throw new Refusal('malformed', `/${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
    }
    const change: NotificationChange = {
      ...patch,
      ...(condition === undefined ? {} : { condition }),
      ...(action === undefined ? {} : { action }),
      ...(patch.status === null ? { status: 'active' } : {}),
      ...(patch.throttlingS === null ? { throttlingS: 0 } : {}),
    };
    assertFields(withoutNulls({ ...notification, ...change }) as NotificationFields);
    await this.#change(notification, change);
  }

  /**
   * Reports when a rule would have fired and what it would have sent; sends nothing. Fields of an existing rule may be
   * replaced.
   * @throws Refusal `malformed`, `not-found`, `forbidden`
   */
  async dryRun(
    actor: Actor,
    { id, patch, ...query }: DryRunQuery & { readonly id?: string | undefined; readonly patch: NotificationPatch },
  ): Promise<DryRunReport> {
    this.#permissions.requireRules(actor);
    const before = id === undefined ? blank : await this.get(actor, id);
    return this.#dryRun.run(actor, withoutNulls({ ...before, ...patch }) as NotificationFields, query);
  }

  async setStatus(actor: Actor, id: string, status: Status): Promise<void> {
    const notification = await this.get(actor, id);
    await this.#change(notification, { status });
  }

  async remove(actor: Actor, id: string): Promise<void> {
    // To a removal a malformed id is one that nothing has (contract 7).
    if (!isNotificationId(id)) throw new Refusal('not-found', 'There is no notification with this id.');
    const notification = await this.get(actor, id);
    await this.#ruleChanges.change(notification.id, () => this.#store.remove(notification.id));
  }

  /**
   * Stores a change. A rule that is activated again, or gets another condition, starts without device states; its
   * counters stay.
   */
  async #change(before: Notification, change: NotificationChange): Promise<void> {
    const isStarted = change.status === 'active' && before.status !== 'active';
    const resetsState = isStarted || fieldsResettingState.some((field) => change[field] !== undefined);
    const sinceMs = this.#clock.now();
    const isLarger = isStarted || fieldsWithWeight.some((field) => change[field] !== undefined);
    const fields = withoutNulls({ ...before, ...change }) as Notification;
    const release = isLarger ? this.#reserve(before.authorKey, fields, before) : () => {};
    try {
      await this.#ruleChanges.change(before.id, ({ newest, seen }) =>
        this.#store.update(before.id, change, { afterSeq: isStarted ? newest : seen, sinceMs, resetsState }),
      );
    } finally {
      release();
    }
  }

  /**
   * Reserves memory for a rule that becomes active, or for its growth; returns the function that ends the reservation.
   * @throws Refusal `busy`.
   */
  #reserve(author: UserKey, fields: NotificationFields, before?: NotificationFields): () => void {
    if (fields.status !== 'active') return () => {};
    return this.#ruleChanges.reserve(
      author,
      weightOf(fields),
      before?.status === 'active' ? weightOf(before) : undefined,
    );
  }

  /** Whether the rule has expired, so that it fires no longer, whatever its status. */
  isExpired({ expiresMs }: Notification): boolean {
    return expiresMs !== undefined && this.#clock.now() >= expiresMs;
  }
}

/** The fields without those that a change removes by null. */
function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** The fields that determine how much memory a rule takes. */
const fieldsWithWeight = ['condition', 'action', 'hysteresis', 'forS', 'silenceS', 'recoveryMessage'] as const;

function weightOf({ condition, action, ...extras }: NotificationFields): RuleWeight {
  const [conditionJson, actionJson] = [JSON.stringify(condition), JSON.stringify(action)];
  return { devices: textsOf(condition['devices']), conditionJson, actionJson, extras };
}

/** An action of another form or type replaces the whole action, because merged fields would be meaningless. */
function mergeAction(action: JsonObject, patch: JsonObject): JsonObject {
  return isOfOneForm(action, patch) ? mergeActuation(action, patch) : merge({}, patch);
}

function isOfOneForm(action: JsonObject, patch: JsonObject): boolean {
  if (patch['type'] !== undefined) return isWrapped(action) && patch['type'] === action['type'];
  return !isWrapped(action) || !flatFields.some((field) => patch[field] !== undefined);
}

const flatFields = ['usernames', 'channels', 'message'];

/** For an actuator value, null and objects are values to set, not patches. */
function mergeActuation(action: JsonObject, patch: JsonObject): JsonObject {
  const value = patch['value'];
  const merged = merge(action, patch);
  if (!isJsonObject(value) || value['actuator_value'] === undefined) return merged;
  return { ...merged, value: { ...(merged['value'] as JsonObject), actuator_value: value['actuator_value'] } };
}

/** JSON merge patch (RFC 7396). */
function merge(target: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const known = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isJsonObject(value) ? merge(isJsonObject(known) ? known : {}, value) : value;
  }
  return merged;
}
