// Wires the domain: creates the services of each noun over the ports of the engine. Called by server.ts before the
// servers listen.
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { Tracing } from '../base/tracing.ts';
import type { Config } from '../config/config.ts';
import { limits } from '../config/limits.ts';
import { providersOf } from '../config/provider-settings.ts';
import { makeSenders } from '../delivery/senders.ts';
import { ActuatorHistory } from '../domain/actuators/actuator-history.ts';
import { Actuators } from '../domain/actuators/actuators.ts';
import { DeliveryMarks } from '../domain/actuators/delivery-marks.ts';
import { Downlinks } from '../domain/actuators/downlinks.ts';
import { AlarmChanges } from '../domain/alarms/alarm-changes.ts';

import { Callers } from '../domain/callers/callers.ts';
import { MqttClients } from '../domain/clients/mqtt-clients.ts';
import { OwnClients } from '../domain/clients/own-clients.ts';
import { Corrections } from '../domain/datapoints/corrections.ts';
import { Feed } from '../domain/datapoints/feed.ts';
import { committedPushes, publishFollowed } from '../domain/datapoints/followed-pushes.ts';
import { FutureDatapoints } from '../domain/datapoints/history/future-datapoints.ts';
import { History } from '../domain/datapoints/history/history.ts';
import { LastValues } from '../domain/datapoints/history/last-values.ts';
import { Imports } from '../domain/datapoints/import/imports.ts';
import { Bulk } from '../domain/datapoints/ingest/bulk.ts';
import { FutureDated } from '../domain/datapoints/ingest/future-dated.ts';
import { Ingest } from '../domain/datapoints/ingest/ingest.ts';
import { StorageQuota } from '../domain/datapoints/ingest/storage-quota.ts';
import { Writer } from '../domain/datapoints/ingest/writer.ts';
import { RetentionJob } from '../domain/datapoints/retention-job.ts';
import type { DeviceId } from '../domain/devices/device.ts';
import { DeviceDirectory } from '../domain/devices/device-directory.ts';
import { Devices } from '../domain/devices/devices.ts';
import { DropLog } from '../domain/devices/drop-log.ts';
import { RenameRate } from '../domain/devices/former-ids/rename-rate.ts';
import { Renaming } from '../domain/devices/former-ids/renaming.ts';
import { RecordSharing } from '../domain/devices/record-sharing.ts';
import { Sharing } from '../domain/devices/sharing.ts';
import { ClientIds } from '../domain/gateways/client-ids.ts';
import { Gateways } from '../domain/gateways/gateways.ts';
import { Presence } from '../domain/gateways/presence.ts';
import { RefusedCalls } from '../domain/gateways/refused-calls.ts';
import { Live } from '../domain/live/live.ts';
import { Nodes } from '../domain/nodes/nodes.ts';
import type { Sender } from '../domain/notifications/outbox/sender.ts';
import { AnnouncedRuleChanges } from '../domain/notifications/rules/announced-rule-changes.ts';
import { DryRun } from '../domain/notifications/rules/dry-run.ts';
import type { Channel } from '../domain/notifications/rules/notification.ts';
import { Notifications } from '../domain/notifications/rules/notifications.ts';
import { Permissions } from '../domain/permissions/permission.ts';
import { PermissionQueries } from '../domain/permissions/permission-queries.ts';
import type { Engine } from '../domain/ports/engine.ts';
import { Projects } from '../domain/projects/projects.ts';
import { GuestShares } from '../domain/quotas/guest-shares.ts';
import { PushCharges } from '../domain/quotas/push-charges.ts';
import { Quotas } from '../domain/quotas/quotas.ts';
import { SensorRenaming } from '../domain/sensors/sensor-renaming.ts';
import { Sensors } from '../domain/sensors/sensors.ts';
import { isCommonPassword } from '../domain/users/password-list.ts';
import { Passwords } from '../domain/users/passwords.ts';
import { SessionRevocations } from '../domain/users/session-revocations.ts';
import type { User } from '../domain/users/user.ts';
import { Users } from '../domain/users/users.ts';
import { WebhookKeys } from '../domain/users/webhook-keys.ts';
import { TokenKeys } from '../http/sign-in/token-keys.ts';
import { Tokens } from '../http/sign-in/tokens.ts';
import { traceSenders } from '../tracing/traced-senders.ts';
import { wireAccountMails } from './wire-account-mails.ts';
import { wireAccounts } from './wire-accounts.ts';
import { wireAlarms } from './wire-alarms.ts';
import { linkOrigin, wireRules } from './wire-rules.ts';
import { wireSharedBudgets } from './wire-shared-budgets.ts';

interface Overrides {
  readonly senders?: ReadonlyMap<Channel, Sender>;
  readonly onFirstPassword?: (password: string) => void;
}

/** Everything that the servers (HTTP, MQTT, metrics) are given. */
export type Domain = Awaited<ReturnType<typeof wireDomain>>;

/** Creates the services of the domain over the ports of an engine, and what they share. */
export async function wireDomain(parts: {
  ownPorts: () => readonly number[];
  config: Config;
  clock: Clock;
  clocks: ClockWatch;
  ids: Ids;
  engine: Engine;
  log: Log;
  tracing?: Tracing | undefined;
  overrides: Overrides;
}) {
  const { config, clock, clocks, ids, engine } = parts;
  const { stores, commitLog, series, coordination } = engine;
  const callers = new Callers();
  const sharedOut = wireSharedBudgets({ config, callers, clock, log: parts.log });
  const { passing } = sharedOut;
  const passwords = new Passwords({ ids, lengthMin: config.passwordLengthMin, common: config.commonPasswords });
  const users = new Users({ store: stores.users, passwords, clock, ids, callers, coordination });
  const guest = await makeFirstUsers(users, parts);
  // Nobody is admitted as guest until their access is known (GuestAccessSetting.start).
  const permissions = new Permissions({ guestAccess: 'none' });
  const revocations = new SessionRevocations({ coordination });
  const quotas = new Quotas({ store: stores.quotas, users, permissions, coordination, log: parts.log });
  await quotas.start({ user: config.quotas, guest: config.guestQuotas });
  const feed = new Feed((err) =>
    parts.log.error({ err }, 'a datapoint was stored, but not every reader of the feed was told'),
  );
  const storageQuota = new StorageQuota({
    measure: () => engine.usage(),
    compact: () => engine.seal(),
    waitingBytes: () => writer.waitingBytes,
    storedBytesMax: config.dataBytesMax,
    onFullOrFree: (isFull) => stores.quotas.setGrowthAllowed(!isFull),
    bounds: limits,
    log: parts.log,
  });
  const writer: Writer = new Writer({ commitLog, feed, storageQuota, bounds: limits, passing });
  const retention = new RetentionJob({
    series,
    retentionStore: stores.retention,
    coordination,
    defaultDays: config.retentionDays,
    bounds: limits,
    clock: clocks,
    log: parts.log,
  });
  // This empty append fails together with the pushes before it (such as when the disk is full). They are settled then
  // too: none was stored.
  const pushesSettled = () => writer.append({ pushes: [] }).catch(() => {});
  const directory = new DeviceDirectory({
    ...{ store: stores.devices, formerIds: stores.formerIds, ages: clocks.forAge },
    bytesMax: limits.directoryBytesMax,
    pushesSettled,
    onFormerEnded: async (device) => {
      await rules.watcher.reloadWatching([device]);
      await coordination.announce({ kind: 'device-ids-changed', devices: [device] });
    },
    coordination,
  });

  const committedPushesOf = committedPushes({
    directory,
    sensorRefsOf: (sensors) => stores.watch.sensorRefsOf(sensors),
  });
  publishFollowed(commitLog, { feed, committedPushesOf, room: () => writer.roomForOthers() });
  await stores.secrets.getOrCreate('token-key', () => ids.bytes(32));
  const tokenKeys = new TokenKeys({ find: () => stores.secrets.getRotated('token-key'), clock: clocks.forExpiry });
  const rotationKey = await stores.secrets.getOrCreate('session-key', () => ids.bytes(32));
  const webhookKeys = new WebhookKeys(await stores.secrets.getOrCreate('webhook-key', () => ids.bytes(32)));
  const webhook = {
    keys: webhookKeys,
    networks: config.webhookNetworks,
    ownPorts: parts.ownPorts,
    baseUrl: config.baseUrl,
  };
  const { tracing } = parts;
  const untraced = parts.overrides.senders ?? makeSenders({ clock, ...providersOf(config), webhook });
  const senders = tracing === undefined ? untraced : traceSenders(untraced, tracing);
  const shares = new GuestShares({ store: stores.quotas, clock });
  const known = { directory, permissions, clock, clocks, ages: clocks.forAge, shares };
  const charging = { store: stores.quotas, permissions, clock, log: parts.log };
  const charges = new PushCharges({ ...charging, strangerBytesMax: config.strangerBytes });
  quotas.onChange((user) => charges.refresh(user));
  const drops = new DropLog({ ...known, store: stores.drops, waitingMax: limits.dropsWaitingMax });
  const pushing = { ...known, writer, commitLog, receiptHours: limits.idempotencyHours };
  const ingest = new Ingest({ ...pushing, charges, repeatMs: config.repeatMs });
  const gatewayStore = stores.gateways;
  const presence = new Presence({ gatewayStore, permissions, clock, others: coordination.questions });
  const { defaultVisibility } = config;
  const live = new Live({ ...known, feed, series, bounds: limits, passing });
  live.start();
  const devices = new Devices({ ...known, store: stores.devices, users, defaultVisibility });
  const clientIds = new ClientIds({ coordination });
  const ownClients = new OwnClients({ users, clientIds, log: parts.log });
  const mqttClients = new MqttClients({ users, own: ownClients, others: coordination.questions });
  const refusedCalls = new RefusedCalls({ clock, inRowMax: config.refusedInRowMax });
  const recordSharing = new RecordSharing({ directory, permissions, users, recordShares: stores.recordShares });
  const gateways = new Gateways({
    ...known,
    recordSharing,
    refusedCalls,
    gatewayStore,
    presence,
    clientIds,
    users,
    coordination,
    defaultVisibility,
  });
  const accounts = {
    ...{
      config,
      clock,
      clocks,
      ids,
      engine,
      guest,
      log: parts.log,
      permissions,
      passwords,
      users,
      devices,
      gateways,
      revocations,
      webhookKeys,
    },
    callers,
    ...{ directory, rotationKey },
  };
  const settingStore = stores.actuatorSettings;
  const marks = new DeliveryMarks(settingStore);
  const downlinks = new Downlinks({ ...known, settingStore, marks });
  const actuators = new Actuators({ ...known, store: stores.devices, feed, downlinks, ids, coordination });
  const { links, accountMails } = wireAccountMails({ config, clock, clocks, ids, engine, users });
  const alarmChanges = new AlarmChanges({ coordination });
  const rules = wireRules({
    ...known,
    alarmChanges,
    accountMails,
    config,
    ids,
    engine,
    users,
    feed,
    actuators,
    senders,
    pushesSettled,
    log: parts.log,
  });
  const alarming = wireAlarms({
    ...{ ...known, ids, engine, users, feed, gateways, presence, storageQuota, log: parts.log },
    changes: alarmChanges,
  });
  const sensors = new Sensors({
    ...{ ...known, store: stores.devices, log: parts.log },
    beforeMoved: () => rules.watcher.settle(),
    onMoved: async (sensor) => {
      rules.watcher.forgetValue(sensor);
      await coordination.announce({ kind: 'datapoints-changed', sensor });
    },
  });
  const history = new History({ ...known, series });
  const lastValues = new LastValues({ series, clock: clocks, habits: alarming.sensorHabits });
  const futureDated = new FutureDated({ clocks, log: parts.log });
  feed.subscribe((committed) => futureDated.note(committed));
  const accountServices = wireAccounts({ ...accounts, links, mails: rules.accountOutbox });
  const retainedRemoved: ((count: number) => void)[] = [];
  const followers = {
    whileRenaming: async (from: DeviceId, rename: () => Promise<readonly string[]>) => {
      let changed: readonly string[] = [];
      await rules.watcher.whileRenaming(from, async () => {
        changed = await rename();
        return changed;
      });
      await coordination.announce({ kind: 'device-ids-changed', devices: [from] });
      for (const rule of changed) await coordination.announce({ kind: 'rule-changed', rule });
    },
    keysChanged: () => accountServices.keys.changed(),
    retainedRemoved: (count: number) => {
      for (const listener of retainedRemoved) listener(count);
    },
  };
  const rate = new RenameRate({ clock, counts: coordination.counts });
  const renamed = { ...known, store: stores.formerIds, log: parts.log, followers, rate };
  const services = {
    clock,
    live,
    devices,
    sensors,
    renaming: new Renaming(renamed),
    sensorRenaming: new SensorRenaming(renamed),
    actuators,
    actuatorHistory: new ActuatorHistory({ ...known, settingStore, marks }),
    ingest,
    ...{ writer, callers, refusedCalls, mqttClients, standing: coordination.standing },
    ...{ alarms: alarming.alarms, alarmStreams: alarming.alarmStreams },
    bulk: new Bulk({ ...pushing, ingest }),
    imports: new Imports({ ...pushing, series, ingest, sensors }),
    corrections: new Corrections({
      ...{ ...known, series, coordination, store: stores.devices, log: parts.log },
      onChanged: (sensor) => rules.watcher.forgetValue(sensor),
    }),
    ...{ history, lastValues },
    future: new FutureDatapoints({ history, clocks }),
    gateways,
    projects: new Projects({
      ...{ permissions, shares, ids, recordSharing },
      projectStore: stores.projects,
      formerIds: stores.formerIds,
    }),
    quotas,
    nodes: new Nodes({ permissions, register: engine.nodes }),
    sharing: new Sharing({ ...known, store: stores.devices, recordShares: stores.recordShares, users }),
    permissionQueries: new PermissionQueries({
      permissions,
      protectedRecordStore: stores.protectedRecords,
    }),
    drops,
    messages: rules.messages,
    notifications: new Notifications({
      store: stores.notifications,
      ...{ permissions, shares },
      ids,
      clock,
      ruleChanges: new AnnouncedRuleChanges({ ruleChanges: rules.watcher, coordination }),
      dryRun: new DryRun({ ...known, series, origin: linkOrigin(config) }),
    }),
    tokens: new Tokens({ keys: tokenKeys, clock: clocks.forExpiry }),
    ...accountServices,
  };
  return {
    clocks,
    users,
    ...{ callers, refusedCalls },
    ...sharedOut,
    revocations,
    guest,
    ...{ permissions, shares },
    directory,
    onRetainedRemoved: (listener: (count: number) => void) => retainedRemoved.push(listener),
    ...{ presence, ownClients },
    charges,
    clientIds,
    feed,
    committedPushesOf,
    writer,
    storageQuota,
    retention,
    futureDated,
    drops,
    downlinks,
    rules,
    alarming,
    senders,
    services,
  };
}

interface FirstPasswordParts {
  readonly config: Config;
  readonly ids: Ids;
  readonly overrides: Overrides;
  readonly log: Log;
}

/**
 * Creates the users of a new installation, and returns guest. `onFirstPassword` gets a generated password if admin
 * was created.
 */
async function makeFirstUsers(users: Users, { config, ids, overrides, log }: FirstPasswordParts): Promise<User> {
  // Three random bytes give four characters; 20 characters have 120 random bits.
  const generate = () =>
    Buffer.from(ids.bytes(Math.ceil(Math.max(20, config.passwordLengthMin) / 4) * 3)).toString('base64url');
  const isGiven = config.adminPassword !== '';
  const password = isGiven ? config.adminPassword : generate();
  const { guest, adminMade } = await users.ensureFirst({ password });
  if (!adminMade) return guest;
  if (!isGiven) overrides.onFirstPassword?.(password);
  // Only warns: the operator could switch the check off anyway, and a service that does not start helps nobody.
  else if (config.commonPasswords === 'refuse' && isCommonPassword(password))
    log.warn({}, 'DUNDUN_ADMIN_PASSWORD is one of the most common passwords: change the password of admin');
  return guest;
}
