// Serves metrics on a separate port (DUNDUN_METRICS_PORT) without a token, for a private network. Opened by
// wiring/wire-edges.ts; on the service's own port they are for admins and API keys only (health.ts).
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { SecurityHeaders } from '../../base/network/security-headers.ts';
import { AcceptedSockets } from '../../base/network/sockets.ts';
import { limits } from '../../config/limits.ts';

export class MetricsServer {
  readonly #server: Server;
  readonly #accepted: AcceptedSockets;
  readonly #options: { readonly host: string; readonly port: number };

  constructor(parts: {
    readonly options: { readonly host: string; readonly port: number };
    readonly metrics: MetricsRegistry;
    readonly securityHeaders: SecurityHeaders;
  }) {
    const { metrics, securityHeaders } = parts;
    this.#options = parts.options;
    this.#server = createServer(
      { headersTimeout: limits.metricsMsMax, requestTimeout: limits.metricsMsMax },
      (request, response) => {
        request.resume();
        const path = (request.url ?? '').split('?')[0];
        const isRead = request.method === 'GET' || request.method === 'HEAD';
        if (path !== '/metrics' || !isRead) {
          response.writeHead(path === '/metrics' ? 405 : 404, { 'content-type': 'text/plain; charset=utf-8' });
          response.end(path === '/metrics' ? 'Only GET and HEAD.\n' : 'There is /metrics here and nothing else.\n');
          return;
        }
        metrics.metrics().then(
          (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
          () => response.writeHead(500).end(),
        );
      },
    );
    securityHeaders.addTo(this.#server);
    this.#server.maxConnections = limits.metricsConnectionsMax;
    this.#accepted = new AcceptedSockets(this.#server);
  }

  /** Starts to listen; returns the port. @throws Error when the port is in use. */
  async start(): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#options, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#accepted.cutAll();
    await closed;
  }
}
