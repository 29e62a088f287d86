// Metrics for Prometheus, computed when they are requested, so that ingest pays nothing for them.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RateLimitedLog } from '../base/rate-limited-log.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { EventLoopMonitor } from '../base/time/event-loop-monitor.ts';
import type { ByteBudget } from '../domain/callers/byte-budget.ts';
import type { FutureDated } from '../domain/datapoints/ingest/future-dated.ts';
import type { StorageQuota } from '../domain/datapoints/ingest/storage-quota.ts';
import type { Writer } from '../domain/datapoints/ingest/writer.ts';
import type { RetentionJob } from '../domain/datapoints/retention-job.ts';
import type { NotificationCounters } from '../domain/notifications/outbox/notification-counters.ts';
import type { Outbox } from '../domain/notifications/outbox/outbox.ts';
import type { Watcher } from '../domain/notifications/watching/watcher.ts';
import type { Engine } from '../domain/ports/engine.ts';
import type { MqttCounts } from '../mqtt/mqtt-options.ts';
import { watchNodes } from './node-figures.ts';
import { watchReads, watchStandby, watchStorage, watchStorageQuota } from './storage-figures.ts';

let processMetrics: Registry | undefined;

/**
 * The metrics of the process, registered once however many servers it runs: prom-client observes garbage collection
 * until the process ends, and would hold every registry.
 */
function metricsOfProcess(): Registry {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  return processMetrics;
}

interface RuleParts {
  readonly watcher: Watcher;
  readonly outbox: Outbox;
  readonly counters: NotificationCounters;
}

/**
 * Adds the delay of the event loop, in addition to prom-client's own measurement, which samples only when requested.
 */
function watchLoop(eventLoop: EventLoopMonitor, registers: Registry[]): void {
  const late = new Histogram({
    name: 'dundun_event_loop_late_seconds',
    help: 'By how much the event loop was late, looked at every 50 ms.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  eventLoop.onTick = (lateS) => late.observe(lateS);
  new Gauge({
    name: 'dundun_event_loop_late_seconds_max',
    help: 'The most by which the event loop was late since the figures were last asked for.',
    registers,
    collect() {
      this.set(eventLoop.takeLatest());
    },
  });
}

function watchLog(log: RateLimitedLog, registers: Registry[]): void {
  new Counter({
    name: 'dundun_log_lines_suppressed_total',
    help: 'Lines that the log counted since the start instead of writing them, because their kind was beyond its rate.',
    labelNames: ['level'],
    registers,
    collect() {
      this.reset();
      for (const [level, count] of Object.entries(log.suppressedLines)) this.inc({ level }, count);
    },
  });
}

function watchClock(clocks: ClockWatch, registers: Registry[]): void {
  new Gauge({
    name: 'dundun_clock_in_doubt',
    help: '1 while the wall clock is in doubt, so that deletion by age, expiry of notifications and throttling wait; else 0.',
    registers,
    collect() {
      clocks.look();
      this.set(clocks.isInDoubt ? 1 : 0);
    },
  });
  new Gauge({
    name: 'dundun_clock_expiries_ahead_seconds',
    help: 'By how much tokens, keys and sessions expire ahead of the wall clock, because it was set back and nobody has confirmed it.',
    registers,
    collect() {
      this.set(clocks.expiriesAheadMs / 1000);
    },
  });
  new Counter({
    name: 'dundun_clock_jumps_total',
    help: 'How often the wall clock has jumped against the monotonic one since the start, by more than a minute.',
    registers,
    collect() {
      this.reset();
      this.inc(clocks.jumps);
    },
  });
}

function watchDatapoints(
  {
    engine,
    writer,
    retention,
    futureDated,
  }: {
    readonly engine: Engine;
    readonly writer: Writer;
    readonly retention: RetentionJob;
    readonly futureDated: FutureDated;
  },
  registers: Registry[],
): void {
  const commits = new Histogram({
    name: 'dundun_commit_seconds',
    help: 'How long a commit to disk took.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  engine.observe({ onCommit: (durationMs) => commits.observe(durationMs / 1000) });
  new Counter({
    name: 'dundun_datapoints_stored_total',
    help: 'Datapoints committed since the start.',
    registers,
    collect() {
      this.reset();
      this.inc(writer.storedDatapoints);
    },
  });
  new Counter({
    name: 'dundun_datapoints_expired_total',
    help: 'Datapoints removed since the start because they were older than their sensor keeps them.',
    registers,
    collect() {
      this.reset();
      this.inc(retention.removedDatapoints);
    },
  });
  new Counter({
    name: 'dundun_datapoints_future_total',
    help: 'Datapoints committed since the start that were dated more than five minutes later than they were received; not counted while the clock is in doubt.',
    registers,
    collect() {
      this.reset();
      this.inc(futureDated.datapoints);
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
    help: 'Datapoints in the log that have not been sealed yet.',
    registers,
    collect() {
      this.set(engine.figures.logDatapoints);
    },
  });
}

function watchMqtt(mqtt: MqttCounts, registers: Registry[]): void {
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
  new Counter({
    name: 'dundun_mqtt_encoded_messages_total',
    help: 'Messages encoded for MQTT subscribers: once for each QoS in which any of them gets it.',
    registers,
    collect() {
      this.reset();
      this.inc(mqtt.encoded);
    },
  });
}

export class Metrics {
  readonly registry = Registry.merge([metricsOfProcess()]);

  constructor(parts: {
    readonly engine: Engine;
    readonly writer: Writer;
    readonly storageQuota: StorageQuota;
    readonly retention: RetentionJob;
    readonly futureDated: FutureDated;
    readonly mqtt: MqttCounts;
    readonly byteBudget: ByteBudget;
    readonly rules: RuleParts;
    readonly eventLoop: EventLoopMonitor;
    readonly log: RateLimitedLog;
    readonly clocks: ClockWatch;
  }) {
    const { engine, rules } = parts;
    const registers = [this.registry];
    watchStorageQuota(parts.storageQuota, registers);
    watchStorage(engine.figures, registers);
    watchReads(engine.figures.reads, registers);
    if (engine.figures.standby !== undefined) watchStandby(engine.figures.standby, registers);
    watchNodes(engine.nodes, registers);
    watchDatapoints(parts, registers);
    watchMqtt(parts.mqtt, registers);
    new Gauge({
      name: 'dundun_receiving_bytes',
      help: 'Bytes of request bodies and MQTT packets that have not come whole.',
      registers,
      collect() {
        this.set(parts.byteBudget.held);
      },
    });
    watchLoop(parts.eventLoop, registers);
    watchLog(parts.log, registers);
    watchClock(parts.clocks, registers);
    watchRules(rules, registers);
    watchMessages(rules, registers);
  }
}

function watchRules({ watcher, counters }: RuleParts, registers: Registry[]): void {
  new Gauge({
    name: 'dundun_rules_datapoints_waiting',
    help: 'Datapoints in memory that notifications have not looked at yet.',
    registers,
    collect() {
      this.set(watcher.waitingDatapoints);
    },
  });
  new Gauge({
    name: 'dundun_rules_datapoints_behind',
    help: 'Datapoints stored since the last that notifications have looked at.',
    registers,
    collect() {
      this.set(watcher.behindDatapoints);
    },
  });
  new Counter({
    name: 'dundun_rules_fired_total',
    help: 'Firings of notifications since the start.',
    registers,
    collect() {
      this.reset();
      this.inc(counters.firings);
    },
  });
}

function watchMessages({ outbox, counters }: RuleParts, registers: Registry[]): void {
  new Gauge({
    name: 'dundun_messages_waiting',
    help: 'Messages in the outbox that wait to be sent.',
    labelNames: ['channel'],
    registers,
    async collect() {
      const waiting = await outbox.countWaiting();
      this.reset();
      for (const [channel, count] of waiting) this.set({ channel }, count);
    },
  });
  new Counter({
    name: 'dundun_messages_total',
    help: 'Messages that came to their end since the start: sent, failed or undelivered.',
    labelNames: ['channel', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { channel, state, count } of counters.ended) this.inc({ channel, state }, count);
    },
  });
  new Counter({
    name: 'dundun_message_errors_total',
    help: 'Tries to send that the provider refused or did not answer.',
    labelNames: ['channel'],
    registers,
    collect() {
      this.reset();
      for (const { channel, count } of counters.errors) this.inc({ channel }, count);
    },
  });
  new Counter({
    name: 'dundun_messages_capped_total',
    help: 'Paid messages that did not go because somebody had reached the cap of the day.',
    registers,
    collect() {
      this.reset();
      this.inc(counters.capped);
    },
  });
}
