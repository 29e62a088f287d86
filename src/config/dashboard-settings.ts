// The settings that the dashboard reads before anybody has signed in. Called by server.ts for each such request.
import type { Config } from './config.ts';

/** What the dashboard must know before sign-in. */
export interface DashboardSettings {
  readonly selfRegistration: boolean;
  readonly guestAccess: string;
  readonly defaultVisibility: string;
  readonly passwordLengthMin: number;
  readonly tiles?: { readonly url: string; readonly attribution: string };
  /** Open ports: plain MQTT may be off, and MQTT over TLS needs a certificate. */
  readonly mqtt: { readonly port?: number; readonly tlsPort?: number };
}

/** @param now.ports the open ports; undefined while the service starts. */
export function dashboardSettingsOf(
  config: Config,
  now: {
    readonly guestAccess: string;
    readonly ports: { readonly mqtt?: number; readonly mqtts?: number } | undefined;
  },
): DashboardSettings {
  const { guestAccess, ports } = now;
  const { selfRegistration, defaultVisibility, passwordLengthMin, tileUrl, tileAttribution } = config;
  return {
    ...{ selfRegistration, guestAccess, defaultVisibility, passwordLengthMin },
    ...(tileUrl === '' ? {} : { tiles: { url: tileUrl, attribution: tileAttribution } }),
    mqtt: {
      ...(ports?.mqtt === undefined ? {} : { port: ports.mqtt }),
      ...(ports?.mqtts === undefined ? {} : { tlsPort: ports.mqtts }),
    },
  };
}
