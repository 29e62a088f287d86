// The settings that the dashboard reads before anybody has signed in. Called by server.ts for each such request.
import type { Config } from './config.ts';
import { mailsLinks } from './provider-settings.ts';

/** What the dashboard must know before sign-in. */
export interface DashboardSettings {
  /** What the clock of the service shows, milliseconds since 1970 UTC; absent while it is in doubt. */
  readonly time?: number;
  readonly selfRegistration: boolean;
  /** Whether links are mailed: for forgotten passwords, and to confirm addresses. */
  readonly mailsLinks: boolean;
  readonly guestAccess: string;
  readonly defaultVisibility: string;
  readonly passwordLengthMin: number;
  readonly tiles?: { readonly url: string; readonly attribution: string };
  /** Open ports: plain MQTT may be off, and MQTT over TLS needs a certificate. */
  readonly mqtt: { readonly port?: number; readonly tlsPort?: number };
  /** The channels of messages that have a provider. */
  readonly channels: readonly string[];
}

/**
 * @param now.channels the channels of messages that have a provider.
 * @param now.ports the open ports; undefined while the service starts.
 * @param now.timeMs what the clock shows; undefined while it is in doubt.
 */
export function dashboardSettingsOf(
  config: Config,
  now: {
    readonly guestAccess: string;
    readonly timeMs: number | undefined;
    readonly channels: readonly string[];
    readonly ports: { readonly mqtt?: number; readonly mqtts?: number } | undefined;
  },
): DashboardSettings {
  const { guestAccess, ports, timeMs, channels } = now;
  const { selfRegistration, defaultVisibility, passwordLengthMin, tileUrl, tileAttribution } = config;
  return {
    mailsLinks: mailsLinks(config),
    ...{ selfRegistration, guestAccess, defaultVisibility, passwordLengthMin, channels },
    ...(timeMs === undefined ? {} : { time: timeMs }),
    ...(tileUrl === '' ? {} : { tiles: { url: tileUrl, attribution: tileAttribution } }),
    mqtt: {
      ...(ports?.mqtt === undefined ? {} : { port: ports.mqtt }),
      ...(ports?.mqtts === undefined ? {} : { tlsPort: ports.mqtts }),
    },
  };
}
