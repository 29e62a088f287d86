// Records for the suites of the registry's stores, made and listed through its ports. Each has a name of its own, so that the
// tests of a suite share one engine.
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { Refusal, type RefusalCode } from '../../../src/base/refusal.ts';
import type { DeviceKey } from '../../../src/domain/device-key.ts';
import type { Device, DeviceDraft } from '../../../src/domain/devices/device.ts';
import type { ModificationStamp } from '../../../src/domain/devices/device-store.ts';
import type { Gateway, GatewayDraft } from '../../../src/domain/gateways/gateway.ts';
import type { ApiKey } from '../../../src/domain/keys/key.ts';
import type { NewMessage } from '../../../src/domain/notifications/outbox/message.ts';
import type { Notification, NotificationFields } from '../../../src/domain/notifications/rules/notification.ts';
import type { Fence } from '../../../src/domain/ports/coordination.ts';
import type { RegistryStores } from '../../../src/domain/ports/registry-stores.ts';
import type { Project, ProjectFields } from '../../../src/domain/projects/project.ts';
import type { User, UserKey } from '../../../src/domain/users/user.ts';
import type { NewUser } from '../../../src/domain/users/user-store.ts';
import { nowMs } from '../../support/points.ts';
import type { OpenedEngine } from '../engines.ts';

/** Leases that nobody takes here, so that what is written under them is stored. */
export const outboxFence: Fence = { name: 'outbox', epoch: 1 };
export const rulesFence: Fence = { name: 'rules/0', epoch: 1 };

/** More than any test makes. */
export const many = 100_000;

/** Everybody's records: the audience of an admin. */
export const everybody = { all: true } as const;

export class Records {
  readonly #opened: () => OpenedEngine;
  #made = 0;

  constructor(opened: () => OpenedEngine) {
    this.#opened = opened;
  }

  get stores(): RegistryStores {
    return this.#opened().stores;
  }

  /** A name that no other record has. */
  name(word: string): string {
    this.#made += 1;
    return `${word}-${this.#made}`;
  }

  /** 24 hex digits, as the ids of rules and messages are. */
  hexId(): string {
    this.#made += 1;
    return this.#made.toString(16).padStart(24, '0');
  }

  async user(fields: Partial<NewUser> = {}): Promise<User> {
    const username = this.name('user');
    const user = { id: `id of ${username}`, username, admin: false, createdTime: nowMs, ...fields };
    await this.stores.users.create(user);
    return found(await this.stores.users.findByName(user.username));
  }

  async device(owner: User, draft: Partial<DeviceDraft> = {}): Promise<Device> {
    const id = this.name('device');
    const device = { id, visibility: 'private' as const, sensors: [], actuators: [], ...draft };
    await this.stores.devices.create(device, owner.key, { atMs: nowMs, ageMs: nowMs });
    return this.deviceOf(device.id);
  }

  /** The device as it is now. */
  async deviceOf(id: string): Promise<Device> {
    return found(await this.stores.devices.find(id));
  }

  async gateway(owner: User, draft: Partial<GatewayDraft> = {}): Promise<Gateway> {
    const gateway = { id: this.name('gateway'), visibility: 'private' as const, ...draft };
    await this.stores.gateways.create(gateway, owner.key, nowMs);
    return found(await this.stores.gateways.find(gateway.id));
  }

  async project(owner: User, fields: Partial<ProjectFields> = {}): Promise<Project> {
    const project = { id: this.name('project'), deviceIds: [], gatewayIds: [], ...fields };
    await this.stores.projects.create(project, owner.key);
    return found(await this.stores.projects.find(project.id));
  }

  async rule(author: User, fields: Partial<NotificationFields> = {}): Promise<Notification> {
    const id = this.hexId();
    await this.stores.notifications.create(
      id,
      author.key,
      { ...plainRule, ...fields },
      { afterSeq: 0, sinceMs: nowMs },
    );
    return found(await this.stores.notifications.find(id));
  }

  async key(owner: User, fields: Partial<ApiKey> = {}): Promise<ApiKey> {
    const id = this.name('key');
    const key = { id, owner: owner.key, name: id, dateCreatedMs: nowMs, ...fields };
    await this.stores.keys.create(key, { hash: `hash of ${key.id}` });
    return found(await this.stores.keys.findById(key.id));
  }

  /** Makes a refresh session of the user, and returns its family. */
  async session(
    user: User,
    fields: { readonly lastUsedMs?: number; readonly expiresMs?: number } = {},
  ): Promise<string> {
    const family = this.name('family');
    const times = { createdMs: nowMs, lastUsedMs: nowMs, expiresMs: nowMs + 1_000, endsMs: nowMs + 9_000, ...fields };
    const texts = { id: `id of ${family}`, hash: `hash of ${family}`, previous: undefined };
    const session = { family, user: user.key, passwordVersion: 1, agent: undefined, address: undefined };
    await this.stores.refreshSessions.create({ ...session, ...texts, ...times }, { max: 1_000, nowMs });
    return family;
  }

  /** Who gave the user the share of the device itself. */
  async giverOf(device: DeviceKey, user: UserKey): Promise<string | undefined> {
    const sources = await this.stores.recordShares.listSources(device, user);
    return sources.find(({ kind }) => kind === 'device')?.givenBy;
  }

  message(fields: Partial<NewMessage> = {}): NewMessage {
    const id = this.hexId();
    return { id, username: 'awa', channel: 'sms', text: 'nii', state: 'queued', createdMs: nowMs, ...fields };
  }

  /** Labels of the records that the work adds, removes or changes, in order; all others are held to be as they were. */
  async changedBy(work: () => Promise<unknown>): Promise<string[]> {
    const before = await this.#everything();
    await work();
    const after = await this.#everything();
    const labels = new Set([...before.keys(), ...after.keys()]);
    return [...labels].filter((label) => !isDeepStrictEqual(before.get(label), after.get(label))).sort();
  }

  /** Whatever the stores list, under a label for each record. */
  async #everything(): Promise<Map<string, unknown>> {
    const { stores } = this;
    const page = { limit: many, offset: 0 };
    const records = new Map<string, unknown>();
    const users = await stores.users.list(page);
    const usage = await stores.quotas.list(users.map(({ key }) => key));
    for (const user of users) {
      const { key, username } = user;
      records.set(`user ${username}`, user);
      records.set(`usage of ${username}`, usage.get(key));
      for (const apiKey of await stores.keys.list(key)) records.set(`key ${apiKey.id}`, apiKey);
      for (const one of await stores.refreshSessions.list(key, 0)) records.set(`session ${one.family}`, one);
      for (const one of await stores.handovers.listReceived(key, 0)) records.set(`handover ${one.device}`, one);
      for (const one of await stores.devices.listSharesOf({ ownedBy: key }, page))
        records.set(`share ${one.device} ${one.username}`, one);
      for (const kind of ['gateway', 'project'] as const) {
        for (const one of await stores.recordShares.listOf(kind, { ownedBy: key }, page))
          records.set(`share of ${kind} ${one.id} ${one.username}`, one);
      }
    }
    const keys = await stores.devices.listKeys({ audience: everybody, filter: [], offset: 0 });
    for (const device of await stores.devices.listByKeys(keys)) {
      // What is shared has labels of its own.
      const { shares: _, ...own } = device;
      records.set(`device ${device.id}`, own);
      records.set(`drops of ${device.id}`, await stores.drops.list(device.key));
    }
    const lists = { audience: everybody, filter: [], after: 0, ...page };
    for (const { shares: _, ...gateway } of await stores.gateways.list(lists))
      records.set(`gateway ${gateway.id}`, gateway);
    for (const project of await stores.projects.list(lists)) records.set(`project ${project.id}`, project);
    const ofAll = { author: undefined, filter: [], ...page };
    for (const rule of await stores.notifications.list(ofAll)) records.set(`rule ${rule.id}`, rule);
    for (const rule of await stores.watch.listRules({ after: 0, limit: many })) records.set(`watched ${rule.id}`, rule);
    for (const message of await stores.messages.list(ofAll)) records.set(`message ${message.id}`, message);
    return records;
  }
}

export const plainRule: NotificationFields = {
  condition: { devices: ['d'], sensors: ['s'], expression: 's > 1' },
  action: { usernames: ['awa'], channels: ['sms'], message: 'nii' },
  status: 'active',
  throttlingS: 60,
};

/** A change of the device, some time after it was made. */
export function stampOf({ key }: Pick<Device, 'key'>, laterMs = 1): ModificationStamp {
  return { device: key, atMs: nowMs + laterMs };
}

export function found<T>(record: T | undefined): T {
  assert.ok(record !== undefined, 'there is no such record');
  return record;
}

export async function assertRefused(work: Promise<unknown>, code: RefusalCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, code);
    return true;
  });
}

/** Runs all of it at once; returns how many succeeded, and holds that each of the others was refused with the code. */
export async function succeeded(works: readonly Promise<unknown>[], code: RefusalCode): Promise<number> {
  const outcomes = await Promise.allSettled(works);
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  for (const reason of reasons) assert.equal((reason as Refusal).code, code, String(reason));
  return outcomes.length - reasons.length;
}

/** Order of texts by their code points, as every engine has it. */
export function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
