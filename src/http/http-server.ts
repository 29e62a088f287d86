// The HTTP server: Fastify with what applies to all routes (contract 1), and the routes of each version.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyInstance, type FastifyListenOptions } from 'fastify';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Log } from '../base/log.ts';
import { Listening } from '../base/network/listening.ts';
import type { SecurityHeaders } from '../base/network/security-headers.ts';
import { AcceptedSockets, type ConnectionAdmission } from '../base/network/sockets.ts';
import type { TrustedProxies } from '../base/network/trusted-proxies.ts';
import { Refusal } from '../base/refusal.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { Tracing } from '../base/tracing.ts';
import { limits } from '../config/limits.ts';
import type { ByteBudget } from '../domain/callers/byte-budget.ts';
import type { Callers } from '../domain/callers/callers.ts';
import type { FairShare } from '../domain/callers/fair-share.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { RefusedCalls } from '../domain/gateways/refused-calls.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { User } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import { answerWithPage, type Dashboard, registerDashboard } from './dashboard/dashboard.ts';
import { registerHome } from './dashboard/home.ts';
import { registerDocs } from './docs/docs.ts';
import { guardDocs } from './docs/docs-access.ts';
import { registerOpenApi } from './docs/openapi.ts';
import { PushFastPath } from './fast-path/push-fast-path.ts';
import { registerAnswerBudget } from './lists/answer-budget.ts';
import { registerBodyParsers } from './server/bodies.ts';
import { registerCompression } from './server/compression.ts';
import { registerCors } from './server/cors.ts';
import { answerUnknownPath, makeErrorHandler } from './server/errors.ts';
import { answerBrokenRequest, answerConnect, answerUnmetExpectation, requireHost } from './server/framing.ts';
import { registerHealth } from './server/health.ts';
import { prepareOlderVersions } from './server/older-versions.ts';
import { RequestOrder } from './server/request-order.ts';
import { traceRequests } from './server/request-traces.ts';
import { trackRequests } from './server/request-work.ts';
import { isUpgrade } from './server/upgrades.ts';
import { makeValidatorCompiler } from './server/validation.ts';
import { watchMethods } from './server/wrong-method.ts';
import type { Services } from './services.ts';
import { Authentication } from './sign-in/auth.ts';
import { RefusalLoops } from './sign-in/refusal-loops.ts';
import { registerV1 } from './v1/api.ts';
import { registerV2 } from './v2/api.ts';
import { registerRootHeartbeats } from './v2/gateways.ts';

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: SecureContextOptions | undefined;
  /** True where the reference follows guest access. */
  readonly guardsDocs: boolean;
  readonly corsOrigins: readonly string[];
  readonly baseUrl: string;
}

export interface HttpParts {
  readonly options: HttpOptions;
  readonly proxies: TrustedProxies;
  readonly securityHeaders: SecurityHeaders;
  readonly log: Log;
  readonly users: Users;
  readonly callers: Callers;
  readonly byteBudget: ByteBudget;
  /** The memory for all data on its way in or out. */
  readonly passing: FairShare;
  readonly connections: ConnectionAdmission;
  readonly guest: User;
  readonly permissions: Permissions;
  readonly directory: DeviceDirectory;
  readonly refusedCalls: RefusedCalls;
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly services: Services;
  readonly metrics: MetricsRegistry;
  readonly tracing: Tracing | undefined;
  /** Why no work is accepted; undefined while it is. */
  readonly unreadyBecause: () => string | undefined;
  /** A condition that restricts the service without stopping it; undefined: none. */
  readonly restriction: () => string | undefined;
  readonly dashboard: Dashboard;
}

export class HttpServer {
  readonly #app: FastifyInstance;
  readonly #fastPath: PushFastPath;
  readonly #options: HttpOptions;
  readonly #sockets: AcceptedSockets;
  readonly #listening: Listening;

  private constructor(app: FastifyInstance, fastPath: PushFastPath, requestOrder: RequestOrder, parts: HttpParts) {
    this.#app = app;
    this.#fastPath = fastPath;
    this.#options = parts.options;
    this.#listening = new Listening(this.server, { allowHalfOpen: parts.options.tls === undefined, noDelay: true });
    this.#sockets = new AcceptedSockets(this.server, {
      connectionAdmission: parts.connections,
      isUnderWay: (socket) => requestOrder.isUnderWay(socket) || fastPath.isStoringOf(socket),
    });
  }

  static async create(parts: HttpParts): Promise<HttpServer> {
    const app = makeFastify(parts);
    knowClients(app, parts.proxies);
    traceRequests(app, parts);
    trackRequests(app);
    prepareOlderVersions(app);
    registerBodyParsers(app, { byteBudget: parts.byteBudget, corsOrigins: parts.options.corsOrigins });
    registerAnswerBudget(app, parts.passing);
    registerCompression(app);
    app.setValidatorCompiler(makeValidatorCompiler());
    app.setSerializerCompiler(() => JSON.stringify);
    const refusalLoops = new RefusalLoops(parts);
    app.setErrorHandler(makeErrorHandler(parts.log, (request, refusal) => refusalLoops.refused(request, refusal)));
    registerCors(app, parts.options.corsOrigins);
    const isClosing = refuseWhileClosing(app);
    const authentication = new Authentication({ ...parts, ...parts.services, clock: parts.clocks.forExpiry });
    authentication.register(app);
    refusalLoops.register(app);
    guardDocs(app, { ...parts, ...parts.services, isGuarded: parts.options.guardsDocs, authentication });
    const addWrongMethods = watchMethods(app);
    await registerOpenApi(app, parts.options);
    registerHealth(app, { ...parts, standing: parts.services.standing });
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
    answerHalfClosed(app.server as Server);
    const requestOrder = takeTurns(app, parts);
    parts.securityHeaders.addTo(app.server as Server);
    const fastPath = PushFastPath.open(app.server as Server, {
      ...parts,
      ...parts.services,
      authentication,
      isClosing,
    });
    app.addHook('preClose', () => fastPath.drained());
    await app.ready();
    return new HttpServer(app, fastPath, requestOrder, parts);
  }

  /** Node.js's server under Fastify, which MQTT over WebSocket shares. */
  get server(): Server {
    return this.#app.server as Server;
  }

  /** Starts to listen; returns the port. @throws Error when the port is in use. */
  start(): Promise<number> {
    const { host, port } = this.#options;
    // Through Fastify, which closes only servers it has opened itself. Its types do not declare `reusePort`, which it
    // passes on.
    return this.#listening.open({ host, port }, (options) => this.#app.listen(options as FastifyListenOptions));
  }

  /** Generates the OpenAPI document now, so that no request has to wait for it. */
  prepareReference(): void {
    this.#app.openApiDocument();
  }

  /**
   * Accepts no new requests and answers those in progress; senders that are not done in time are cut. Connections are
   * closed as soon as they are idle: clients keep them open for later requests, which would delay the stop.
   */
  async close(): Promise<void> {
    this.#listening.close();
    const sweep = setInterval(() => {
      this.#sockets.cutUseless();
      // Node.js takes a connection for idle while its push is in the fast path, or waits for it.
      if (!this.#fastPath.isBusy) this.server.closeIdleConnections();
    }, 50);
    // Includes upgraded connections, which Node.js's server no longer knows.
    const cut = setTimeout(() => this.#sockets.cutAll(), limits.drainMsMax);
    await this.#app.close();
    // Fastify waits only for connections that its own server has accepted.
    await this.#listening.closed();
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

/** Refuses new requests while the service stops. @returns whether it is stopping, as a function. */
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

/**
 * Lets clients close their half of a connection after the last request (RFC 9112 section 9.6) and still get answers.
 */
function answerHalfClosed(server: Server): void {
  // An undocumented option of Node.js.
  Object.assign(server, { httpAllowHalfOpen: true });
}

/** Sets `request.ip` to the address of the client, also behind trusted proxies. */
function knowClients(app: FastifyInstance, proxies: TrustedProxies): void {
  if (proxies.isEmpty) return;
  app.addHook('onRequest', (request, _reply, done) => {
    // Fastify's own would accept any text of the header as an address.
    Object.defineProperty(request, 'ip', { value: proxies.clientOfRequest(request.raw) });
    done();
  });
}

/** Makes requests of a connection wait for each other, also those that match no route. */
function takeTurns(app: FastifyInstance, { callers, proxies, securityHeaders }: HttpParts): RequestOrder {
  const server = app.server as Server;
  const requestOrder = RequestOrder.on(server, {
    wrap: (handle) => requireHost(app, handle),
    callerOf: (request) => callers.ofAddress(proxies.clientOfRequest(request)),
  });
  server.on('checkExpectation', (request, response) => {
    requestOrder.take({ request, response, handle: () => answerUnmetExpectation(app, request, response) });
  });
  server.on('connect', (request, socket) => {
    const { lines } = securityHeaders.ofRequest(request);
    answerConnect(app, { request, socket, lines });
  });
  server.removeAllListeners('clientError');
  server.on('clientError', (error, socket) =>
    answerBrokenRequest(app, { requestOrder, securityHeaders, error, socket: socket as Socket }),
  );
  return requestOrder;
}

function makeFastify(parts: HttpParts): FastifyInstance {
  const { tls } = parts.options;
  const { proxies } = parts;
  const handleError = makeErrorHandler(parts.log);
  // Ignores upgrades other than MQTT over WebSocket, as HTTP allows (RFC 9110 section 7.8).
  const ofNode = {
    shouldUpgradeCallback: isUpgrade,
    headersTimeout: limits.headMsMax,
    connectionsCheckingInterval: limits.requestsCheckedMs,
    // framing.ts checks it instead, and answers in the form of every refusal.
    requireHostHeader: false,
  } as never;
  return Fastify({
    // Requests are not logged, and Fastify's logger would add a tenth to the cost of a push; faults go to our log.
    logger: false,
    // Routes with larger bodies (datapoints, devices, projects, files) have a bound of their own.
    bodyLimit: limits.smallBodyBytesMax,
    requestTimeout: limits.requestMsMax,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: ofNode,
    // Proxies whose X-Forwarded-Proto and -Host are used; addresses are handled in knowClients.
    trustProxy: proxies.isEmpty ? false : (address: string) => proxies.trusts(address),
    // Deployed clients join addresses into `//api/…`.
    rewriteUrl: ({ url = '/' }) => (url.startsWith('//') ? url.replace(/^\/+/, '/') : url),
    genReqId: () => '',
    // Failures before a route is found are answered in the same form.
    frameworkErrors: handleError,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: limits.idCharsMax * 3 },
    ...(tls === undefined
      ? {}
      : { https: { ...tls, handshakeTimeout: limits.tlsHandshakeMsMax, ...(ofNode as object) } as never }),
  }) as unknown as FastifyInstance;
}
