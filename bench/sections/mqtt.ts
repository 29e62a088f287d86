// QoS 1 publishes over MQTT, against a bare aedes that keeps nothing.
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../arguments.ts';
import { takeTurns } from '../comparison.ts';
import { shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { summarise } from '../load/load.ts';
import { MqttLoad } from '../load/mqtt-load.ts';
import { judgeCounts, judgeRatio, roundsTable, type Section } from '../section.ts';
import { ServerProcess } from '../server-process.ts';

const ratioMin = 0.6;

export async function measureMqtt(options: BenchOptions, dataDir: string, sensors: number): Promise<Section> {
  const { devices, sensorsEach } = Fleet.shapeOf(sensors);
  const fleet = await Fleet.start({ dataDir, devices, sensorsEach, profile: options.profile });
  const baseline = await ServerProcess.start(fileURLToPath(new URL('../baseline/mqtt.ts', import.meta.url)));
  try {
    await fleet.server.quiet();
    const idleMib = fleet.server.rssMib();
    const { mqttClients: clients, mqttWindow: window } = options;
    const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
    const ourLoad = new MqttLoad({ port: fleet.server.mqttPort, clients, window, topics, login: Fleet.login });
    const theirLoad = new MqttLoad({ port: baseline.mqttPort, clients, window, topics, login: undefined });
    const sides = [
      { name: 'Dundun', server: fleet.server, load: (seconds: number) => ourLoad.run(seconds) },
      { name: 'bare aedes', server: baseline, load: (seconds: number) => theirLoad.run(seconds) },
    ];
    const [ours, theirs] = await takeTurns('mqtt', sides, options);
    if (ours === undefined || theirs === undefined) throw new Error('A side is missing.');
    const loadedMib = fleet.server.rssMib();
    const counts = judgeCounts(ours.all, await fleet.count());
    const rounds = [summarise(ours.measured), summarise(theirs.measured)] as const;
    return {
      title: `QoS 1 publishes over MQTT to ${shown(sensors)} sensors`,
      how: `${clients} clients with ${window} publishes outstanding each, over ${shown(devices)} devices with ${sensorsEach} sensors each; latency from publish to PUBACK. ${counts.line}`,
      tables: [
        roundsTable(sides.map(({ name }, i) => ({ name, rounds: rounds[i === 0 ? 0 : 1] }))),
        table(
          ['memory of Dundun', 'MiB'],
          [
            ['idle', shown(idleMib)],
            ['after the rounds', shown(loadedMib)],
          ],
        ),
      ],
      verdicts: [judgeRatio(`MQTT publishes to ${shown(sensors)} sensors`, rounds, ratioMin)],
      faults: counts.faults,
    };
  } finally {
    await Promise.all([fleet.server.stop(), baseline.stop()]);
  }
}
