// The only place where parts are wired. Starts everything in order; closes it in the reverse order.
import { fileURLToPath } from 'node:url';
import pino, { type Logger } from 'pino';
import { type Clock, systemClock } from './base/clock.ts';
import { type Ids, randomIds } from './base/ids.ts';
import type { Log } from './base/log.ts';
import type { Config } from './config/config.ts';
import { dashboardFactsOf } from './config/dashboard-facts.ts';
import { limits } from './config/limits.ts';
import { providersOf } from './config/provider-settings.ts';
import { makeSenders } from './delivery/senders.ts';
import { Actuators } from './domain/actuators/actuators.ts';
import { Bulk } from './domain/datapoints/bulk.ts';
import { Feed } from './domain/datapoints/feed.ts';
import { History } from './domain/datapoints/history.ts';
import { Imports } from './domain/datapoints/imports.ts';
import { Ingest } from './domain/datapoints/ingest.ts';
import { RetentionKeeper } from './domain/datapoints/retention-keeper.ts';
import { Room } from './domain/datapoints/room.ts';
import { Writer } from './domain/datapoints/writer.ts';
import { DeviceDirectory } from './domain/devices/device-directory.ts';
import { Devices } from './domain/devices/devices.ts';
import { DropLog } from './domain/devices/drop-log.ts';
import { Sharing } from './domain/devices/sharing.ts';
import { Gateways } from './domain/gateways/gateways.ts';
import { Presence } from './domain/gateways/presence.ts';
import { Live } from './domain/live/live.ts';
import type { Channel } from './domain/notifications/notification.ts';
import { Notifications } from './domain/notifications/notifications.ts';
import { Rehearsal } from './domain/notifications/rehearsal.ts';
import type { Sender } from './domain/notifications/sender.ts';
import { Permissions } from './domain/permissions/permission.ts';
import { PermissionQueries } from './domain/permissions/permission-queries.ts';
import { Projects } from './domain/projects/projects.ts';
import { Sensors } from './domain/sensors/sensors.ts';
import { Endings } from './domain/users/endings.ts';
import { Passwords } from './domain/users/passwords.ts';
import { Users } from './domain/users/users.ts';
import { WebhookKeys } from './domain/users/webhook-keys.ts';
import { readDashboard } from './http/dashboard-files.ts';
import { type HttpOptions, HttpServer } from './http/http-server.ts';
import { Tokens } from './http/tokens.ts';
import { Metrics } from './metrics.ts';
import { MqttServer } from './mqtt/mqtt-server.ts';
import { Repeats } from './mqtt/repeats.ts';
import { matchesForm } from './mqtt/topics.ts';
import { SqlDeviceStore } from './storage/sql/device-store.ts';
import { SqlDropStore } from './storage/sql/drop-store.ts';
import { SqlGatewayStore } from './storage/sql/gateway-store.ts';
import { SqlGuardedStore } from './storage/sql/guarded-store.ts';
import { SqlNotificationStore } from './storage/sql/notification-store.ts';
import { SqlProjectStore } from './storage/sql/project-store.ts';
import { SqlRetentionStore } from './storage/sql/retention-store.ts';
import { SqlSecretStore } from './storage/sql/secret-store.ts';
import { SqlUserStore } from './storage/sql/user-store.ts';
import { measureUsage } from './storage/sqlite/data-usage.ts';
import { SqliteMqttPersistence } from './storage/sqlite/mqtt-persistence.ts';
import { type EmbeddedStore, openEmbeddedStore } from './storage/sqlite/open.ts';
import { wireAccounts } from './wiring/wire-accounts.ts';
import { wireRules } from './wiring/wire-rules.ts';

/** What tests may turn: time, randomness, where words to people and logs go. */
export interface Surroundings {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Logger;
  /** In place of those that the settings make. */
  readonly senders?: ReadonlyMap<Channel, Sender>;
  /** Called once with the password that was made up for admin at first start. */
  readonly onFirstPassword?: (password: string) => void;
  /** Where the built dashboard lies. */
  readonly dashboardFolder?: string;
}

export interface RunningServer {
  /** The ports that are open: `http`, `mqtt`, and `mqtts` where a certificate is set. */
  readonly ports: { readonly http: number; readonly mqtt: number; readonly mqtts?: number };
  readonly store: EmbeddedStore;
  /** Resolves when nothing waits to be stored, and all that it sets off is done: rules, messages that may go, subscribers. */
  idle(): Promise<void>;
  /** Takes no more work, finishes what was accepted, closes. Once. */
  close(): Promise<void>;
}

/** @throws Refusal `conflict` when the data folder is in use; Error when a port is. */
export async function startServer(config: Config, surroundings: Surroundings = {}): Promise<RunningServer> {
  const clock = surroundings.clock ?? systemClock;
  const ids = surroundings.ids ?? randomIds;
  const log = surroundings.log ?? pino({ level: config.logLevel, base: null }, pino.destination(2));
  const store = await openEmbeddedStore(config.dataDir);
  const closers: (() => Promise<void>)[] = [() => store.close()];
  // Undoes what was started, last first; once, whoever asks.
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closers.reduceRight((before, step) => before.then(step), Promise.resolve());
    return closing;
  };
  try {
    const domain = await wireDomain({ config, clock, ids, store, log, surroundings });
    store.writer.onTrouble = (error, { fatal }) => onTrouble({ error, fatal, log });
    store.writer.onDamaged = (what) => log.error({ what }, 'the storage is damaged');
    for (const what of store.datapoints.damage) log.error({ what }, 'the storage is damaged');
    closers.push(async () => domain.room.close());
    closers.push(() => domain.retention.close());
    domain.retention.start();
    await domain.room.start();
    closers.push(() => domain.rules.outbox.close());
    closers.push(() => domain.rules.watcher.close());
    closers.push(() => domain.writer.idle());
    closers.push(() => domain.presence.flush());
    closers.push(() => domain.services.keys.idle());
    const mqtt = await makeMqtt({ config, clock, log, store, domain });
    const { writer, room, retention, rules } = domain;
    const metrics = new Metrics({ store, writer, room, retention, mqtt: mqtt.counts, rules });
    const unreadyBecause = () => (closing === undefined ? store.writer.refusesBecause : 'not taking work');
    const trouble = () => domain.room.fullBecause && `no room for more datapoints: ${domain.room.fullBecause}`;
    const files = await readDashboard(surroundings.dashboardFolder ?? builtDashboard);
    if (files === undefined) log.warn('the dashboard is not built: `npm ci` or `npm run prepare` builds it');
    let ports: RunningServer['ports'] | undefined;
    const http = await HttpServer.create({
      options: httpOptions(config),
      log,
      clock,
      ...domain,
      metrics: metrics.registry,
      unreadyBecause,
      trouble,
      dashboard: { files, facts: () => dashboardFactsOf(config, ports) },
    });
    // Together, because MQTT over WebSocket holds connections of the HTTP server.
    closers.push(async () => void (await Promise.all([http.close(), mqtt.close()])));
    await domain.rules.outbox.start();
    await domain.rules.watcher.start();
    const httpPort = await http.start();
    ports = { http: httpPort, ...(await mqtt.start(http.server)) };
    warnOfPlainText(config, log);
    const idle = async () => {
      await domain.writer.idle();
      await mqtt.idle();
      await domain.rules.watcher.idle();
      await domain.rules.outbox.idle();
      // What the outbox set goes out to subscribers.
      await mqtt.idle();
      await domain.retention.idle();
      await domain.presence.idle();
      await domain.services.keys.idle();
    };
    return { ports, store, idle, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const builtDashboard = fileURLToPath(new URL('../dashboard/dist', import.meta.url));

function httpOptions(config: Config): HttpOptions {
  const { httpHost: host, httpPort: port, corsOrigins, trustProxy, baseUrl } = config;
  return { host, port, corsOrigins, trustProxy, baseUrl, tls: tlsFiles(config) };
}

function tlsFiles(config: Config): { readonly certFile: string; readonly keyFile: string } | undefined {
  return config.tlsCert === '' ? undefined : { certFile: config.tlsCert, keyFile: config.tlsKey };
}

async function makeMqtt(parts: {
  config: Config;
  clock: Clock;
  log: Logger;
  store: EmbeddedStore;
  domain: Domain;
}): Promise<MqttServer> {
  const { config, clock, log, store, domain } = parts;
  const repeats = new Repeats({ max: limits.repeatMemoryMax, windowMs: limits.repeatWindowMs });
  repeats.restore(await store.datapoints.listPublishes());
  const persistence = new SqliteMqttPersistence({
    writer: store.writer,
    reader: store.reader,
    matchesForm,
    mayReceive: (username, topic) => server.mayKeep(username, topic),
  });
  const tls = tlsFiles(config);
  const server: MqttServer = new MqttServer({
    ...domain,
    ...domain.services,
    options: {
      host: config.httpHost,
      port: config.mqttPort,
      tls: tls && { ...tls, port: config.mqttTlsPort },
    },
    persistence,
    stored: persistence,
    repeats,
    clock,
    log,
  });
  return server;
}

function onTrouble({
  error,
  fatal,
  log,
}: {
  readonly error: Error;
  readonly fatal: boolean;
  readonly log: Logger;
}): void {
  if (!fatal) {
    log.error({ err: error }, 'keeping house in the store failed; it is tried again');
    return;
  }
  // Without its writer the service can keep no promise: better to end, and be started again.
  log.fatal({ err: error }, 'the writer of the store has ended');
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

function warnOfPlainText(config: Config, log: Logger): void {
  const isLoopback = /^(127\.|::1$|localhost$)/.test(config.httpHost);
  if (config.tlsCert !== '' || isLoopback) return;
  log.warn(
    { host: config.httpHost },
    'HTTP and MQTT are not encrypted: set DUNDUN_TLS_CERT and DUNDUN_TLS_KEY, or put a TLS proxy before them',
  );
}

type Domain = Awaited<ReturnType<typeof wireDomain>>;

async function wireDomain(parts: {
  config: Config;
  clock: Clock;
  ids: Ids;
  store: EmbeddedStore;
  log: Log;
  surroundings: Surroundings;
}) {
  const { config, clock, ids, store } = parts;
  const deviceStore = new SqlDeviceStore(store.registry);
  const passwords = new Passwords({ ids, lengthMin: config.passwordLengthMin });
  const userStore = new SqlUserStore(store.registry);
  const users = new Users({ store: userStore, passwords, clock, ids });
  const { guest } = await users.ensureFirst({ password: () => firstPassword(config, ids, parts.surroundings) });
  const permissions = new Permissions({ guestAccess: config.guestAccess });
  const endings = new Endings();
  const feed = new Feed((err) => parts.log.error({ err }, 'a datapoint was stored, and not all were told of it'));
  const room = new Room({
    measure: () => measureUsage(config.dataDir, store.reader),
    compact: () => store.writer.seal(),
    bytesMax: config.dataBytesMax,
    bounds: limits,
    log: parts.log,
  });
  const writer = new Writer({ store: store.datapoints, feed, room, bounds: limits });
  const retention = new RetentionKeeper({
    store: store.datapoints,
    retentionStore: new SqlRetentionStore(store.registry),
    defaultDays: config.retentionDays,
    bounds: limits,
    clock,
    log: parts.log,
  });
  const directory = new DeviceDirectory({
    store: deviceStore,
    partsMax: limits.directoryPartsMax,
    pushesCommitted: () => writer.append({ pushes: [] }),
  });
  const secrets = new SqlSecretStore(store.registry);
  const key = await secrets.getOrCreate('token-key', () => ids.bytes(32));
  const webhookKeys = new WebhookKeys(await secrets.getOrCreate('webhook-key', () => ids.bytes(32)));
  const webhook = { keys: webhookKeys, networks: config.webhookNetworks };
  const senders = parts.surroundings.senders ?? makeSenders({ clock, ...providersOf(config), webhook });
  const known = { directory, permissions, clock };
  const drops = new DropLog({ ...known, store: new SqlDropStore(store.registry), waitingMax: limits.dropsWaitingMax });
  const pushing = { ...known, writer, store: store.datapoints, receiptHours: limits.idempotencyHours };
  const ingest = new Ingest(pushing);
  const gatewayStore = new SqlGatewayStore(store.registry);
  const presence = new Presence({ gatewayStore, permissions, clock });
  const { defaultVisibility } = config;
  const live = new Live({ ...known, feed, store: store.datapoints, bounds: limits });
  live.start();
  const devices = new Devices({ ...known, store: deviceStore, users, defaultVisibility });
  const gateways = new Gateways({ ...known, gatewayStore, presence, users, defaultVisibility });
  const accounts = {
    ...{ config, clock, ids, store, permissions, passwords, users, userStore, devices, gateways, endings, webhookKeys },
  };
  const actuators = new Actuators({ ...known, store: deviceStore, feed });
  const rules = wireRules({ ...known, config, ids, store, users, feed, actuators, senders, log: parts.log });
  const sensors = new Sensors({ ...known, store: deviceStore });
  const services = {
    live,
    devices,
    sensors,
    actuators,
    ingest,
    bulk: new Bulk({ ...pushing, ingest }),
    imports: new Imports({ ...pushing, ingest, sensors }),
    history: new History({ ...known, store: store.datapoints }),
    gateways,
    projects: new Projects({ permissions, ids, projectStore: new SqlProjectStore(store.registry) }),
    sharing: new Sharing({ ...known, store: deviceStore, users }),
    permissionQueries: new PermissionQueries({ permissions, guardedStore: new SqlGuardedStore(store.registry) }),
    drops,
    messages: rules.messages,
    notifications: new Notifications({
      store: new SqlNotificationStore(store.registry),
      permissions,
      ids,
      clock,
      watcher: rules.watcher,
      rehearsal: new Rehearsal({ ...known, store: store.datapoints }),
    }),
    tokens: new Tokens({ key, clock }),
    ...wireAccounts(accounts),
  };
  return {
    users,
    endings,
    guest,
    permissions,
    directory,
    presence,
    feed,
    writer,
    room,
    retention,
    drops,
    rules,
    senders,
    services,
  };
}

/** Who makes notifications fire. */
function firstPassword(config: Config, ids: Ids, surroundings: Surroundings): string {
  if (config.adminPassword !== '') return config.adminPassword;
  // Four characters of three random bytes; 120 random bits at least.
  const password = Buffer.from(ids.bytes(Math.ceil(Math.max(20, config.passwordLengthMin) / 4) * 3)).toString(
    'base64url',
  );
  surroundings.onFirstPassword?.(password);
  return password;
}
