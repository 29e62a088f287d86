// The options of the HTTP server (address, port, TLS), and the port of the metrics. Called by server.ts alone.
import type { Log } from '../base/log.ts';
import type { Certificates } from '../base/network/certificates.ts';
import type { SecurityHeaders } from '../base/network/security-headers.ts';
import type { Config } from '../config/config.ts';
import type { HttpOptions } from '../http/http-server.ts';
import { MetricsServer } from '../http/server/metrics-server.ts';
import type { Metrics } from '../metrics/metrics.ts';

export function httpOptions(config: Config, certificates: Certificates | undefined): HttpOptions {
  const { httpPort: port, corsOrigins, baseUrl, docsAccess } = config;
  const guardsDocs = docsAccess === 'guests';
  return { host: hostOf(config), port, corsOrigins, baseUrl, guardsDocs, tls: certificates?.options };
}

/**
 * The host to listen on. `localhost` may resolve to two addresses, for which Fastify would open a second server that
 * is not tracked.
 */
export function hostOf({ httpHost }: Config): string {
  return httpHost === 'localhost' ? '127.0.0.1' : httpHost;
}

export async function openMetrics(
  { metricsPort: port, metricsHost: host }: Config,
  {
    metrics,
    securityHeaders,
    closers,
  }: {
    readonly metrics: Metrics;
    readonly securityHeaders: SecurityHeaders;
    readonly closers: (() => Promise<void>)[];
  },
): Promise<{ readonly metrics?: number }> {
  if (port === undefined) return {};
  const server = new MetricsServer({ options: { host, port }, metrics: metrics.registry, securityHeaders });
  closers.push(() => server.close());
  return { metrics: await server.start() };
}

export function warnOfPlainText(config: Config, log: Log): void {
  const isLoopback = /^(127\.|::1$|localhost$)/.test(config.httpHost);
  if (config.tlsCert !== '' || isLoopback) return;
  log.warn(
    { host: config.httpHost },
    'HTTP and MQTT are not encrypted: set DUNDUN_TLS_CERT and DUNDUN_TLS_KEY, or put a TLS proxy before them',
  );
}
