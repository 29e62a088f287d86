// All settings of the service, each with name, default, reason and parser: in groups, and here what is in none. Values are
// checked at start, with all faults reported at once, and then frozen.
import { type AccessConfig, accessFaults, accessSettings } from './access-settings.ts';
import { type DataConfig, dataFaults, dataSettings } from './data-settings.ts';
import type { Env } from './env.ts';
import { limits } from './limits.ts';
import { type ListenerConfig, listenerFaults, listenerSettings } from './listener-settings.ts';
import { type ProviderConfig, providerFaults, providerSettings } from './provider-settings.ts';
import { type QuotaConfig, quotaSettings } from './quota-settings.ts';
import {
  durationUpToHours,
  integerBetween,
  networks,
  oneOf,
  onOff,
  origins,
  orOff,
  type Setting,
  text,
  tileUrl,
} from './setting.ts';
import { type TelemetryConfig, telemetrySettings } from './telemetry-settings.ts';

export interface Config extends ListenerConfig, DataConfig, AccessConfig, TelemetryConfig, QuotaConfig, ProviderConfig {
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
  ...listenerSettings,
  ...dataSettings,
  ...accessSettings,
  ...telemetrySettings,
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
  const faults = [...listenerFaults(config), ...dataFaults(config), ...accessFaults(config)];
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
