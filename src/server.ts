// The only place where parts are wired. Starts everything in order, and closes it in reverse order.
import { fileURLToPath } from 'node:url';
import pino, { type Logger } from 'pino';
import { type Ids, randomIds } from './base/ids.ts';
import type { Log } from './base/log.ts';
import { TrustedProxies } from './base/network/trusted-proxies.ts';
import { type Clock, systemClock } from './base/time/clock.ts';
import { EventLoopMonitor } from './base/time/event-loop-monitor.ts';
import type { Config } from './config/config.ts';
import { dashboardSettingsOf } from './config/dashboard-settings.ts';
import { limits } from './config/limits.ts';
import { providersOf } from './config/provider-settings.ts';
import { makeSenders } from './delivery/senders.ts';
import { Actuators } from './domain/actuators/actuators.ts';
import { Callers } from './domain/callers/callers.ts';
import { Feed } from './domain/datapoints/feed.ts';
import { History } from './domain/datapoints/history/history.ts';
import { Imports } from './domain/datapoints/import/imports.ts';
import { Bulk } from './domain/datapoints/ingest/bulk.ts';
import { Ingest } from './domain/datapoints/ingest/ingest.ts';
import { StorageQuota } from './domain/datapoints/ingest/storage-quota.ts';
import { Writer } from './domain/datapoints/ingest/writer.ts';
import { RetentionJob } from './domain/datapoints/retention-job.ts';
import { DeviceDirectory } from './domain/devices/device-directory.ts';
import { Devices } from './domain/devices/devices.ts';
import { DropLog } from './domain/devices/drop-log.ts';
import { Sharing } from './domain/devices/sharing.ts';
import { ClientIds } from './domain/gateways/client-ids.ts';
import { Gateways } from './domain/gateways/gateways.ts';
import { Presence } from './domain/gateways/presence.ts';
import { Live } from './domain/live/live.ts';
import type { Sender } from './domain/notifications/outbox/sender.ts';
import { DryRun } from './domain/notifications/rules/dry-run.ts';
import type { Channel } from './domain/notifications/rules/notification.ts';
import { Notifications } from './domain/notifications/rules/notifications.ts';
import { Permissions } from './domain/permissions/permission.ts';
import { PermissionQueries } from './domain/permissions/permission-queries.ts';
import type { Engine } from './domain/ports/engine.ts';
import { Projects } from './domain/projects/projects.ts';
import { GuestShares } from './domain/quotas/guest-shares.ts';
import { PushCharges } from './domain/quotas/push-charges.ts';
import { Quotas } from './domain/quotas/quotas.ts';
import { Sensors } from './domain/sensors/sensors.ts';
import { isCommonPassword } from './domain/users/password-list.ts';
import { Passwords } from './domain/users/passwords.ts';
import { SessionRevocations } from './domain/users/session-revocations.ts';
import { Users } from './domain/users/users.ts';
import { WebhookKeys } from './domain/users/webhook-keys.ts';
import { openEngine } from './engines/open.ts';
import { readDashboard } from './http/dashboard/dashboard-files.ts';
import { HttpServer } from './http/server/http-server.ts';
import { TokenKeys } from './http/sign-in/token-keys.ts';
import { Tokens } from './http/sign-in/tokens.ts';
import { Metrics } from './metrics.ts';
import { DuplicateDetector } from './mqtt/duplicate-detector.ts';
import { MqttServer } from './mqtt/mqtt-server.ts';
import { Certificates } from './wiring/certificates.ts';
import { wireAccounts } from './wiring/wire-accounts.ts';
import { hostOf, httpOptions, openMetrics, warnOfPlainText } from './wiring/wire-edges.ts';
import { openMqttSessions } from './wiring/wire-mqtt.ts';
import { wireRules } from './wiring/wire-rules.ts';
import { wireSharedBudgets } from './wiring/wire-shared-budgets.ts';

/** What tests replace: time, randomness, log and senders. */
export interface ServerOverrides {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Logger;
  /** Replaces the senders made from the settings. */
  readonly senders?: ReadonlyMap<Channel, Sender>;
  /** Called once with the password generated for admin at first start. */
  readonly onFirstPassword?: (password: string) => void;
  /** Folder of the built dashboard. */
  readonly dashboardFolder?: string;
}

/** The open ports: `mqtt` unless switched off, `mqtts` with a certificate, `metrics` where enabled. */
export interface Ports {
  readonly http: number;
  readonly mqtt?: number;
  readonly mqtts?: number;
  readonly metrics?: number;
}

export interface RunningServer {
  readonly ports: Ports;
  readonly engine: Engine;
  /**
   * Resolves when everything is stored and its effects are done: rules, messages that may be sent, deliveries to
   * subscribers.
   */
  idle(): Promise<void>;
  /** Accepts no more work, finishes what was accepted, and closes. Once. */
  close(): Promise<void>;
  /** Generates the API reference, so that its first request holds up nobody. Once, after the start. */
  prepareReference(): void;
  /** Reloads the TLS certificate, where there is one. */
  reloadCertificate(): Promise<void>;
}

/** @throws Refusal `conflict` when the data folder is in use; Error when a port is. */
export async function startServer(config: Config, overrides: ServerOverrides = {}): Promise<RunningServer> {
  const clock = overrides.clock ?? systemClock;
  const ids = overrides.ids ?? randomIds;
  const log = overrides.log ?? pino({ level: config.logLevel, base: null }, pino.destination(2));
  const engine = await openEngine(config, { clock, log });
  const closers: (() => Promise<void>)[] = [() => engine.close()];
  // Closes what was started, last first; once, however often it is called.
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closers.reduceRight((before, step) => before.then(step), Promise.resolve());
    return closing;
  };
  try {
    let ports: Ports | undefined;
    const ownPorts = () => Object.values(ports ?? {});
    const domain = await wireDomain({ ownPorts, config, clock, ids, engine, log, overrides });
    engine.observe({
      onFailure: (error, { fatal }) => onStorageFailure({ error, fatal, log }),
      onDamaged: (what) => log.error({ what }, 'the storage is damaged'),
    });
    closers.push(async () => domain.storageQuota.close());
    closers.push(() => domain.retention.close());
    domain.retention.start();
    await domain.storageQuota.start();
    closers.push(() => domain.rules.outbox.close());
    closers.push(() => domain.rules.watcher.close());
    closers.push(() => domain.charges.flush());
    closers.push(() => domain.writer.idle());
    closers.push(() => domain.presence.flush());
    closers.push(() => domain.services.keys.idle());
    await domain.services.guestAccess.start();
    const proxies = new TrustedProxies(config.trustProxy);
    const certificates = Certificates.open(config, { clock, log });
    closers.push(async () => certificates?.close());
    const mqtt = await makeMqtt({ config, clock, log, engine, domain, proxies, certificates });
    const { writer, storageQuota, retention, rules, byteBudget } = domain;
    const eventLoop = new EventLoopMonitor(log);
    closers.push(async () => eventLoop.close());
    const metrics = new Metrics({
      engine,
      writer,
      storageQuota,
      retention,
      byteBudget,
      mqtt: mqtt.counts,
      rules,
      eventLoop,
    });
    const unreadyBecause = () => (closing === undefined ? engine.figures.refusesBecause : 'not taking work');
    const trouble = () =>
      domain.storageQuota.fullReason && `no room for more datapoints: ${domain.storageQuota.fullReason}`;
    const files = await readDashboard(overrides.dashboardFolder ?? builtDashboard);
    if (files === undefined) log.warn('the dashboard is not built: `npm ci` or `npm run prepare` builds it');
    const http = await HttpServer.create({
      options: httpOptions(config, certificates),
      proxies,
      log,
      clock,
      ...domain,
      metrics: metrics.registry,
      unreadyBecause,
      trouble,
      dashboard: {
        files,
        facts: () => dashboardSettingsOf(config, { guestAccess: domain.permissions.guestAccess, ports }),
      },
    });
    // Together, because MQTT over WebSocket holds connections of the HTTP server.
    closers.push(async () => void (await Promise.all([http.close(), mqtt.close()])));
    await domain.rules.outbox.start();
    await domain.rules.watcher.start();
    const httpPort = await http.start();
    ports = { http: httpPort, ...(await mqtt.start(http.server)), ...(await openMetrics(config, metrics, closers)) };
    await certificates?.start([http.server, mqtt.tlsServer]);
    warnOfPlainText(config, log);
    // Last, because the start itself blocks the event loop while nobody waits for it.
    eventLoop.start();
    const idle = async () => {
      await domain.writer.idle();
      await mqtt.idle();
      await domain.rules.watcher.idle();
      await domain.rules.outbox.idle();
      // Delivers the actuator settings that the outbox made.
      await mqtt.idle();
      await domain.retention.idle();
      await domain.presence.idle();
      await domain.charges.flush();
      await domain.services.keys.idle();
    };
    const reloadCertificate = async () => certificates?.reload();
    const prepareReference = () => http.prepareReference();
    return { ports, engine, idle, close, prepareReference, reloadCertificate };
  } catch (error) {
    await close();
    throw error;
  }
}

const builtDashboard = fileURLToPath(new URL('../dashboard/dist', import.meta.url));

async function makeMqtt(parts: {
  config: Config;
  clock: Clock;
  log: Logger;
  engine: Engine;
  domain: Domain;
  proxies: TrustedProxies;
  certificates: Certificates | undefined;
}): Promise<MqttServer> {
  const { config, clock, log, engine, domain, proxies, certificates } = parts;
  const duplicates = new DuplicateDetector({ max: limits.duplicateMemoryMax, windowMs: limits.duplicateWindowMs });
  duplicates.restore(await engine.commitLog.listFingerprints());
  const stored = openMqttSessions({
    ...{ clock, log, engine, guest: domain.guest, quotas: domain.services.quotas },
    sessionExpiryMs: config.mqttSessionExpiryMs,
    server: () => server,
  });
  const server: MqttServer = new MqttServer({
    ...domain,
    ...domain.services,
    options: {
      host: hostOf(config),
      port: config.mqttPort,
      proxyProtocol: config.mqttProxyProtocol,
      tls: certificates && { options: certificates.options, port: config.mqttTlsPort },
    },
    stored,
    duplicates,
    proxies,
    clock,
    log,
  });
  return server;
}

function onStorageFailure({
  error,
  fatal,
  log,
}: {
  readonly error: Error;
  readonly fatal: boolean;
  readonly log: Logger;
}): void {
  if (!fatal) {
    log.error({ err: error }, 'background maintenance of the store failed; it is tried again');
    return;
  }
  // Without its writer the service can keep no promise, so it ends and is restarted by its supervisor.
  log.fatal({ err: error }, 'the writer thread of the store has ended');
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

type Domain = Awaited<ReturnType<typeof wireDomain>>;

async function wireDomain(parts: {
  ownPorts: () => readonly number[];
  config: Config;
  clock: Clock;
  ids: Ids;
  engine: Engine;
  log: Log;
  overrides: ServerOverrides;
}) {
  const { config, clock, ids, engine } = parts;
  const { stores, commitLog, series } = engine;
  const callers = new Callers();
  const sharedOut = wireSharedBudgets({ config, callers, clock, log: parts.log });
  const { passing } = sharedOut;
  const passwords = new Passwords({ ids, lengthMin: config.passwordLengthMin, common: config.commonPasswords });
  const users = new Users({ store: stores.users, passwords, clock, ids, callers });
  const { guest } = await users.ensureFirst({ password: () => firstPassword(parts) });
  // Guests are admitted once their access is known (GuestAccessSetting.start).
  const permissions = new Permissions({ guestAccess: 'none' });
  const revocations = new SessionRevocations();
  const quotas = new Quotas({ store: stores.quotas, users, permissions, log: parts.log });
  await quotas.start({ user: config.quotas, guest: config.guestQuotas });
  const feed = new Feed((err) =>
    parts.log.error({ err }, 'a datapoint was stored, but not every reader of the feed was told'),
  );
  const storageQuota = new StorageQuota({
    measure: () => engine.usage(),
    compact: () => engine.seal(),
    bytesMax: config.dataBytesMax,
    onChange: (isFull) => stores.quotas.setGrowthAllowed(!isFull),
    bounds: limits,
    log: parts.log,
  });
  const writer = new Writer({ commitLog, feed, storageQuota, bounds: limits, passing });
  const retention = new RetentionJob({
    series,
    retentionStore: stores.retention,
    coordination: engine.coordination,
    defaultDays: config.retentionDays,
    bounds: limits,
    clock,
    log: parts.log,
  });
  const directory = new DeviceDirectory({
    store: stores.devices,
    bytesMax: limits.directoryBytesMax,
    pushesCommitted: () => writer.append({ pushes: [] }),
  });

  await stores.secrets.getOrCreate('token-key', () => ids.bytes(32));
  const tokenKeys = new TokenKeys({ find: () => stores.secrets.getRotated('token-key'), clock });
  const rotationKey = await stores.secrets.getOrCreate('session-key', () => ids.bytes(32));
  const webhookKeys = new WebhookKeys(await stores.secrets.getOrCreate('webhook-key', () => ids.bytes(32)));
  const webhook = {
    keys: webhookKeys,
    networks: config.webhookNetworks,
    ownPorts: parts.ownPorts,
    baseUrl: config.baseUrl,
  };
  const senders = parts.overrides.senders ?? makeSenders({ clock, ...providersOf(config), webhook });
  const shares = new GuestShares({ store: stores.quotas, clock });
  const known = { directory, permissions, clock, shares };
  const charging = { store: stores.quotas, permissions, clock, log: parts.log };
  const charges = new PushCharges({ ...charging, strangerBytesMax: config.strangerBytes });
  quotas.onChange((user) => charges.refresh(user));
  const drops = new DropLog({ ...known, store: stores.drops, waitingMax: limits.dropsWaitingMax });
  const pushing = { ...known, writer, commitLog, receiptHours: limits.idempotencyHours };
  const ingest = new Ingest({ ...pushing, charges });
  const gatewayStore = stores.gateways;
  const presence = new Presence({ gatewayStore, permissions, clock });
  const { defaultVisibility } = config;
  const live = new Live({ ...known, feed, series, bounds: limits, passing });
  live.start();
  const devices = new Devices({ ...known, store: stores.devices, users, defaultVisibility });
  const clientIds = new ClientIds();
  const gateways = new Gateways({ ...known, gatewayStore, presence, clientIds, users, defaultVisibility });
  const accounts = {
    ...{
      config,
      clock,
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
  const actuators = new Actuators({ ...known, store: stores.devices, feed });
  const rules = wireRules({ ...known, config, ids, engine, users, feed, actuators, senders, log: parts.log });
  const sensors = new Sensors({ ...known, store: stores.devices });
  const services = {
    live,
    devices,
    sensors,
    actuators,
    ingest,
    bulk: new Bulk({ ...pushing, ingest }),
    imports: new Imports({ ...pushing, series, ingest, sensors }),
    history: new History({ ...known, series }),
    gateways,
    projects: new Projects({ permissions, shares, ids, projectStore: stores.projects }),
    quotas,
    sharing: new Sharing({ ...known, store: stores.devices, users }),
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
      ruleChanges: rules.watcher,
      dryRun: new DryRun({ ...known, series }),
    }),
    tokens: new Tokens({ keys: tokenKeys, clock }),
    ...wireAccounts(accounts),
  };
  return {
    users,
    callers,
    ...sharedOut,
    revocations,
    guest,
    ...{ permissions, shares },
    directory,
    presence,
    charges,
    clientIds,
    feed,
    writer,
    storageQuota,
    retention,
    drops,
    rules,
    senders,
    services,
  };
}

interface FirstPasswordParts {
  readonly config: Config;
  readonly ids: Ids;
  readonly overrides: ServerOverrides;
  readonly log: Log;
}

/** The initial password of the account admin. */
function firstPassword({ config, ids, overrides, log }: FirstPasswordParts): string {
  if (config.adminPassword !== '') {
    // Only warns: the operator could switch the rule off anyway, and a service that does not start helps nobody.
    if (config.commonPasswords === 'refuse' && isCommonPassword(config.adminPassword))
      log.warn({}, 'DUNDUN_ADMIN_PASSWORD is one of the most common passwords: change the password of admin');
    return config.adminPassword;
  }
  // Three random bytes give four characters; at least 120 random bits.
  const password = Buffer.from(ids.bytes(Math.ceil(Math.max(20, config.passwordLengthMin) / 4) * 3)).toString(
    'base64url',
  );
  overrides.onFirstPassword?.(password);
  return password;
}
