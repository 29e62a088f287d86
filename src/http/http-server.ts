// The HTTP edge: Fastify with the rules that hold everywhere (contract 1), and the routes of each version.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Actor } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import { Authentication } from './auth.ts';
import { registerBodyParsers } from './bodies.ts';
import { registerCors } from './cors.ts';
import { answerWithPage, type Dashboard, registerDashboard } from './dashboard.ts';
import { registerDocs } from './docs.ts';
import { answerBrokenRequest, answerUnknownPath, makeErrorHandler } from './errors.ts';
import { registerHealth } from './health.ts';
import { registerHome } from './home.ts';
import { prepareOlderVersions } from './older-versions.ts';
import { registerOpenApi } from './openapi.ts';
import { PushLane } from './push-lane.ts';
import type { Services } from './routes.ts';
import { registerV1 } from './v1/api.ts';
import { registerV2 } from './v2/api.ts';
import { registerRootHeartbeats } from './v2/gateways.ts';
import { makeValidatorCompiler } from './validation.ts';
import { watchMethods } from './wrong-method.ts';

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: readonly string[];
  readonly baseUrl: string;
}

export interface HttpParts {
  readonly options: HttpOptions;
  readonly log: Log;
  readonly users: Users;
  readonly guest: Actor;
  readonly permissions: Permissions;
  readonly clock: Clock;
  readonly services: Services;
  readonly metrics: MetricsRegistry;
  readonly unreadyBecause: () => string | undefined;
  readonly trouble: () => string | undefined;
  readonly dashboard: Dashboard;
}

export class HttpServer {
  readonly #app: FastifyInstance;
  readonly #lane: PushLane;
  readonly #options: HttpOptions;

  private constructor(app: FastifyInstance, lane: PushLane, options: HttpOptions) {
    this.#app = app;
    this.#lane = lane;
    this.#options = options;
  }

  static async create(parts: HttpParts): Promise<HttpServer> {
    const app = makeFastify(parts);
    prepareOlderVersions(app);
    registerBodyParsers(app);
    app.setValidatorCompiler(makeValidatorCompiler());
    app.setSerializerCompiler(() => JSON.stringify);
    app.setErrorHandler(makeErrorHandler(parts.log));
    registerCors(app, parts.options.corsOrigins);
    const isClosing = refuseWhileClosing(app);
    const authentication = new Authentication({ ...parts, ...parts.services });
    authentication.register(app);
    const addWrongMethods = watchMethods(app);
    await registerOpenApi(app, parts.options);
    registerHealth(app, parts);
    registerHome(app, { hasDashboard: parts.dashboard.files !== undefined });
    registerDashboard(app, parts.dashboard);
    registerRootHeartbeats(app.withTypeProvider<TypeBoxTypeProvider>(), parts.services.gateways);
    await registerDocs(app);
    await app.register(
      (api, _options, done) => {
        registerV2(api.withTypeProvider<TypeBoxTypeProvider>(), parts.services);
        done();
      },
      { prefix: '/api/v2' },
    );
    await registerV1(app, parts.services, registerV2);
    addWrongMethods((request, reply) => {
      if (!answerWithPage(request, reply, parts.dashboard)) answerUnknownPath(request, reply);
    });
    const lane = PushLane.open(app.server as Server, { ...parts, ...parts.services, authentication, isClosing });
    app.addHook('preClose', () => lane.drained());
    await app.ready();
    return new HttpServer(app, lane, parts.options);
  }

  /** The server under Fastify, for what shares its port (MQTT over WebSocket). */
  get server(): Server {
    return this.#app.server as Server;
  }

  /** Starts to listen; the port it has. @throws Error when the port is in use. */
  async start(): Promise<number> {
    await this.#app.listen({ host: this.#options.host, port: this.#options.port });
    return (this.server.address() as AddressInfo).port;
  }

  /**
   * Takes no new requests and answers those it has; who is still sending one when the time is up is cut. A connection
   * is closed as soon as it idles: clients keep theirs for the next request, and would hold up the stop.
   */
  async close(): Promise<void> {
    const sweep = setInterval(() => {
      // To Node.js a connection idles while a push of it is in the lane.
      if (!this.#lane.isStoring) this.server.closeIdleConnections();
    }, 50);
    const cut = setTimeout(() => this.server.closeAllConnections(), limits.drainMsMax);
    await this.#app.close();
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

function isWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket';
}

/** What Node.js is told about its server. */
const ofNode = {
  // Other upgrades than that of MQTT over WebSocket are passed over, as HTTP allows (RFC 9110 section 7.8).
  shouldUpgradeCallback: isWebSocket,
};

/** While the service stops, new requests are refused in the shape of every refusal; gives whether it does. */
function refuseWhileClosing(app: FastifyInstance): () => boolean {
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onRequest', (_request, reply, done) => {
    if (!closing) return done();
    reply.header('connection', 'close');
    done(new Refusal('busy', 'The service is stopping. Send the request again shortly.', { retryAfterS: 5 }) as never);
  });
  return () => closing;
}

function makeFastify(parts: HttpParts): FastifyInstance {
  const { tls, trustProxy } = parts.options;
  const https = tls && { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const app: FastifyInstance = Fastify({
    // Requests are not logged, and a logger of Fastify's own would cost each push a tenth; faults go to ours.
    logger: false,
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestMsMax,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: ofNode as never,
    trustProxy: trustProxy.length === 0 ? false : [...trustProxy],
    genReqId: () => '',
    // What fails before a route is found is told in the same shape as everything else.
    frameworkErrors: makeErrorHandler(parts.log),
    clientErrorHandler: (error, socket) => answerBrokenRequest(app, error, socket),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: limits.idCharsMax * 3 },
    ...(https === undefined ? {} : { https: { ...https, ...ofNode } as never }),
  }) as unknown as FastifyInstance;
  app.server.maxConnections = limits.httpConnectionsMax;
  return app;
}
