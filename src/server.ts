// The only place where parts are wired. Starts everything in order; closes it in the reverse order.
import pino, { type Logger } from 'pino';
import { type Clock, systemClock } from './base/clock.ts';
import { type Ids, randomIds } from './base/ids.ts';
import type { Log } from './base/log.ts';
import type { Config } from './config/config.ts';
import { limits } from './config/limits.ts';
import { providersOf } from './config/provider-settings.ts';
import { makeSenders } from './delivery/senders.ts';
import { Actuators } from './domain/actuators/actuators.ts';
import { Bulk } from './domain/datapoints/bulk.ts';
import { Feed } from './domain/datapoints/feed.ts';
import { History } from './domain/datapoints/history.ts';
import { Ingest } from './domain/datapoints/ingest.ts';
import { Writer } from './domain/datapoints/writer.ts';
import { DeviceDirectory } from './domain/devices/device-directory.ts';
import { Devices } from './domain/devices/devices.ts';
import { DropLog } from './domain/devices/drop-log.ts';
import { Sharing } from './domain/devices/sharing.ts';
import { Gateways } from './domain/gateways/gateways.ts';
import { Presence } from './domain/gateways/presence.ts';
import { Keys } from './domain/keys/keys.ts';
import { Live } from './domain/live/live.ts';
import { Courier } from './domain/notifications/courier.ts';
import { Evaluator } from './domain/notifications/evaluator.ts';
import { MessageMaker } from './domain/notifications/message-maker.ts';
import { Messages } from './domain/notifications/messages.ts';
import type { Channel } from './domain/notifications/notification.ts';
import { Notifications } from './domain/notifications/notifications.ts';
import { Outbox } from './domain/notifications/outbox.ts';
import { Rehearsal } from './domain/notifications/rehearsal.ts';
import { RuleIndex } from './domain/notifications/rule-index.ts';
import type { Sender } from './domain/notifications/sender.ts';
import { Watcher } from './domain/notifications/watcher.ts';
import { Permissions } from './domain/permissions/permission.ts';
import { PermissionQueries } from './domain/permissions/permission-queries.ts';
import { Projects } from './domain/projects/projects.ts';
import { Sensors } from './domain/sensors/sensors.ts';
import { Accounts } from './domain/users/accounts.ts';
import { Endings } from './domain/users/endings.ts';
import { Logins } from './domain/users/logins.ts';
import { Passwords } from './domain/users/passwords.ts';
import { Registrations } from './domain/users/registrations.ts';
import { Renewals } from './domain/users/renewals.ts';
import { Users } from './domain/users/users.ts';
import { WebhookKeys } from './domain/users/webhook-keys.ts';
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
import { SqlKeyStore } from './storage/sql/key-store.ts';
import { SqlMessageStore } from './storage/sql/message-store.ts';
import { SqlNotificationStore } from './storage/sql/notification-store.ts';
import { SqlProjectStore } from './storage/sql/project-store.ts';
import { SqlRenewalStore } from './storage/sql/renewal-store.ts';
import { SqlSecretStore } from './storage/sql/secret-store.ts';
import { SqlUserStore } from './storage/sql/user-store.ts';
import { SqlWatchStore } from './storage/sql/watch-store.ts';
import { SqliteMqttPersistence } from './storage/sqlite/mqtt-persistence.ts';
import { type EmbeddedStore, openEmbeddedStore } from './storage/sqlite/open.ts';

/** What tests may turn: time, randomness, where words to people and logs go. */
export interface Surroundings {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Logger;
  /** In place of those that the settings make. */
  readonly senders?: ReadonlyMap<Channel, Sender>;
  /** Called once with the password that was made up for admin at first start. */
  readonly onFirstPassword?: (password: string) => void;
}

export interface RunningServer {
  /** The ports that are open: `http`, `mqtt`, and `mqtts` where a certificate is set. */
  readonly ports: { readonly http: number; readonly mqtt: number; readonly mqtts?: number };
  readonly store: EmbeddedStore;
  /** Resolves when nothing waits to be stored. */
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
    closers.push(() => domain.rules.outbox.close());
    closers.push(() => domain.rules.watcher.close());
    closers.push(() => domain.writer.idle());
    closers.push(() => domain.presence.flush());
    closers.push(() => domain.services.keys.idle());
    const mqtt = await makeMqtt({ config, clock, log, store, domain });
    const metrics = new Metrics({ store, writer: domain.writer, mqtt: mqtt.counts });
    const isReady = () => closing === undefined;
    const http = await HttpServer.create({
      options: httpOptions(config),
      log,
      clock,
      ...domain,
      metrics: metrics.registry,
      isReady,
    });
    // Together, because MQTT over WebSocket holds connections of the HTTP server.
    closers.push(async () => void (await Promise.all([http.close(), mqtt.close()])));
    await domain.rules.outbox.start();
    await domain.rules.watcher.start();
    const httpPort = await http.start();
    const ports = { http: httpPort, ...(await mqtt.start(http.server)) };
    warnOfPlainText(config, log);
    const idle = async () => {
      await domain.writer.idle();
      await mqtt.idle();
      await domain.rules.watcher.idle();
      await domain.rules.outbox.idle();
      await domain.presence.idle();
      await domain.services.keys.idle();
    };
    return { ports, store, idle, close };
  } catch (error) {
    await close();
    throw error;
  }
}

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
  const feed = new Feed();
  const writer = new Writer({ store: store.datapoints, feed, bounds: limits });
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
  const services = {
    live,
    devices,
    sensors: new Sensors({ ...known, store: deviceStore }),
    actuators,
    ingest,
    bulk: new Bulk({ ...pushing, ingest }),
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
    drops,
    rules,
    senders,
    services,
  };
}

/** Who makes notifications fire. */
function wireRules(parts: {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly store: EmbeddedStore;
  readonly directory: DeviceDirectory;
  readonly permissions: Permissions;
  readonly users: Users;
  readonly feed: Feed;
  readonly actuators: Actuators;
  readonly senders: ReadonlyMap<Channel, Sender>;
}) {
  const { config, store } = parts;
  const messageStore = new SqlMessageStore(store.registry);
  const courier = new Courier({ ...parts, messageStore, paidPerDayMax: config.paidMessagesPerDay });
  const outbox = new Outbox({ ...parts, messageStore, courier });
  const watching = {
    ...parts,
    index: new RuleIndex(),
    store: store.datapoints,
    watchStore: new SqlWatchStore(store.registry),
    messages: new MessageMaker(parts),
    oldHours: config.notifyOldHours,
    onMessages: () => outbox.wake(),
  };
  const evaluator = new Evaluator(watching);
  const watcher = new Watcher({ ...watching, evaluator });
  return { watcher, outbox, messages: new Messages({ ...watching, messageStore }) };
}

/** Who may sign in, and how. */
function wireAccounts(parts: {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: EmbeddedStore;
  readonly permissions: Permissions;
  readonly passwords: Passwords;
  readonly users: Users;
  readonly userStore: SqlUserStore;
  readonly devices: Devices;
  readonly gateways: Gateways;
  readonly endings: Endings;
  readonly webhookKeys: WebhookKeys;
}) {
  const { config, clock, store, userStore } = parts;
  const logins = new Logins(parts);
  const { selfRegistration } = config;
  const registrations = new Registrations({ clock });
  return {
    logins,
    accounts: new Accounts({ ...parts, store: userStore, logins, registrations, selfRegistration }),
    keys: new Keys({ ...parts, store: new SqlKeyStore(store.registry) }),
    renewals: new Renewals({ ...parts, store: new SqlRenewalStore(store.registry) }),
  };
}

function firstPassword(config: Config, ids: Ids, surroundings: Surroundings): string {
  if (config.adminPassword !== '') return config.adminPassword;
  // Four characters of three random bytes; 120 random bits at least.
  const password = Buffer.from(ids.bytes(Math.ceil(Math.max(20, config.passwordLengthMin) / 4) * 3)).toString(
    'base64url',
  );
  surroundings.onFirstPassword?.(password);
  return password;
}
