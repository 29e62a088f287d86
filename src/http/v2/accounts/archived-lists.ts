// The lists of an archive of everything a user has (export.ts): their own alone, as the routes of the API write the records.
import { Refusal } from '../../../base/refusal.ts';
import type { SharedRecordKind } from '../../../domain/devices/record-share-store.ts';
import type { ShareQuery } from '../../../domain/devices/sharing.ts';
import type { Actor } from '../../../domain/users/user.ts';
import {
  toDeviceRecord,
  toDropRecord,
  toGatewayRecord,
  toProjectRecord,
  toSettingRecord,
} from '../../schemas/records.ts';
import type { Services } from '../../services.ts';
import { toAlarmRecord } from '../alarms.ts';
import { toNotificationRecord } from '../notifications.ts';
import { toDeviceShare, toRecordShare } from '../permissions.ts';
import { toReceivedRecord } from '../received.ts';
import { toKeyRecord } from './keys.ts';
import { toQuotaRecord } from './quotas.ts';
import { toSessionRecord } from './sign-ins.ts';
import { toMessageRecord } from './socials.ts';
import { toUserRecord } from './users.ts';

type Steps = AsyncGenerator<readonly object[]>;

/** The actor's own record without the key of their webhooks, which is a secret. */
export async function profileOf(actor: Actor, { accounts }: Services): Promise<object> {
  const user = await accounts.get(actor, actor.userId);
  return { ...toUserRecord(accounts, actor, user), admin: user.admin, webhook_key: undefined };
}

/** Each list with its name, read in steps when it is come to. */
export function archivedLists(
  actor: Actor,
  services: Services,
): readonly { readonly name: string; readonly steps: Steps }[] {
  const { handovers, keys, quotas, refreshSessions } = services;
  return [
    { name: 'quotas', steps: whole(async () => [toQuotaRecord(await quotas.ofActor(actor))]) },
    { name: 'devices', steps: devicesOf(actor, services) },
    { name: 'settings', steps: settingsOf(actor, services) },
    { name: 'drops', steps: dropsOf(actor, services) },
    { name: 'gateways', steps: single(services.gateways.listOwn(actor), toGatewayRecord) },
    { name: 'projects', steps: single(services.projects.listOwn(actor), toProjectRecord) },
    { name: 'rules', steps: rulesOf(actor, services) },
    { name: 'alarms', steps: alarmsOf(actor, services) },
    { name: 'messages', steps: messagesOf(actor, services) },
    { name: 'shares-by-me', steps: sharesOf(actor, services, 'by-me') },
    { name: 'shares-with-me', steps: sharesOf(actor, services, 'with-me') },
    { name: 'received', steps: whole(async () => (await handovers.listReceived(actor)).map(toReceivedRecord)) },
    { name: 'keys', steps: whole(async () => (await keys.list(actor)).map(toKeyRecord)) },
    {
      name: 'sessions',
      steps: whole(async () =>
        (await refreshSessions.list(actor, actor.userId)).map((session) => toSessionRecord(session, actor.sessionId)),
      ),
    },
  ];
}

async function* devicesOf(actor: Actor, { devices, lastValues }: Services): Steps {
  for await (const step of devices.listOwn(actor)) {
    const last = await lastValues.of(actor, step);
    yield step.map((device) => toDeviceRecord(device, devices.scopesOf(actor, device), last));
  }
}

async function* settingsOf(actor: Actor, { devices, actuatorHistory }: Services): Steps {
  for await (const step of devices.listOwn(actor)) {
    for (const { id: device_id, actuators } of step) {
      for (const actuator_id of actuators.keys()) {
        const settings = await unlessGone(() => actuatorHistory.list(actor, device_id, actuator_id, {}));
        yield settings.reverse().map((setting) => ({ device_id, actuator_id, ...toSettingRecord(setting) }));
      }
    }
  }
}

async function* dropsOf(actor: Actor, { devices, drops }: Services): Steps {
  for await (const step of devices.listOwn(actor)) {
    for (const { id: device_id } of step) {
      const dropped = await unlessGone(() => drops.list(actor, device_id));
      yield dropped.map((drop) => ({ device_id, ...toDropRecord(drop) }));
    }
  }
}

async function* rulesOf(actor: Actor, { notifications }: Services): Steps {
  const { steps } = await notifications.list(actor, { limit: Number.MAX_SAFE_INTEGER, offset: 0 });
  for await (const step of steps)
    yield step.map((rule) => toNotificationRecord(rule, { isExpired: notifications.isExpired(rule) }));
}

async function* alarmsOf(actor: Actor, { alarms }: Services): Steps {
  for await (const step of alarms.listOwn(actor)) yield step.map(toAlarmRecord);
}

async function* messagesOf(actor: Actor, { messages }: Services): Steps {
  for await (const step of messages.listAll(actor)) yield step.map(toMessageRecord);
}

async function* sharesOf(actor: Actor, { sharing }: Services, direction: ShareQuery['direction']): Steps {
  for await (const step of sharing.listAll(actor, direction)) yield step.map(toDeviceShare);
  for (const kind of ['gateway', 'project'] satisfies SharedRecordKind[]) {
    for await (const step of sharing.listAllOfRecords(actor, kind, direction))
      yield step.map((share) => toRecordShare(kind, share));
  }
}

/** A short list as one step. */
async function* whole(read: () => Promise<readonly object[]>): Steps {
  yield await read();
}

/** What comes one by one; a project may have a long list of ids. */
async function* single<T>(records: AsyncGenerator<T>, toRecord: (record: T) => object): Steps {
  for await (const record of records) yield [toRecord(record)];
}

/** A list of a device; an empty one where the device or actuator was removed or given away since it was read. */
async function unlessGone<T>(read: () => Promise<T[]>): Promise<T[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refusal && (error.code === 'not-found' || error.code === 'forbidden')) return [];
    throw error;
  }
}
