// What this server tells of itself to those who look at all servers. Called by server.ts once MQTT is made.
import { hostname } from 'node:os';
import packageJson from '../../package.json' with { type: 'json' };
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import { RecentRate } from '../domain/nodes/recent-rate.ts';
import type { NodeRegister } from '../domain/ports/nodes.ts';
import type { MqttCounts } from '../mqtt/mqtt-options.ts';
import type { Domain } from './wire-domain.ts';

/** @returns the function that ends it. */
export function tellOfThisNode(parts: {
  readonly nodes: Pick<NodeRegister, 'tell'>;
  readonly domain: Pick<Domain, 'connections' | 'writer'>;
  readonly mqtt: Pick<MqttCounts, 'connections'>;
  readonly clock: Clock;
  /** The port of HTTP, once it is open: servers of one machine differ in it. */
  readonly httpPort: () => number | undefined;
}): () => Promise<void> {
  const { nodes, domain, mqtt, clock, httpPort } = parts;
  const { connections, writer } = domain;
  const rate = new RecentRate({
    clock,
    count: () => writer.storedDatapoints,
    overMs: limits.nodeRateMs,
    lookMs: limits.nodeRateLookMs,
  });
  rate.start();
  const machine = hostname().slice(0, limits.nameCharsMax - ':65535'.length);
  const host = () => {
    const port = httpPort();
    return port === undefined ? machine : `${machine}:${port}`;
  };
  nodes.tell(() => ({
    host: host(),
    release: packageJson.version,
    // All that are held are of one or the other.
    connections: { http: Math.max(0, connections.held - mqtt.connections), mqtt: mqtt.connections },
    datapointsPerSecond: rate.perSecond,
  }));
  return async () => rate.close();
}
