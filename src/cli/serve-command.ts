// `dundun serve`: start, say so, wait for a signal, stop within ten seconds.
import { collectAfterStart, configureGarbageCollector } from '../base/memory/garbage-collection.ts';
import type { Config } from '../config/config.ts';
import { limits } from '../config/limits.ts';
import { tlsFaults } from '../config/tls-files.ts';
import { startServer } from '../server.ts';
import { fail, readConfig } from './read-config.ts';

export async function serve(): Promise<void> {
  const { config } = readConfig(tlsFaults);
  configureGarbageCollector();
  // Never ends the process, at whatever moment it comes; once the service runs, it reads the certificate anew.
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  const server = await startServer(config, {
    onFirstPassword: (password) =>
      console.error(
        `dundun: first start. Sign in as admin with the password ${password} (shown this once; change it with \`npm run dundun -- user password admin\`).`,
      ),
  }).catch((error: unknown) => fail(listenFault(error, config)));
  const stop = () => {
    // A second signal (npm passes Ctrl-C on as well) does not hurry a stop that is under way.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, () => {});
    const deadline = setTimeout(() => process.exit(1), limits.stopMsMax);
    deadline.unref();
    server.close().then(
      // Without a code: 0, or what a server that lost its store has set.
      () => process.exit(),
      (error: unknown) => fail(error),
    );
  };
  reload = () => void server.reloadCertificate();
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  console.log(JSON.stringify({ msg: 'ready', ...server.ports }));
  setImmediate(() => {
    // Here and not at the first request, with which anybody could hold up those who are connected by then.
    server.prepareReference();
    setImmediate(collectAfterStart);
  });
}

/** A port or an address that cannot be had, in the words of the settings; any other error as it is. */
function listenFault(error: unknown, config: Config): unknown {
  const { code, syscall, port, message } = error as NodeJS.ErrnoException & { readonly port?: number };
  if (syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL') {
    return new Error(`DUNDUN_HTTP_HOST: cannot listen on ${config.httpHost}, which is no address of this machine.`);
  }
  if (syscall !== 'listen') return error;
  const { httpPort, mqttPort, metricsPort } = config;
  const ports = { DUNDUN_HTTP_PORT: httpPort, DUNDUN_MQTT_PORT: mqttPort, DUNDUN_METRICS_PORT: metricsPort };
  const name = Object.entries(ports).find(([, number]) => number === port)?.[0] ?? 'DUNDUN_MQTT_TLS_PORT';
  const reason = code === 'EADDRINUSE' ? 'is in use' : code === 'EACCES' ? 'needs more rights' : message;
  return new Error(`${name}: port ${port} on ${config.httpHost} ${reason}. Choose another, or free it.`);
}
