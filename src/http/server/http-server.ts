// The HTTP edge: Fastify with the rules that hold everywhere (contract 1), and the routes of each version.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyInstance,
  type FastifyListenOptions,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Registry as MetricsRegistry } from 'prom-client';
import type { Log } from '../../base/log.ts';
import { Listening } from '../../base/network/listening.ts';
import { AcceptedSockets, type ConnectionAdmission } from '../../base/network/sockets.ts';
import type { TrustedProxies } from '../../base/network/trusted-proxies.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { ByteBudget } from '../../domain/callers/byte-budget.ts';
import type { Callers } from '../../domain/callers/callers.ts';
import type { FairShare } from '../../domain/callers/fair-share.ts';
import type { Permissions } from '../../domain/permissions/permission.ts';
import type { User } from '../../domain/users/user.ts';
import type { Users } from '../../domain/users/users.ts';
import { answerWithPage, type Dashboard, registerDashboard } from '../dashboard/dashboard.ts';
import { registerHome } from '../dashboard/home.ts';
import { registerDocs } from '../docs/docs.ts';
import { guardDocs } from '../docs/docs-access.ts';
import { registerOpenApi } from '../docs/openapi.ts';
import { PushFastPath } from '../fast-path/push-fast-path.ts';
import { registerAnswerBudget } from '../lists/answer-budget.ts';
import { Authentication } from '../sign-in/auth.ts';
import { registerV1 } from '../v1/api.ts';
import { registerV2 } from '../v2/api.ts';
import { registerRootHeartbeats } from '../v2/gateways.ts';
import { registerBodyParsers } from './bodies.ts';
import { registerCors } from './cors.ts';
import { answerUnknownPath, makeErrorHandler } from './errors.ts';
import { answerBrokenRequest, answerConnect, answerUnmetExpectation, requireHost } from './framing.ts';
import { registerHealth } from './health.ts';
import { prepareOlderVersions } from './older-versions.ts';
import { RequestOrder } from './request-order.ts';
import { trackRequests } from './request-work.ts';
import type { Services } from './routes.ts';
import { isUpgrade } from './upgrades.ts';
import { makeValidatorCompiler } from './validation.ts';
import { watchMethods } from './wrong-method.ts';

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: SecureContextOptions | undefined;
  /** Seconds for which browsers are told to come by TLS alone; undefined: they are told nothing. */
  readonly hstsS: number | undefined;
  /** True where the reference is for those alone whom guest access lets in. */
  readonly guardsDocs: boolean;
  readonly corsOrigins: readonly string[];
  readonly baseUrl: string;
}

export interface HttpParts {
  readonly options: HttpOptions;
  readonly proxies: TrustedProxies;
  readonly log: Log;
  readonly users: Users;
  readonly callers: Callers;
  readonly byteBudget: ByteBudget;
  /** The memory for all data on its way in or out. */
  readonly passing: FairShare;
  readonly connections: ConnectionAdmission;
  readonly guest: User;
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
    trackRequests(app);
    app.addHook('onRequest', forbidSniffing);
    askForTls(app, parts.options.hstsS);
    prepareOlderVersions(app);
    registerBodyParsers(app, parts.byteBudget);
    registerAnswerBudget(app, parts.passing);
    app.setValidatorCompiler(makeValidatorCompiler());
    app.setSerializerCompiler(() => JSON.stringify);
    app.setErrorHandler(makeErrorHandler(parts.log));
    registerCors(app, parts.options.corsOrigins);
    const isClosing = refuseWhileClosing(app);
    const authentication = new Authentication({ ...parts, ...parts.services });
    authentication.register(app);
    guardDocs(app, { ...parts, ...parts.services, isGuarded: parts.options.guardsDocs, authentication });
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
    answerHalfClosed(app.server as Server);
    const requestOrder = takeTurns(app, parts);
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

  /** The server under Fastify, for what shares its port (MQTT over WebSocket). */
  get server(): Server {
    return this.#app.server as Server;
  }

  /** Starts to listen; the port it has. @throws Error when the port is in use. */
  start(): Promise<number> {
    const { host, port } = this.#options;
    // By Fastify, which closes only what it has opened itself. Its types do not know `reusePort`, and it passes it on.
    return this.#listening.open({ host, port }, (options) => this.#app.listen(options as FastifyListenOptions));
  }

  /** Makes the OpenAPI document, which the first to ask for it would hold up others with. */
  prepareReference(): void {
    this.#app.openApiDocument();
  }

  /**
   * Takes no new requests and answers those it has; who is still sending one when the time is up is cut. A connection
   * is closed as soon as it idles: clients keep theirs for the next request, and would hold up the stop.
   */
  async close(): Promise<void> {
    this.#listening.close();
    const sweep = setInterval(() => {
      this.#sockets.cutUseless();
      // To Node.js a connection idles while a push of it is in the fast path.
      if (!this.#fastPath.isStoring) this.server.closeIdleConnections();
    }, 50);
    // Upgraded ones too, of which Node.js's server knows no more.
    const cut = setTimeout(() => this.#sockets.cutAll(), limits.drainMsMax);
    await this.#app.close();
    // Fastify waits for those connections alone that its server has accepted itself.
    await this.#listening.closed();
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

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

/** A client may close its half of a connection behind its last request (RFC 9112 section 9.6), and still gets its answers. */
function answerHalfClosed(server: Server): void {
  // Node.js knows it under this name, and says so in no document.
  Object.assign(server, { httpAllowHalfOpen: true });
}

/** Has `request.ip` be the address of the client, also behind trusted proxies. */
function knowClients(app: FastifyInstance, proxies: TrustedProxies): void {
  if (proxies.isEmpty) return;
  app.addHook('onRequest', (request, _reply, done) => {
    // Fastify's own takes whatever stands in the header for an address.
    Object.defineProperty(request, 'ip', { value: proxies.clientOfRequest(request.raw) });
    done();
  });
}

/** No browser takes an answer for another type than it says. The answer of the fast path has the same header. */
function forbidSniffing(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply.raw.setHeader('x-content-type-options', 'nosniff');
  done();
}

/** Tells browsers that came by TLS to come by nothing else from now on (RFC 6797). */
function askForTls(app: FastifyInstance, hstsS: number | undefined): void {
  if (hstsS === undefined) return;
  app.addHook('onRequest', (request, reply, done) => {
    if (request.protocol === 'https') reply.header('strict-transport-security', `max-age=${hstsS}`);
    done();
  });
}

/** Has the requests of a connection wait for each other, and what is none of a route answered in its turn. */
function takeTurns(app: FastifyInstance, { callers, proxies }: HttpParts): RequestOrder {
  const server = app.server as Server;
  const requestOrder = RequestOrder.on(server, {
    wrap: (handle) => requireHost(app, handle),
    callerOf: (request) => callers.ofAddress(proxies.clientOfRequest(request)),
  });
  server.on('checkExpectation', (request, response) => {
    requestOrder.take({ request, response, handle: () => answerUnmetExpectation(app, request, response) });
  });
  server.on('connect', (request, socket) => answerConnect(app, request, socket));
  server.removeAllListeners('clientError');
  server.on('clientError', (error, socket) =>
    answerBrokenRequest(app, requestOrder, { error, socket: socket as Socket }),
  );
  return requestOrder;
}

function makeFastify(parts: HttpParts): FastifyInstance {
  const { tls } = parts.options;
  const { proxies } = parts;
  const handleError = makeErrorHandler(parts.log);
  // Other upgrades than that of MQTT over WebSocket are passed over, as HTTP allows (RFC 9110 section 7.8).
  const ofNode = {
    shouldUpgradeCallback: isUpgrade,
    headersTimeout: limits.headMsMax,
    connectionsCheckingInterval: limits.requestsCheckedMs,
    // Asked for in framing.ts, in the form of every other refusal.
    requireHostHeader: false,
  } as never;
  return Fastify({
    // Requests are not logged, and a logger of Fastify's own would cost each push a tenth; faults go to ours.
    logger: false,
    // What takes larger ones (datapoints, devices, projects, files) says so in its route.
    bodyLimit: limits.smallBodyBytesMax,
    requestTimeout: limits.requestMsMax,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: ofNode,
    // Whose X-Forwarded-Proto and -Host are believed; whose address counts is decided in knowClients.
    trustProxy: proxies.isEmpty ? false : (address: string) => proxies.trusts(address),
    genReqId: () => '',
    // What fails before a route is found is told in the same shape as everything else.
    frameworkErrors: (error, request, reply) => {
      // No hook has run.
      forbidSniffing(request, reply, () => handleError(error, request, reply));
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: limits.idCharsMax * 3 },
    ...(tls === undefined
      ? {}
      : { https: { ...tls, handshakeTimeout: limits.tlsHandshakeMsMax, ...(ofNode as object) } as never }),
  }) as unknown as FastifyInstance;
}
