// What is published to subscribers: one to a hundred and to a thousand, one to one, a thousand to one, and to two hundred that never read;
// beside Mosquitto, where it is installed, and a bare aedes, which both keep nothing.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../arguments.ts';
import { type Mosquitto, startMosquitto } from '../baseline/mosquitto.ts';
import { type Side, takeTurns } from '../comparison.ts';
import { median, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { type FanOutOptions, runFanOut } from '../load/fan-out-load.ts';
import { type Rounds, summarise } from '../load/load.ts';
import { judge, judgeRatio, type Section, type Verdict } from '../section.ts';
import { ServerProcess } from '../server-process.ts';

interface Scenario extends Pick<FanOutOptions, 'clients' | 'window' | 'subscribers' | 'qos'> {
  readonly name: string;
  readonly isDeaf?: boolean;
}

const scenarios: readonly Scenario[] = [
  { name: '1 to 100', clients: 1, window: 100, subscribers: 100, qos: 0 },
  { name: '1 to 100, QoS 1', clients: 1, window: 100, subscribers: 100, qos: 1 },
  { name: '1 to 1 000', clients: 1, window: 20, subscribers: 1_000, qos: 0 },
  { name: '1 to 1', clients: 1, window: 100, subscribers: 1, qos: 0 },
  { name: '1 000 to 1', clients: 1_000, window: 5, subscribers: 1, qos: 0 },
  { name: '1 to 200 that never read', clients: 1, window: 100, subscribers: 200, qos: 0, isDeaf: true },
];

/** Of Mosquitto's deliveries; and how long a publisher whose subscribers never read may wait for a PUBACK. */
const ratioMin = 0.7;
const deafP99MsMax = 250;

export async function measureFanOut(options: BenchOptions, dataDir: string): Promise<Section> {
  const fleet = await Fleet.start({ dataDir, devices: 100, sensorsEach: 2, profile: options.profile });
  const aedes = await ServerProcess.start(fileURLToPath(new URL('../baseline/mqtt.ts', import.meta.url)));
  const mosquitto = await startMosquitto(join(dataDir, 'mosquitto'));
  if (mosquitto === undefined) console.error('fanout: mosquitto is not on the PATH, so it is left out.');
  const servers = { fleet, aedes, mosquitto };
  try {
    const faults: string[] = [];
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    for (const scenario of scenarios) {
      const sides = sidesOf(servers, scenario, faults);
      const taken = await takeTurns(`fanout, ${scenario.name}`, sides, options);
      const rounds = taken.map(({ measured }) => summarise(measured));
      for (const [n, { name }] of sides.entries()) rows.push(rowOf(scenario, name, rounds[n] as Rounds));
      verdicts.push(...verdictsOf(scenario, rounds, sides));
    }
    const { server } = fleet;
    return {
      title: 'Fan-out over MQTT',
      how: `Publishers with QoS 1, 100 publishes outstanding (5 each of the 1 000, 20 to the 1 000); subscribers with QoS 0 where nothing else is said. The rate is that of deliveries, of publishes where nobody reads; latency from publish to PUBACK. ${mosquitto === undefined ? 'Mosquitto is not installed here.' : 'Mosquitto and aedes acknowledge what they keep nowhere.'} Dundun took ${shown(server.peakMib())} MiB at most.`,
      tables: [
        table(
          ['median of the rounds', 'side', 'per s', 'p50 ms', 'p99 ms', 'its core', 'per CPU s', 'generator'],
          rows,
        ),
      ],
      verdicts,
      faults,
    };
  } finally {
    await Promise.all([fleet.server.stop(), aedes.stop(), mosquitto?.server.stop()]);
  }
}

interface Servers {
  readonly fleet: Fleet;
  readonly aedes: ServerProcess;
  readonly mosquitto: Mosquitto | undefined;
}

function sidesOf({ fleet, aedes, mosquitto }: Servers, scenario: Scenario, faults: string[]): Side[] {
  const topics = [`${fleet.sensors[0]}/value`];
  const sideOf = (name: string, server: ServerProcess, login: FanOutOptions['login'], missing: string[]) => ({
    name,
    server,
    load: (seconds: number) => runFanOut({ ...scenario, port: server.mqttPort, topics, login }, seconds, missing),
  });
  const ours = sideOf('Dundun', fleet.server, Fleet.login, faults);
  const bare = sideOf('bare aedes', aedes, undefined, []);
  if (mosquitto === undefined) return [ours, bare];
  return [ours, sideOf(`Mosquitto ${mosquitto.version}`, mosquitto.server, undefined, []), bare];
}

function rowOf({ name }: Scenario, side: string, rounds: Rounds): string[] {
  const { perS, p50Ms, p99Ms, serverCpu, generatorCpu } = rounds;
  const perCpuS = median(rounds.rates.map((rate) => rate.perCpuS));
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  return [
    name,
    side,
    shown(perS),
    shown(p50Ms),
    shown(p99Ms),
    percent(serverCpu),
    shown(perCpuS),
    percent(generatorCpu),
  ];
}

function verdictsOf({ name, isDeaf }: Scenario, [ours, theirs]: readonly Rounds[], sides: readonly Side[]): Verdict[] {
  if (ours === undefined || theirs === undefined) return [];
  if (isDeaf === true) {
    const target = `fan-out, ${name}: PUBACK after ${shown(ours.p99Ms)} ms (p99), target at most ${shown(deafP99MsMax)} ms`;
    return [{ target, outcome: judge(ours.p99Ms <= deafP99MsMax, [ours]) }];
  }
  return [judgeRatio(`fan-out, ${name}, beside ${sides[1]?.name}`, [ours, theirs], ratioMin)];
}
