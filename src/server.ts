// Puts the service together from what wiring/ makes, starts everything in order, and closes it in reverse order.
import { fileURLToPath } from 'node:url';
import pino, { type Logger } from 'pino';
import { type Ids, randomIds } from './base/ids.ts';
import type { Log } from './base/log.ts';
import { collectWhenQuiet } from './base/memory/garbage-collection.ts';
import { MemoryReclaimer } from './base/memory/memory-reclaimer.ts';
import { Certificates } from './base/network/certificates.ts';
import { SecurityHeaders } from './base/network/security-headers.ts';
import { TrustedProxies } from './base/network/trusted-proxies.ts';
import { RateLimitedLog } from './base/rate-limited-log.ts';
import { type Clock, systemClock } from './base/time/clock.ts';
import { ClockWatch } from './base/time/clock-watch.ts';
import { EventLoopMonitor } from './base/time/event-loop-monitor.ts';
import { nextLoopTurn } from './base/time/next-loop-turn.ts';
import type { Config } from './config/config.ts';
import { dashboardSettingsOf } from './config/dashboard-settings.ts';
import { limits } from './config/limits.ts';
import type { MemoryCeiling } from './config/memory-ceiling.ts';
import type { Sender } from './domain/notifications/outbox/sender.ts';
import type { Channel } from './domain/notifications/rules/notification.ts';
import type { Engine } from './domain/ports/engine.ts';
import { openEngine } from './engines/open.ts';
import { type DashboardFiles, readDashboard } from './http/dashboard/dashboard-files.ts';
import { HttpServer } from './http/http-server.ts';
import { Metrics } from './metrics/metrics.ts';
import { MqttServer } from './mqtt/mqtt-server.ts';
import { DuplicateDetector } from './mqtt/repeats/duplicate-detector.ts';
import { openTracing } from './tracing/open-tracing.ts';
import { traceEngine } from './tracing/traced-engine.ts';
import { followAnnouncements } from './wiring/wire-announcements.ts';
import { type Domain, wireDomain } from './wiring/wire-domain.ts';
import { hostOf, httpOptions, openMetrics, warnOfPlainText } from './wiring/wire-edges.ts';
import { openMqttSessions } from './wiring/wire-mqtt.ts';
import { tellOfThisNode } from './wiring/wire-nodes.ts';
import { answerQuestions } from './wiring/wire-questions.ts';

/** What tests replace: time, randomness, log, senders, and parts of the engine. */
export interface ServerOverrides {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Logger;
  /** Replaces the senders made from the settings. */
  readonly senders?: ReadonlyMap<Channel, Sender>;
  /** What determines the ceiling of the memory, for the log; the bounds were set by it before. */
  readonly memoryCeiling?: MemoryCeiling;
  /** Called once with the password generated for admin at first start. */
  readonly onFirstPassword?: (password: string) => void;
  /** Called with the engine that was opened; the service uses the engine that it returns. */
  readonly replaceEngine?: (engine: Engine) => Engine;
  /** Reads the built dashboard, in place of the folder where the build puts it. */
  readonly readDashboard?: () => Promise<DashboardFiles | undefined>;
}

/** The open ports: `mqtt` unless switched off, `mqtts` with a certificate, `metrics` where enabled. */
export interface Ports {
  readonly http: number;
  readonly mqtt?: number;
  readonly mqtts?: number;
  readonly metrics?: number;
}

export interface RunningServer {
  readonly ports: Ports;
  readonly engine: Engine;
  /**
   * Resolves when everything accepted is stored and its effects are done: rules evaluated, messages sent as far as
   * rates allow, deliveries made to subscribers.
   */
  idle(): Promise<void>;
  /** Accepts no more work, finishes what was accepted, and closes everything. Further calls return the same promise. */
  close(): Promise<void>;
  /**
   * Does work that would delay callers if it were done later: generates the API reference, and collects the garbage
   * of the start. Only then the delay of the event loop is measured, so that the start does not count. Call once,
   * after the start.
   */
  finishStart(): Promise<void>;
  /** Reloads the TLS certificate and what clients' are judged by, where there is one. */
  reloadCertificate(): Promise<void>;
}

/** Starts the service. @throws Refusal `conflict` when the data folder is in use; Error when a port is. */
export async function startServer(config: Config, overrides: ServerOverrides = {}): Promise<RunningServer> {
  const clock = overrides.clock ?? systemClock;
  const ids = overrides.ids ?? randomIds;
  const sink = overrides.log ?? pino({ level: config.logLevel, base: null }, pino.destination(2));
  const log = new RateLimitedLog({ sink, clock });
  if (overrides.memoryCeiling !== undefined) logMemoryCeiling(overrides.memoryCeiling, log);
  const opened = await openEngine(config, { clock, log });
  const tracing = await openTracing(
    { url: config.tracesUrl, headers: config.tracesHeaders, share: config.tracesShare },
    log,
  );
  const engine = overrides.replaceEngine?.(opened) ?? opened;
  const closers: (() => Promise<void>)[] = [
    async () => log.close(),
    async () => tracing?.close(),
    () => engine.close(),
  ];
  // Closes what was started, in reverse order; a second call waits for the first.
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closers.reduceRight((before, step) => before.then(step), Promise.resolve());
    return closing;
  };
  try {
    const clocks = new ClockWatch({ clock, log, steadyMs: config.clockSteadyMinutes * 60_000 });
    closers.push(async () => clocks.close());
    clocks.start(await engine.commitLog.newestReceivedMs());
    let ports: Ports | undefined;
    const ownPorts = () => Object.values(ports ?? {});
    const traced = tracing === undefined ? engine : traceEngine(engine, tracing);
    const domain = await wireDomain({ ownPorts, config, clock, clocks, ids, engine: traced, log, tracing, overrides });
    followAnnouncements(engine.coordination, domain);
    answerQuestions(engine.coordination.questions, domain);
    engine.observe({
      onFailure: (error, { fatal }) => onStorageFailure({ error, fatal, log }),
      onDamaged: (what) => log.error({ what }, 'the storage is damaged'),
    });
    closers.push(async () => domain.storageQuota.close());
    closers.push(() => domain.retention.close());
    domain.retention.start();
    await domain.storageQuota.start();
    closers.push(() => domain.rules.outbox.close());
    closers.push(() => domain.rules.watcher.close());
    closers.push(() => domain.alarming.sweep.close());
    closers.push(() => domain.services.passwordResets.idle());
    closers.push(() => domain.charges.flush());
    closers.push(() => domain.writer.idle());
    closers.push(() => domain.presence.flush());
    closers.push(() => domain.services.keys.idle());
    await domain.services.guestAccess.start();
    const proxies = new TrustedProxies(config.trustProxy);
    const securityHeaders = new SecurityHeaders({ hstsS: config.hstsS, proxies });
    const certificates = Certificates.open(config, { clock, log });
    closers.push(async () => certificates?.close());
    const mqtt = await makeMqtt({ config, clock, log, engine, domain, proxies, securityHeaders, certificates });
    closers.push(
      tellOfThisNode({ nodes: engine.nodes, domain, mqtt: mqtt.counts, clock, httpPort: () => ports?.http }),
    );
    const { writer, storageQuota, retention, rules, byteBudget, futureDated } = domain;
    const eventLoop = new EventLoopMonitor(log);
    closers.push(async () => eventLoop.close());
    const reclaimer = new MemoryReclaimer();
    closers.push(async () => reclaimer.close());
    const metrics = new Metrics({
      engine,
      writer,
      storageQuota,
      retention,
      futureDated,
      byteBudget,
      mqtt: mqtt.counts,
      rules,
      eventLoop,
      log,
      clocks,
    });
    const unreadyBecause = () => (closing === undefined ? engine.figures.refusesBecause : 'not taking work');
    const restriction = () => {
      const { fullReason } = domain.storageQuota;
      const noRoom = fullReason && `no room for more datapoints: ${fullReason}`;
      clocks.look();
      const lost =
        engine.figures.lossesByDamage === 0
          ? undefined
          : 'acknowledged writes were lost by damage on the disk: `dundun check` says which';
      const sentences = [noRoom, lost, clocks.describe()].filter((sentence) => sentence !== undefined);
      return sentences.length === 0 ? undefined : sentences.join('; ');
    };
    const files = await (overrides.readDashboard ?? readBuiltDashboard)();
    if (files === undefined) log.warn({}, 'the dashboard is not built: `npm ci` or `npm run prepare` builds it');
    const http = await HttpServer.create({
      options: httpOptions(config, certificates),
      proxies,
      securityHeaders,
      log,
      clock,
      ...domain,
      metrics: metrics.registry,
      tracing,
      unreadyBecause,
      restriction,
      dashboard: {
        files,
        listening: { baseUrl: config.baseUrl, host: config.httpHost },
        facts: () => {
          clocks.look();
          const timeMs = clocks.isInDoubt ? undefined : clock.now();
          const sending = [...domain.senders.values()].filter(({ closedBecause }) => closedBecause === undefined);
          const channels = ['none', ...sending.map(({ channel }) => channel)];
          return dashboardSettingsOf(config, { guestAccess: domain.permissions.guestAccess, ports, timeMs, channels });
        },
      },
    });
    // Together, because MQTT over WebSocket holds connections of the HTTP server.
    closers.push(async () => void (await Promise.all([http.close(), mqtt.close()])));
    await domain.rules.outbox.start();
    await domain.rules.watcher.start();
    domain.alarming.sweep.start();
    const httpPort = await http.start();
    ports = {
      http: httpPort,
      ...(await mqtt.start(http.server)),
      ...(await openMetrics(config, { metrics, securityHeaders, closers })),
    };
    const tlsServers = { plain: http.server, askingClients: mqtt.listeners.tlsServer };
    await certificates?.start(tlsServers, () => mqtt.listeners.cutCertified());
    warnOfPlainText(config, log);
    const idle = async () => {
      clocks.look();
      await domain.writer.idle();
      await mqtt.idle();
      await domain.rules.watcher.idle();
      await domain.services.passwordResets.idle();
      await domain.rules.outbox.idle();
      // Delivers the actuator settings that the outbox made.
      await mqtt.idle();
      await domain.alarming.sweep.idle();
      await domain.retention.idle();
      await domain.presence.idle();
      await domain.charges.flush();
      await domain.services.keys.idle();
    };
    const reloadCertificate = async () => certificates?.reload();
    const finishStart = async () => {
      // On a slow machine that has other things to do, this takes as long as others wait for a sign of life.
      await engine.coordination.standing.foreseeSilence(limits.startSilenceMsMax);
      http.prepareReference();
      await nextLoopTurn();
      collectWhenQuiet();
      await nextLoopTurn();
      // From now on it is as any other: who dies now is found at once.
      await engine.coordination.standing.foreseeSilence(0);
      if (closing !== undefined) return;
      eventLoop.start();
      reclaimer.start();
    };
    return { ports, engine, idle, close, finishStart, reloadCertificate };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Logs when the memory ceiling is larger than what the machine or container has for it, or smaller than the default. */
function logMemoryCeiling({ bytes, of, availableBytes }: MemoryCeiling, log: Log): void {
  const fields = { memoryBytesMax: bytes, availableBytes: Math.floor(availableBytes), of };
  if (bytes > availableBytes)
    log.warn(fields, 'the memory that the process may take is more than this machine or container has for it');
  else if (of === 'machine' || of === 'container')
    log.info(fields, 'the process takes less memory than by default, because the machine or container has less');
}

/** Reads the built dashboard; undefined where it is not built. */
export function readBuiltDashboard(): Promise<DashboardFiles | undefined> {
  return readDashboard(fileURLToPath(new URL('../dashboard/dist', import.meta.url)));
}

async function makeMqtt(parts: {
  config: Config;
  clock: Clock;
  log: Log;
  engine: Engine;
  domain: Domain;
  proxies: TrustedProxies;
  securityHeaders: SecurityHeaders;
  certificates: Certificates | undefined;
}): Promise<MqttServer> {
  const { config, clock, log, engine, domain, proxies, securityHeaders, certificates } = parts;
  const stored = openMqttSessions({
    ...{ clock, clocks: domain.clocks, log, engine, guest: domain.guest, quotas: domain.services.quotas },
    sessionExpiryMs: config.mqttSessionExpiryMs,
    server: () => server,
  });
  domain.onRetainedRemoved((count) => stored.noteRetainedRemoved(count));
  const duplicates = new DuplicateDetector({
    clock: domain.clocks.forAge,
    stored: engine.commitLog,
    sessionBytesMaxOf: (user) => stored.sessionBytesMaxOf(user),
  });
  await duplicates.restore();
  const server: MqttServer = new MqttServer({
    ...domain,
    ...domain.services,
    options: {
      host: hostOf(config),
      port: config.mqttPort,
      proxyProtocol: config.mqttProxyProtocol,
      serverReference: config.mqttServerReference,
      tls: certificates && {
        options: certificates.clientOptions,
        port: config.mqttTlsPort,
        certificates: config.mqttClientCa === '' ? 'none' : config.mqttClientCert,
      },
    },
    stored,
    relays: engine.commitLog,
    duplicates,
    proxies,
    securityHeaders,
    clock,
    log,
  });
  return server;
}

function onStorageFailure({
  error,
  fatal,
  log,
}: {
  readonly error: Error;
  readonly fatal: boolean;
  readonly log: Log;
}): void {
  if (!fatal) {
    log.error({ err: error }, 'background maintenance of the storage failed; it is tried again');
    return;
  }
  // Without its writer the service can store nothing, so it ends, and its supervisor restarts it.
  log.fatal({ err: error }, 'the writer thread of the storage has ended');
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}
