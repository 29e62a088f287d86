// Reading alarms, and what people do about them: acknowledge, snooze, assign. Methods take the actor first; what the actor
// may not see is answered like what does not exist. Guests see none.
import { Refusal } from '../../base/refusal.ts';
import { isStorableText, textFault } from '../../base/text/json.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Alarm, AlarmId } from './alarm.ts';
import type { AlarmChanges } from './alarm-changes.ts';
import type { AlarmFilter, AlarmHandling, AlarmStore } from './alarm-store.ts';
import type { StorageAlarm } from './storage-alarm.ts';

export interface AlarmPage {
  readonly alarms: readonly Alarm[];
  /** Alarms that match, on all pages. */
  readonly total: number;
}

interface Paged {
  readonly limit: number;
  readonly offset: number;
}

export class Alarms {
  readonly #store: AlarmStore;
  readonly #permissions: Permissions;
  readonly #directory: DeviceDirectory;
  readonly #users: Users;
  readonly #storage: StorageAlarm;
  readonly #changes: AlarmChanges;
  readonly #clock: Clock;

  constructor(parts: {
    readonly alarmStore: AlarmStore;
    readonly permissions: Permissions;
    readonly directory: DeviceDirectory;
    readonly users: Users;
    readonly storageAlarm: StorageAlarm;
    readonly changes: AlarmChanges;
    readonly clock: Clock;
  }) {
    this.#store = parts.alarmStore;
    this.#permissions = parts.permissions;
    this.#directory = parts.directory;
    this.#users = parts.users;
    this.#storage = parts.storageAlarm;
    this.#changes = parts.changes;
    this.#clock = parts.clock;
  }

  /** A page of the alarms that the actor may see, newest first. @throws Refusal `unauthenticated` */
  async list(actor: Actor, { limit, offset, ...filter }: AlarmFilter & Paged): Promise<AlarmPage> {
    const view = this.#permissions.alarmViewOf(actor);
    const unstored = view.all ? this.#storage.unstoredFor(filter) : undefined;
    const before = unstored === undefined ? [] : [unstored];
    const query = { ...filter, view, nowMs: this.#clock.now() };
    const stored = await this.#store.count(query);
    const first = offset === 0 ? before : [];
    const page = { limit: limit - first.length, offset: Math.max(offset - before.length, 0) };
    const alarms = page.limit === 0 || stored <= page.offset ? [] : await this.#store.list({ ...query, ...page });
    return { alarms: [...first, ...alarms], total: stored + before.length };
  }

  /** All that are kept about the actor's own devices, gateways and rules, newest first. @throws Refusal `unauthenticated` */
  async *listOwn(actor: Actor): AsyncGenerator<readonly Alarm[]> {
    const query = { view: this.#permissions.ownAlarmViewOf(actor), nowMs: this.#clock.now() };
    // Each step searches all alarms, so there are few steps.
    const limit = limits.recordListMax;
    for (let offset = 0; ; offset += limit) {
      await loopTurns.turn(actor.caller);
      const alarms = await this.#store.list({ ...query, limit, offset });
      yield alarms;
      if (alarms.length < limit) return;
    }
  }

  /** The same of one device. @throws Refusal `not-found`, `forbidden`, `unauthenticated` */
  async listOfDevice(actor: Actor, id: DeviceId, query: AlarmFilter & Paged): Promise<AlarmPage> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.dataView);
    return this.list(actor, { ...query, device: device.id });
  }

  /** @throws Refusal `not-found`, `unauthenticated` */
  async get(actor: Actor, id: AlarmId): Promise<Alarm> {
    const view = this.#permissions.alarmViewOf(actor);
    const unstored = view.all ? this.#storage.unstoredFor({}) : undefined;
    const alarm = unstored?.id === id ? unstored : await this.#store.find(id, view);
    if (alarm === undefined) throw new Refusal('not-found', `You have no alarm ${id.slice(0, 40)}.`);
    return alarm;
  }

  /** Notes that somebody sees to it; null takes that back. @throws Refusal `malformed`, `not-found`, `forbidden` */
  async acknowledge(
    actor: Actor,
    id: AlarmId,
    acknowledgement: { readonly note?: string | undefined } | null,
  ): Promise<void> {
    if (acknowledgement === null) return this.#handle(actor, id, { acknowledged: null });
    const note = acknowledgement.note?.trim() || undefined;
    if (note !== undefined && !isStorableText(note)) throw malformed('/note', textFault(note));
    return this.#handle(actor, id, { acknowledged: { atMs: this.#clock.now(), by: actor.key, note } });
  }

  /** Asks for quiet until then; null ends that. @throws Refusal `malformed`, `not-found`, `forbidden` */
  async snooze(actor: Actor, id: AlarmId, untilMs: number | null): Promise<void> {
    const nowMs = this.#clock.now();
    if (untilMs !== null && (untilMs <= nowMs || untilMs > nowMs + limits.alarmSnoozeMsMax))
      throw malformed('/until', `must be a time within the next ${limits.alarmSnoozeMsMax / 86_400_000} days`);
    return this.#handle(actor, id, { snoozedUntilMs: untilMs });
  }

  /** Gives it to a user who may see it; null takes it back. @throws Refusal `malformed`, `not-found`, `forbidden` */
  async assign(actor: Actor, id: AlarmId, username: string | null): Promise<void> {
    await this.#requireUpdatable(actor, id);
    if (username === null) return this.#handle(actor, id, { assignee: null });
    const user = await this.#users.findByName(username);
    const assignee = user && this.#users.actorOf(user);
    // One answer for who does not exist and who may not see it, so that nobody is told of accounts.
    if (
      assignee === undefined ||
      assignee.guest ||
      (await this.#store.find(id, this.#permissions.alarmViewOf(assignee))) === undefined
    )
      throw malformed('/username', 'must be the name of a user who may see this alarm');
    return this.#handle(actor, id, { assignee: assignee.key });
  }

  async #handle(actor: Actor, id: AlarmId, handling: AlarmHandling): Promise<void> {
    await this.#requireUpdatable(actor, id);
    await this.#store.handle(id, handling);
    this.#changes.changed();
  }

  async #requireUpdatable(actor: Actor, id: AlarmId): Promise<void> {
    const { mayUpdate, kind } = await this.get(actor, id);
    if (mayUpdate) return;
    if (kind === 'storage')
      throw new Refusal('busy', 'This alarm cannot be stored as long as the storage refuses.', { retryAfterS: 60 });
    const of = kind === 'gateway' ? 'gateways:update on the gateway' : 'devices:update on the device';
    throw new Refusal('forbidden', `To acknowledge, snooze or assign this alarm you need the right ${of}.`);
  }
}

function malformed(pointer: string, detail: string): Refusal {
  return new Refusal('malformed', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}
