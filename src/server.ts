// The only place where parts are wired. Starts everything in order; closes it in the reverse order.
import pino, { type Logger } from 'pino';
import { type Clock, systemClock } from './base/clock.ts';
import { type Ids, randomIds } from './base/ids.ts';
import type { Config } from './config/config.ts';
import { limits } from './config/limits.ts';
import { Actuators } from './domain/actuators/actuators.ts';
import { Feed } from './domain/datapoints/feed.ts';
import { History } from './domain/datapoints/history.ts';
import { Ingest } from './domain/datapoints/ingest.ts';
import { Writer } from './domain/datapoints/writer.ts';
import { DeviceDirectory } from './domain/devices/device-directory.ts';
import { Devices } from './domain/devices/devices.ts';
import { DropLog } from './domain/devices/drop-log.ts';
import { Permissions } from './domain/permissions/permission.ts';
import { Sensors } from './domain/sensors/sensors.ts';
import { Logins } from './domain/users/logins.ts';
import { Passwords } from './domain/users/passwords.ts';
import { Users } from './domain/users/users.ts';
import { HttpServer } from './http/http-server.ts';
import { Tokens } from './http/tokens.ts';
import { Metrics } from './metrics.ts';
import { SqlDeviceStore } from './storage/sql/device-store.ts';
import { SqlDropStore } from './storage/sql/drop-store.ts';
import { SqlSecretStore } from './storage/sql/secret-store.ts';
import { SqlUserStore } from './storage/sql/user-store.ts';
import { type EmbeddedStore, openEmbeddedStore } from './storage/sqlite/open.ts';

/** What tests may turn: time, randomness, where words to people and logs go. */
export interface Surroundings {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Logger;
  /** Called once with the password that was made up for admin at first start. */
  readonly onFirstPassword?: (password: string) => void;
}

export interface RunningServer {
  /** The ports that are open: `http`, `mqtt`, and `mqtts` where a certificate is set. */
  readonly ports: { readonly http: number; readonly mqtt?: number; readonly mqtts?: number };
  readonly store: EmbeddedStore;
  /** Resolves when nothing waits to be stored. */
  idle(): Promise<void>;
  /** Takes no more work, finishes what was accepted, closes. Once. */
  close(): Promise<void>;
}

export async function startServer(config: Config, surroundings: Surroundings = {}): Promise<RunningServer> {
  const clock = surroundings.clock ?? systemClock;
  const ids = surroundings.ids ?? randomIds;
  const log = surroundings.log ?? pino({ level: config.logLevel, base: null }, pino.destination(2));
  const store = await openEmbeddedStore(config.dataDir);
  const domain = await wireDomain({ config, clock, ids, store, surroundings });
  const metrics = new Metrics({ store, writer: domain.writer });
  let ready = true;
  const tls = config.tlsCert === '' ? undefined : { certFile: config.tlsCert, keyFile: config.tlsKey };
  const http = await HttpServer.create({
    options: {
      host: config.httpHost,
      port: config.httpPort,
      tls,
      corsOrigins: config.corsOrigins,
      trustProxy: config.trustProxy,
      baseUrl: config.baseUrl,
    },
    log,
    users: domain.users,
    guest: domain.guest,
    services: domain.services,
    metrics: metrics.registry,
    isReady: () => ready,
  });
  const httpPort = await http.start();
  return {
    ports: { http: httpPort },
    store,
    idle: () => domain.writer.idle(),
    close: async () => {
      ready = false;
      await http.close();
      await domain.writer.idle();
      await store.close();
    },
  };
}

async function wireDomain(parts: {
  config: Config;
  clock: Clock;
  ids: Ids;
  store: EmbeddedStore;
  surroundings: Surroundings;
}) {
  const { config, clock, ids, store } = parts;
  const deviceStore = new SqlDeviceStore(store.registry);
  const passwords = new Passwords({ ids, lengthMin: config.passwordLengthMin });
  const users = new Users({ store: new SqlUserStore(store.registry), passwords, clock, ids });
  const { guest } = await users.ensureFirst({ password: () => firstPassword(config, ids, parts.surroundings) });
  const permissions = new Permissions({ guestAccess: config.guestAccess });
  const directory = new DeviceDirectory({ store: deviceStore, partsMax: limits.directoryPartsMax });
  const feed = new Feed();
  const writer = new Writer({ store: store.datapoints, feed, bounds: limits });
  const key = await new SqlSecretStore(store.registry).getOrCreate('token-key', () => ids.bytes(32));
  const known = { directory, permissions, clock };
  const drops = new DropLog({ ...known, store: new SqlDropStore(store.registry), waitingMax: limits.dropsWaitingMax });
  const services = {
    devices: new Devices({ ...known, store: deviceStore, users, defaultVisibility: config.defaultVisibility }),
    sensors: new Sensors({ ...known, store: deviceStore }),
    actuators: new Actuators({ ...known, store: deviceStore, feed }),
    ingest: new Ingest({ ...known, writer, store: store.datapoints, receiptHours: limits.idempotencyHours }),
    history: new History({ ...known, store: store.datapoints }),
    drops,
    logins: new Logins({ users, passwords, clock, ids }),
    tokens: new Tokens({ key, clock }),
  };
  return { users, guest, permissions, directory, feed, writer, services };
}

function firstPassword(config: Config, ids: Ids, surroundings: Surroundings): string {
  if (config.adminPassword !== '') return config.adminPassword;
  const password = Buffer.from(ids.bytes(15)).toString('base64url').slice(0, Math.max(20, config.passwordLengthMin));
  surroundings.onFirstPassword?.(password);
  return password;
}
