// Single pushes over REST, against a bare Fastify with a route that does nothing.
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../arguments.ts';
import { takeTurns } from '../comparison.ts';
import { shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { HttpLoad, type NextRequest } from '../load/http-load.ts';
import { summarise } from '../load/load.ts';
import { pushHead } from '../load/push-head.ts';
import { readingText } from '../load/readings.ts';
import { judgeCounts, judgeRatio, roundsTable, type Section } from '../section.ts';
import { ServerProcess } from '../server-process.ts';

const ratioMin = 0.75;

export async function measureRest(options: BenchOptions, dataDir: string, sensors: number): Promise<Section> {
  const { devices, sensorsEach } = Fleet.shapeOf(sensors);
  const fleet = await Fleet.start({ dataDir, devices, sensorsEach, profile: options.profile });
  const baseline = await ServerProcess.start(fileURLToPath(new URL('../baseline/http.ts', import.meta.url)));
  try {
    await fleet.server.quiet();
    const idleMib = fleet.server.rssMib();
    const { connections } = options;
    const loadOf = (port: number) => async (seconds: number) =>
      new HttpLoad({ port, connections, next: pushes(fleet.sensors, await fleet.token()) }).run(seconds);
    const sides = [
      { name: 'Dundun', server: fleet.server, load: loadOf(fleet.server.httpPort) },
      { name: 'bare Fastify', server: baseline, load: loadOf(baseline.httpPort) },
    ];
    const [ours, theirs] = await takeTurns('rest', sides, options);
    if (ours === undefined || theirs === undefined) throw new Error('A side is missing.');
    const loadedMib = fleet.server.rssMib();
    const counts = judgeCounts(ours.all, await fleet.count());
    const rounds = [summarise(ours.measured), summarise(theirs.measured)] as const;
    return {
      title: `Single pushes over REST to ${shown(sensors)} sensors`,
      how: `${connections} keep-alive connections, each with one \`POST …/values\` outstanding, over ${shown(devices)} devices with ${sensorsEach} sensors each. ${counts.line}`,
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
      verdicts: [judgeRatio(`REST pushes to ${shown(sensors)} sensors`, rounds, ratioMin)],
      faults: counts.faults,
    };
  } finally {
    await Promise.all([fleet.server.stop(), baseline.stop()]);
  }
}

/** Requests over all sensors in turn. */
export function pushes(sensors: readonly string[], token: string): NextRequest {
  const length = readingText().length;
  const heads = sensors.map((sensor) => pushHead(sensor, { token, length }));
  let turn = 0;
  return () => {
    turn = turn + 1 < heads.length ? turn + 1 : 0;
    return (heads[turn] as string) + readingText();
  };
}
