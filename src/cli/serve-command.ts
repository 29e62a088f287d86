// `dundun serve`: starts the service, prints the ready line, waits for a signal, and stops within ten seconds.
import { configureGarbageCollector } from '../base/memory/garbage-collection.ts';
import { machineMemory } from '../base/memory/machine-memory.ts';
import { lowerPoolPriority, niceness } from '../base/threads/thread-priority.ts';
import type { Config } from '../config/config.ts';
import { limits } from '../config/limits.ts';
import { memoryCeilingOf } from '../config/memory-ceiling.ts';
import { applyMemoryMax } from '../config/memory-profile.ts';
import { tlsFaults } from '../config/tls-files.ts';
import { startServer } from '../server.ts';
import { fail, readConfig } from './read-config.ts';

export async function serve(): Promise<void> {
  const { config } = readConfig(tlsFaults);
  const ceiling = memoryCeilingOf(config.memoryBytesMax, machineMemory());
  applyMemoryMax(ceiling.bytes);
  configureGarbageCollector();
  // SIGHUP never ends the process, even during the start; once the service runs, it reloads the certificate.
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  const server = await startServer(config, {
    memoryCeiling: ceiling,
    onFirstPassword: (password) =>
      console.error(
        `dundun: first start. Sign in as admin with the password ${password} (shown this once; change it with \`npm run dundun -- user password admin\`).`,
      ),
  }).catch((error: unknown) => fail(listenFault(error, config)));
  const stop = () => {
    // Further signals during the stop are ignored (npm passes Ctrl-C on a second time).
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, () => {});
    const deadline = setTimeout(() => process.exit(1), limits.stopMsMax);
    deadline.unref();
    server.close().then(
      // Exits with 0, or with the code set when the writer thread ended.
      () => process.exit(),
      (error: unknown) => fail(error),
    );
  };
  reload = () => void server.reloadCertificate();
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  console.log(JSON.stringify({ msg: 'ready', ...server.ports }));
  lowerPoolPriority(niceness.hashing);
  setImmediate(() => void server.finishStart().catch((error: unknown) => fail(error)));
}

/** Phrases an unavailable port or address in terms of the settings; returns other errors unchanged. */
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
