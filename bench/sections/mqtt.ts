// QoS 1 publishes over MQTT, against a bare aedes that keeps nothing; QoS 2 beside QoS 1; how long a publisher waits at
// half of the full rate; and what connections take that say nothing.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../arguments.ts';
import { type SideRounds, takeTurns } from '../comparison.ts';
import { shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { type IdleMemory, measureIdle } from '../load/idle-connections.ts';
import { summarise } from '../load/load.ts';
import { MqttLoad, type MqttLoadOptions } from '../load/mqtt-load.ts';
import { judge, judgeCounts, judgeRatio, roundsTable, type Section, type Verdict } from '../section.ts';
import { ServerProcess } from '../server-process.ts';

/** Of bare aedes, which stores nothing: to few sensors, whose topics are remembered everywhere, and to many. */
const ratioMinOf = (sensors: number) => (sensors > 1_000 ? 1 : 1.3);
/** Of the rate of QoS 1. */
const qos2RatioMin = 0.5;
/** How long a PUBACK may take at half of the full rate. */
const halfP99MsMax = 30;
/** Of 20 000 connections, in all and each: the whole process. */
const idleMibMax = 350;
const idleConnections = 20_000;

export async function measureMqtt(options: BenchOptions, dataDir: string, sensors: number): Promise<Section> {
  const { devices, sensorsEach } = Fleet.shapeOf(sensors);
  const fleet = await Fleet.start({ dataDir, devices, sensorsEach, profile: options.profile });
  const baseline = await ServerProcess.start(fileURLToPath(new URL('../baseline/mqtt.ts', import.meta.url)));
  try {
    await fleet.server.quiet();
    const idleMib = fleet.server.rssMib();
    const { mqttClients: clients, mqttWindow: window } = options;
    const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
    const load = { port: fleet.server.mqttPort, clients, window, topics, login: Fleet.login };
    const theirLoad = new MqttLoad({ ...load, port: baseline.mqttPort, login: undefined });
    const sides = [
      sideOf('Dundun', fleet.server, load),
      { name: 'bare aedes', server: baseline, load: (seconds: number) => theirLoad.run(seconds) },
      sideOf('Dundun, QoS 2', fleet.server, { ...load, publishQos: 2 }),
      sideOf('Dundun, QoS 2 of kept sessions', fleet.server, { ...load, publishQos: 2, isKept: true }),
    ];
    const [ours, theirs, twice, kept] = await takeTurns('mqtt', sides, options);
    if (ours === undefined || theirs === undefined || twice === undefined || kept === undefined)
      throw new Error('A side is missing.');
    const of = (side: SideRounds) => summarise(side.measured);
    const rounds = [of(ours), of(theirs), of(twice), of(kept)] as const;
    const loadedMib = fleet.server.rssMib();
    const perS = Math.round(rounds[0].perS / 2);
    const half = await takeTurns('mqtt, half rate', [sideOf('half', fleet.server, { ...load, perS })], options);
    const halves = half[0] as SideRounds;
    const atHalf = summarise(halves.measured);
    const counts = judgeCounts([...ours.all, ...twice.all, ...kept.all, ...halves.all], await fleet.count());
    const idle = sensors === options.sensors[0] ? await measureIdle(join(dataDir, 'idle')) : undefined;
    const names = [...sides.map(({ name }) => name), `Dundun at ${shown(perS)} a second`];
    return {
      title: `QoS 1 publishes over MQTT to ${shown(sensors)} sensors`,
      how: `${clients} clients with ${window} publishes outstanding each, over ${shown(devices)} devices with ${sensorsEach} sensors each; latency from publish to PUBACK, with QoS 2 to PUBCOMP. ${counts.line}`,
      tables: [
        roundsTable([...rounds, atHalf].map((one, n) => ({ name: names[n] ?? '', rounds: one }))),
        memoryTable(idleMib, loadedMib, idle),
      ],
      verdicts: [
        judgeRatio(`MQTT publishes to ${shown(sensors)} sensors`, [rounds[0], rounds[1]], ratioMinOf(sensors)),
        judgeRatio('QoS 2, beside QoS 1', [rounds[2], rounds[0]], qos2RatioMin),
        judgeRatio('QoS 2 of kept sessions, beside QoS 1', [rounds[3], rounds[0]], qos2RatioMin),
        {
          target: `PUBACK at half of the full rate after ${shown(atHalf.p99Ms)} ms (p99), target at most ${halfP99MsMax} ms`,
          outcome: judge(atHalf.p99Ms <= halfP99MsMax, [atHalf]),
        },
        ...(idle === undefined ? [] : [verdictOf(idle)]),
      ],
      faults: counts.faults,
    };
  } finally {
    await Promise.all([fleet.server.stop(), baseline.stop()]);
  }
}

function sideOf(name: string, server: ServerProcess, options: MqttLoadOptions) {
  const load = new MqttLoad(options);
  return { name, server, load: (seconds: number) => load.run(seconds) };
}

function memoryTable(idleMib: number, loadedMib: number, idle: IdleMemory | undefined): string {
  const rows = [
    ['idle', shown(idleMib)],
    ['after the rounds', shown(loadedMib)],
  ];
  if (idle !== undefined)
    rows.push(
      [`with ${shown(idle.connections)} connections that say nothing`, shown(idle.connectedMib)],
      ['before them', shown(idle.beforeMib)],
      ['each of them, KiB', shown(idle.kibEach)],
    );
  return table(['memory of Dundun', 'MiB'], rows);
}

function verdictOf({ connections, beforeMib, connectedMib, kibEach }: IdleMemory): Verdict {
  // Where this machine allows no more descriptors there are fewer: then as many more of the same are reckoned.
  const inAllMib = beforeMib + (kibEach * idleConnections) / 1024;
  const target = `${shown(connections)} idle connections: ${shown(connectedMib)} MiB in all, ${shown(kibEach)} KiB each, ${shown(inAllMib)} MiB for ${shown(idleConnections)}, target at most ${idleMibMax} MiB`;
  return { target, outcome: inAllMib <= idleMibMax ? 'reached' : 'missed' };
}
