// Figures for Prometheus, gathered when they are asked for, so that ingest pays nothing for them.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Writer } from './domain/datapoints/writer.ts';
import type { MqttCounts } from './mqtt/mqtt-server.ts';
import type { EmbeddedStore } from './storage/sqlite/open.ts';

let processMetrics: Registry | undefined;

/**
 * The figures of the process, which are gathered once however many servers it runs: prom-client watches garbage
 * collection to the end of the process, and would hold on to every registry it was given.
 */
function metricsOfProcess(): Registry {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  return processMetrics;
}

export class Metrics {
  readonly registry = Registry.merge([metricsOfProcess()]);

  constructor(parts: { readonly store: EmbeddedStore; readonly writer: Writer; readonly mqtt: MqttCounts }) {
    const { store, writer, mqtt } = parts;
    const registers = [this.registry];
    const commits = new Histogram({
      name: 'dundun_commit_seconds',
      help: 'How long a commit to disk took.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    });
    store.writer.onCommit = (durationMs) => commits.observe(durationMs / 1000);
    new Counter({
      name: 'dundun_datapoints_stored_total',
      help: 'Datapoints committed since the start.',
      registers,
      collect() {
        this.reset();
        this.inc(writer.storedDatapoints);
      },
    });
    new Gauge({
      name: 'dundun_datapoints_waiting',
      help: 'Datapoints accepted and not yet committed.',
      registers,
      collect() {
        this.set(writer.waitingDatapoints);
      },
    });
    new Gauge({
      name: 'dundun_log_datapoints',
      help: 'Datapoints in the log that have not settled yet.',
      registers,
      collect() {
        this.set(store.datapoints.logRows);
      },
    });
    new Gauge({
      name: 'dundun_mqtt_connections',
      help: 'MQTT connections open.',
      registers,
      collect() {
        this.set(mqtt.connections);
      },
    });
    new Counter({
      name: 'dundun_mqtt_slow_subscribers_total',
      help: 'Subscribers that were cut because they did not keep up.',
      registers,
      collect() {
        this.reset();
        this.inc(mqtt.slowCut);
      },
    });
  }
}
