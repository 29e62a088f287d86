// Pushes of 30 000 datapoints, as gateways send them that were offline; beside InfluxDB 1.x where it is installed.
import { join } from 'node:path';
import type { BenchOptions } from '../arguments.ts';
import { Influx } from '../baseline/influx.ts';
import { type Side, takeTurns } from '../comparison.ts';
import { shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { Days, datapointsEach, dayPushes, LinesOfDay } from '../load/day-bodies.ts';
import { HttpLoad, type NextRequest } from '../load/http-load.ts';
import { type Rounds, summarise } from '../load/load.ts';
import { judge, judgeCounts, judgeRatio, roundsTable, type Section, type Verdict } from '../section.ts';

/** Three such pushes at once stay below the bound of the server's queue. */
const connections = 3;
const perSMin = 600_000;

export async function measureBulk(options: BenchOptions, dataDir: string, sensors: number): Promise<Section> {
  const { devices, sensorsEach } = Fleet.shapeOf(sensors);
  const fleet = await Fleet.start({ dataDir, devices, sensorsEach, profile: options.profile });
  const influx = await Influx.start(join(dataDir, 'influx'));
  try {
    const sides = [sideOf(fleet), ...(influx === undefined ? [] : [influxSideOf(influx, sensors)])];
    const taken = await takeTurns('bulk', sides, options);
    const rounds = taken.map(({ measured }) => summarise(measured));
    const memory = sides.map(({ name, server }) => [name, shown(server.rssMib()), shown(server.peakMib())]);
    const counts = judgeCounts(taken[0]?.all ?? [], await fleet.count());
    const theirs = influx === undefined ? noInflux : judgeCounts(taken[1]?.all ?? [], await influx.count());
    return {
      title: `Pushes of 30 000 datapoints over REST to ${shown(sensors)} sensors`,
      how: `${connections} connections, arrays of ${shown(datapointsEach)} datapoints of one sensor, a day each, over ${shown(devices)} devices with ${sensorsEach} sensors each; rates in datapoints. ${counts.line} InfluxDB, with batches of the same datapoints in line protocol: ${theirs.line}`,
      tables: [
        roundsTable(sides.map(({ name }, n) => ({ name, rounds: rounds[n] as Rounds }))),
        table(['memory', 'after the rounds, MiB', 'at most, MiB'], memory),
      ],
      verdicts: verdictsOf(rounds, sensors),
      faults: [...counts.faults, ...theirs.faults],
    };
  } finally {
    await Promise.all([fleet.server.stop(), influx?.server.stop()]);
  }
}

const noInflux: ReturnType<typeof judgeCounts> = { line: 'not installed here.', faults: [] };

function verdictsOf([ours, theirs]: readonly Rounds[], sensors: number): Verdict[] {
  if (ours === undefined) return [];
  const name = `bulk pushes to ${shown(sensors)} sensors`;
  const rate: Verdict = {
    target: `${name}: ${shown(ours.perS)} datapoints/s, target at least ${shown(perSMin)}`,
    outcome: judge(ours.perS >= perSMin, [ours]),
  };
  return theirs === undefined ? [rate] : [rate, judgeRatio(`${name}, beside InfluxDB`, [ours, theirs], 1)];
}

function sideOf(fleet: Fleet): Side {
  const days = new Days(fleet.sensors.length);
  const load = async (seconds: number) => {
    const next = dayPushes(fleet.sensors, { token: await fleet.token(), days });
    return new HttpLoad({ port: fleet.server.httpPort, connections, next, weight: datapointsEach }).run(seconds);
  };
  return { name: 'Dundun', server: fleet.server, load };
}

function influxSideOf({ server, version }: Influx, sensors: number): Side {
  const days = new Days(sensors);
  let lines = new LinesOfDay(0);
  const next: NextRequest = () => {
    const { day, sensor } = days.next();
    if (day !== lines.day) lines = new LinesOfDay(day);
    const body = lines.of(sensor);
    return [`POST ${Influx.writePath} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n`, body];
  };
  const load = (seconds: number) =>
    new HttpLoad({ port: server.httpPort, connections, next, weight: datapointsEach }).run(seconds);
  return { name: `InfluxDB ${version}`, server, load };
}
