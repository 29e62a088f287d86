// All settings of the service: name, default, reason, and parser. Values are checked at start, with all faults
// reported at once, and then frozen.
import type { Env } from './env.ts';
import { limits } from './limits.ts';
import { memoryBytesMin } from './memory-profile.ts';
import { type ProviderConfig, providerFaults, providerSettings } from './provider-settings.ts';
import { type QuotaConfig, quotaSettings } from './quota-settings.ts';
import {
  bytesFrom,
  durationOrOff,
  durationUpToHours,
  headers,
  httpUrl,
  integerBetween,
  networks,
  nonEmpty,
  oneOf,
  onOff,
  optional,
  origins,
  orOff,
  port,
  postgresUrl,
  type Setting,
  share,
  text,
  tileUrl,
  url,
} from './setting.ts';

export interface Config extends ProviderConfig, QuotaConfig {
  readonly httpPort: number;
  readonly httpHost: string;
  readonly mqttPort: number | undefined;
  readonly mqttProxyProtocol: boolean;
  readonly mqttTlsPort: number;
  readonly mqttSessionExpiryMs: number | undefined;
  readonly mqttServerReference: string;
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly mqttClientCa: string;
  readonly mqttClientCrl: string;
  readonly mqttClientCert: 'optional' | 'required';
  readonly hstsS: number | undefined;
  readonly baseUrl: string;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly dataBytesMax: number | undefined;
  readonly memoryBytesMax: number | undefined;
  readonly retentionDays: number | undefined;
  readonly clockSteadyMinutes: number;
  readonly adminPassword: string;
  readonly passwordLengthMin: number;
  readonly commonPasswords: 'refuse' | 'allow';
  readonly guestAccess: 'full' | 'push' | 'none' | undefined;
  readonly docsAccess: 'open' | 'guests';
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  readonly tracesUrl: string | undefined;
  readonly tracesHeaders: Readonly<Record<string, string>>;
  readonly tracesShare: number;
  readonly defaultVisibility: 'public' | 'private';
  readonly selfRegistration: boolean;
  readonly repeatMs: number | undefined;
  readonly refusedInRowMax: number | undefined;
  readonly notifyOldHours: number;
  readonly paidMessagesPerDay: number;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: readonly string[];
  readonly tileUrl: string;
  readonly tileAttribution: string;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
}

type Settings = { readonly [F in keyof Config]: Setting<Config[F]> };

/** The settings in the order in which `dundun config` prints them. */
export const settings: Settings = {
  httpPort: {
    env: 'DUNDUN_HTTP_PORT',
    fallback: '8080',
    reason:
      'Port of HTTP (HTTPS where a certificate is set), of the reference at /docs and of MQTT over WebSocket. 0 takes a free one.',
    parse: port,
  },
  httpHost: {
    env: 'DUNDUN_HTTP_HOST',
    fallback: '0.0.0.0',
    reason: 'Address that HTTP and MQTT listen on; 127.0.0.1 for this machine alone.',
    parse: nonEmpty,
  },
  mqttPort: {
    env: 'DUNDUN_MQTT_PORT',
    fallback: '1883',
    reason: 'Port of plain MQTT, which is not encrypted. 0 takes a free one; off: none.',
    parse: orOff(port),
  },
  mqttProxyProtocol: {
    env: 'DUNDUN_MQTT_PROXY_PROTOCOL',
    fallback: 'off',
    reason:
      'Whether every connection of plain MQTT begins with a header of the PROXY protocol (version 1 or 2) that names the client; on: those that do not, or do not come from DUNDUN_TRUST_PROXY, are cut.',
    parse: onOff,
  },
  mqttTlsPort: {
    env: 'DUNDUN_MQTT_TLS_PORT',
    fallback: '8883',
    reason: 'Port of MQTT over TLS; open where a certificate is set. 0 takes a free one.',
    parse: port,
  },
  mqttSessionExpiryMs: {
    env: 'DUNDUN_MQTT_SESSION_EXPIRY',
    fallback: '30d',
    reason:
      'How long the service keeps a persistent MQTT session, with its subscriptions and messages, after its client went away (30d, 12h, 90m); off: for ever. Those of guests end after an hour.',
    parse: durationOrOff,
  },
  mqttServerReference: {
    env: 'DUNDUN_MQTT_SERVER_REFERENCE',
    fallback: '',
    reason:
      'Where clients of MQTT 5 are to go when the service stops, such as other.example.org:1883: DISCONNECT names it, with the code 0x9C (use another server). Empty: it says 0x8B (server shutting down).',
    parse: text,
  },
  tlsCert: {
    env: 'DUNDUN_TLS_CERT',
    fallback: '',
    reason:
      'File with the TLS certificate chain (PEM). With DUNDUN_TLS_KEY it switches HTTPS and MQTT over TLS on. Both are read anew when they change, and on SIGHUP.',
    parse: text,
  },
  tlsKey: {
    env: 'DUNDUN_TLS_KEY',
    fallback: '',
    reason: 'File with the private key of the certificate (PEM).',
    parse: text,
  },
  mqttClientCa: {
    env: 'DUNDUN_MQTT_CLIENT_CA',
    fallback: '',
    reason:
      'File with the certificates (PEM) of the authority, up to its root, that signs those of clients of MQTT over TLS: who brings one is signed in as its common name says, <username> or <username>/<name of an API key>, never as admin. Empty: clients are asked for none. Read anew like DUNDUN_TLS_CERT.',
    parse: text,
  },
  mqttClientCrl: {
    env: 'DUNDUN_MQTT_CLIENT_CRL',
    fallback: '',
    reason:
      'File with the revocation lists (PEM) of each authority in DUNDUN_MQTT_CLIENT_CA; empty: none of its certificates is revoked. Read anew like DUNDUN_TLS_CERT: clients who came by a certificate are then cut, and come back if theirs is good. A list past its date lets nobody in by a certificate.',
    parse: text,
  },
  mqttClientCert: {
    env: 'DUNDUN_MQTT_CLIENT_CERT',
    fallback: 'optional',
    reason:
      'Whether clients of MQTT over TLS may come without a certificate, by password or as guests (optional), or not (required), where DUNDUN_MQTT_CLIENT_CA is set.',
    parse: oneOf('optional', 'required'),
  },
  hstsS: {
    env: 'DUNDUN_HSTS',
    fallback: 'off',
    reason:
      'Seconds for which browsers that came by HTTPS come by nothing else (Strict-Transport-Security), such as 31536000; off: they are told nothing. A host that speaks HTTPS no more cannot be reached by them for as long.',
    parse: orOff(integerBetween(1, 63_072_000)),
  },
  baseUrl: {
    env: 'DUNDUN_BASE_URL',
    fallback: '',
    reason:
      'Address under which users reach the service, for links; empty: the address of the request, and no links are mailed (forgotten passwords, confirmed addresses).',
    parse: url,
  },
  dataDir: {
    env: 'DUNDUN_DATA_DIR',
    fallback: './data',
    reason: 'Folder of all data. One server at a time uses it.',
    parse: nonEmpty,
  },
  databaseUrl: {
    env: 'DUNDUN_DATABASE_URL',
    fallback: '',
    reason:
      'A PostgreSQL database that holds all data in place of the folder, such as postgres://dundun:password@db.example/dundun?sslmode=verify-full. Several servers may share it. Empty: the folder.',
    secret: true,
    parse: optional(postgresUrl),
  },
  dataBytesMax: {
    env: 'DUNDUN_DATA_MAX_BYTES',
    fallback: '',
    reason:
      'Size of the data (20GB, 500MB) beyond which new datapoints are refused with 507; all else goes on. Empty: until the disk is nearly full.',
    parse: optional(bytesFrom(limits.dataBytesMin)),
  },
  memoryBytesMax: {
    env: 'DUNDUN_MEMORY_MAX',
    fallback: '',
    reason:
      'Memory that the process may take, with all its threads (256MB, 1GB): caches, queues and heaps are as large as it allows. Empty: 512MiB, or what the machine or its container has for it, if that is less.',
    parse: optional(bytesFrom(memoryBytesMin)),
  },
  retentionDays: {
    env: 'DUNDUN_RETENTION_DAYS',
    fallback: '',
    reason:
      'Days for which datapoints are kept, unless their sensor or device says otherwise (retention_days). Empty: for ever.',
    parse: optional(integerBetween(1, limits.retentionDaysMax)),
  },
  clockSteadyMinutes: {
    env: 'DUNDUN_CLOCK_STEADY_MINUTES',
    fallback: '5',
    reason:
      'Minutes for which the clock of the machine has to be steady, after a start and after it has jumped by more than a minute, before what is too old is deleted and notifications expire or are throttled by it again. 0: it is always trusted.',
    parse: integerBetween(0, limits.clockSteadyMinutesMax),
  },
  adminPassword: {
    env: 'DUNDUN_ADMIN_PASSWORD',
    fallback: '',
    reason:
      'Password of the account admin, set when it is made at first start; empty: one is made up and printed once.',
    secret: true,
    parse: text,
  },
  passwordLengthMin: {
    env: 'DUNDUN_PASSWORD_LENGTH_MIN',
    fallback: '8',
    reason: 'Characters a new password has at least.',
    parse: integerBetween(1, 256),
  },
  commonPasswords: {
    env: 'DUNDUN_COMMON_PASSWORDS',
    fallback: 'refuse',
    reason:
      'Whether a new password may be one of the ten thousand most common ones (allow) or not (refuse). Imported users and hashes are not asked.',
    parse: oneOf('refuse', 'allow'),
  },
  guestAccess: {
    env: 'DUNDUN_GUEST_ACCESS',
    fallback: '',
    reason:
      'What callers without a token may do: full (also change what guest owns), push (create, push and read what is public), none. Empty: what an admin chooses on the dashboard, and full until then.',
    parse: optional(oneOf('full', 'push', 'none')),
  },
  docsAccess: {
    env: 'DUNDUN_DOCS_ACCESS',
    fallback: 'open',
    reason:
      'Who reads the reference at /docs and /openapi.json: everybody (open), or where guest access is none only those who sign in (guests).',
    parse: oneOf('open', 'guests'),
  },
  metricsPort: {
    env: 'DUNDUN_METRICS_PORT',
    fallback: 'off',
    reason:
      'Port of /metrics without a token, for Prometheus. 0 takes a free one; off: only on the port of HTTP, for admins and for API keys with the scope metrics:view.',
    parse: orOff(port),
  },
  metricsHost: {
    env: 'DUNDUN_METRICS_HOST',
    fallback: '127.0.0.1',
    reason: 'Address that the port of the figures listens on; whoever reaches it reads them.',
    parse: nonEmpty,
  },
  tracesUrl: {
    env: 'DUNDUN_TRACES_URL',
    fallback: 'off',
    reason:
      'Where traces are sent to as OTLP over HTTP (OpenTelemetry), such as http://collector:4318/v1/traces; off: nothing is traced.',
    parse: orOff(httpUrl),
  },
  tracesHeaders: {
    env: 'DUNDUN_TRACES_HEADERS',
    fallback: '',
    reason: 'Headers that are sent with the traces, such as authorization=Bearer abc,x-team=farm.',
    secret: true,
    parse: headers,
  },
  tracesShare: {
    env: 'DUNDUN_TRACES_SHARE',
    fallback: '0.01',
    reason:
      'Which share of requests, appends to the log and messages is traced, from 0 to 1. A proxy of DUNDUN_TRUST_PROXY that traces a request decides for it.',
    parse: share,
  },
  defaultVisibility: {
    env: 'DUNDUN_DEFAULT_VISIBILITY',
    fallback: 'private',
    reason: 'Visibility of a record that a user creates without naming one.',
    parse: oneOf('private', 'public'),
  },
  selfRegistration: {
    env: 'DUNDUN_SELF_REGISTRATION',
    fallback: 'off',
    reason: 'Whether callers make accounts for themselves (on), or only admins make them (off).',
    parse: onOff,
  },
  repeatMs: {
    env: 'DUNDUN_REPEAT_WINDOW',
    fallback: '10m',
    reason:
      'How long an array that was pushed without an Idempotency-Key is remembered (10m, 1h; 24h at most): the same bytes of the same caller to the same path, every item with a timestamp, are stored once. off: not at all.',
    parse: durationUpToHours(limits.idempotencyHours),
  },
  refusedInRowMax: {
    env: 'DUNDUN_REFUSED_IN_ROW',
    fallback: '20',
    reason:
      'Calls with a token of a user from an address that are refused (403) one after the other before further ones, and logins, are slowed down with 429 and Retry-After. off: never.',
    parse: orOff(integerBetween(1, 1_000_000)),
  },
  notifyOldHours: {
    env: 'DUNDUN_NOTIFY_OLD_HOURS',
    fallback: '0',
    reason:
      'Notifications do not look at datapoints that were measured more than so many hours before they came; 0: they look at all.',
    parse: integerBetween(0, 87_600),
  },
  paidMessagesPerDay: {
    env: 'DUNDUN_PAID_MESSAGES_PER_DAY',
    fallback: '200',
    reason:
      'Paid messages (sms, voice, twitter) that count for one user on a day (UTC), as the one who sends or the one who gets them. Beyond: they are not sent.',
    parse: integerBetween(0, 1_000_000),
  },
  ...quotaSettings,
  corsOrigins: {
    env: 'DUNDUN_CORS_ORIGINS',
    fallback: '*',
    reason: 'Web origins that may call the API from a browser, separated by commas; * is all.',
    parse: origins,
  },
  trustProxy: {
    env: 'DUNDUN_TRUST_PROXY',
    fallback: '',
    reason:
      'Addresses (or networks, 10.0.0.0/8) of proxies, separated by commas, that are believed about whom they pass on: in X-Forwarded-For (the last entry that is none of these), -Proto and -Host, and in the PROXY protocol. Empty: none.',
    parse: networks,
  },
  tileUrl: {
    env: 'DUNDUN_TILE_URL',
    fallback: '',
    reason:
      'Where browsers get the tiles of maps, such as https://tile.example/{z}/{x}/{y}.png; empty: maps have lines of latitude and longitude alone, and no other host is asked.',
    parse: tileUrl,
  },
  tileAttribution: {
    env: 'DUNDUN_TILE_ATTRIBUTION',
    fallback: '',
    reason: 'Whose tiles they are, shown on maps as text; most who give tiles ask for it.',
    parse: text,
  },
  logLevel: {
    env: 'DUNDUN_LOG_LEVEL',
    fallback: 'info',
    reason: 'How much is logged.',
    parse: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  },
  ...providerSettings,
};

/** Thrown with all faults of the settings at once. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** @throws ConfigError naming all faults. */
export function parseConfig(env: Env): Config {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries(settings)) {
    const given = env[setting.env];
    const textValue = given === undefined || given === '' ? setting.fallback : given;
    try {
      values[field] = (setting as Setting<unknown>).parse(textValue);
    } catch (error) {
      const shown = setting.secret === true ? 'the value given' : JSON.stringify(textValue);
      faults.push(`${setting.env}: ${shown} ${(error as Error).message}.`);
    }
  }
  const config = values as unknown as Config;
  faults.push(...faultsTogether(config));
  if (faults.length > 0) throw new ConfigError(faults);
  return Object.freeze(config);
}

function faultsTogether(config: Config): string[] {
  const faults: string[] = [];
  if ((config.tlsCert === '') !== (config.tlsKey === ''))
    faults.push('DUNDUN_TLS_CERT and DUNDUN_TLS_KEY: set both, or none.');
  if (config.mqttClientCa !== '' && config.tlsCert === '')
    faults.push('DUNDUN_MQTT_CLIENT_CA: needs DUNDUN_TLS_CERT, because certificates of clients are a part of TLS.');
  if (config.mqttClientCa === '' && (config.mqttClientCrl !== '' || config.mqttClientCert === 'required'))
    faults.push('DUNDUN_MQTT_CLIENT_CRL and DUNDUN_MQTT_CLIENT_CERT: need DUNDUN_MQTT_CLIENT_CA.');
  const { adminPassword, passwordLengthMin } = config;
  if (adminPassword !== undefined && adminPassword !== '' && [...adminPassword].length < passwordLengthMin) {
    faults.push(
      `DUNDUN_ADMIN_PASSWORD: must have at least ${passwordLengthMin} characters (DUNDUN_PASSWORD_LENGTH_MIN).`,
    );
  }
  const ports = [config.httpPort, config.mqttPort, config.metricsPort].filter(
    (number) => number !== undefined && number !== 0,
  );
  if (config.mqttProxyProtocol === true && config.trustProxy?.length === 0)
    faults.push('DUNDUN_MQTT_PROXY_PROTOCOL: needs the addresses of the proxies in DUNDUN_TRUST_PROXY.');
  if (new Set(ports).size < ports.length)
    faults.push('DUNDUN_HTTP_PORT, DUNDUN_MQTT_PORT and DUNDUN_METRICS_PORT: must differ.');
  faults.push(...providerFaults(config));
  return faults;
}

/** Not settings of a server: read by command-line verbs that call a service, perhaps on another machine. */
const ofClients = ['DUNDUN_URL', 'DUNDUN_TOKEN', 'DUNDUN_PASSWORD'];

/** Names that begin like settings but are unknown. A start warns of them, because a misspelt setting has no effect. */
export function unknownSettings(env: Env): string[] {
  const known = new Set([...Object.values(settings).map((setting) => setting.env), 'DUNDUN_CONFIG', ...ofClients]);
  return Object.keys(env).filter((name) => name.startsWith('DUNDUN_') && !known.has(name));
}
