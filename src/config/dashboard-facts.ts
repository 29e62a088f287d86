// What of the settings the dashboard is told before anybody signs in. Called by server.ts for each page that asks.
import type { DashboardFacts } from '../http/dashboard.ts';
import type { Config } from './config.ts';

/** `ports` are those that are open; undefined while the service starts. */
export function dashboardFactsOf(
  config: Config,
  ports: { readonly mqtt: number; readonly mqtts?: number } | undefined,
): DashboardFacts {
  const { selfRegistration, guestAccess, defaultVisibility, passwordLengthMin, tileUrl, tileAttribution } = config;
  return {
    ...{ selfRegistration, guestAccess, defaultVisibility, passwordLengthMin },
    ...(tileUrl === '' ? {} : { tiles: { url: tileUrl, attribution: tileAttribution } }),
    mqtt: { port: ports?.mqtt ?? config.mqttPort, ...(ports?.mqtts === undefined ? {} : { tlsPort: ports.mqtts }) },
  };
}
