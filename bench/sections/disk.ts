// What datapoints take on the disk once they are sealed, and what the device has to write for each of them while they
// come in as fleets send them: a few of each sensor, ten thousand a second.
import { join } from 'node:path';
import { countRows } from '../../src/domain/datapoints/datapoint-batch.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';
import type { BenchOptions } from '../arguments.ts';
import { bytesOnDisk, untilSealed, untilSettled } from '../data-folder.ts';
import { shown, table } from '../figures.ts';
import { Fleet, startDundun } from '../fleet.ts';
import { HttpLoad } from '../load/http-load.ts';
import { type LiveData, liveBatches, liveKinds, liveSensors } from '../load/live-data.ts';
import type { LoadResult } from '../load/load.ts';
import { MqttLoad } from '../load/mqtt-load.ts';
import { pushHead } from '../load/push-head.ts';
import { currentReadingText } from '../load/readings.ts';
import { judgeCounts, type Section, type Verdict } from '../section.ts';

/** Bytes a datapoint, in the order of `liveKinds`. */
const keptMax = [3, 3, 10] as const;
const writtenMax = 400;
const replayBacklogDatapointsMax = 4_000_000;
const perS = 10_000;
/** Share of that rate which must be reached for the figures to mean anything. */
const rateMin = 0.95;
const restConnections = 100;
const restDatapointsEach = 10;

/** A table row, what it means, and what is wrong. */
interface Measured {
  readonly row: readonly string[];
  readonly verdict: Verdict;
  readonly faults: readonly string[];
}

export async function measureDisk(options: BenchOptions, dataDir: string): Promise<Section> {
  const kept: Measured[] = [];
  for (const [n, data] of liveKinds().entries()) {
    kept.push(await measureKept(data, { options, dataDir: join(dataDir, `kept-${n}`), bytesMax: keptMax[n] ?? 0 }));
  }
  const written: Measured[] = [];
  for (const sensors of options.diskSensors) {
    for (const door of ['REST', 'MQTT'] as const)
      written.push(await measureWritten(door, { options, dataDir: join(dataDir, `${door}-${sensors}`), sensors }));
  }
  const all = [...kept, ...written];
  return {
    title: 'Bytes on the disk',
    how: `Kept: the whole data folder after everything has settled and the server has stopped, by the datapoints in it; ${liveSensors} sensors, received 20 to 400 ms after the time of measuring. Written: what the process has caused to be written to the device (\`/proc/PID/io\`) during ${options.diskSeconds} s at ${shown(perS)} datapoints a second and after them, until everything has settled; REST with arrays of ${restDatapointsEach}, MQTT with QoS 1.`,
    tables: [
      table(
        ['kept', 'datapoints', 'bytes each', 'folder before, KiB'],
        kept.map(({ row }) => row),
      ),
      table(
        ['written', 'datapoints', 'per s', 'p99 ms', 'bytes each'],
        written.map(({ row }) => row),
      ),
    ],
    verdicts: all.map(({ verdict }) => verdict),
    faults: all.flatMap(({ faults }) => faults),
  };
}

interface KeptOptions {
  readonly options: BenchOptions;
  readonly dataDir: string;
  readonly bytesMax: number;
}

async function measureKept(data: LiveData, { options, dataDir, bytesMax }: KeptOptions): Promise<Measured> {
  const devices = { dataDir, devices: liveSensors / 2, sensorsEach: 2, profile: undefined };
  const made = await Fleet.start(devices);
  await made.server.stop();
  const beforeBytes = bytesOnDisk(dataDir);
  const datapoints = await fill(dataDir, liveBatches(data, Math.min(options.datapoints, replayBacklogDatapointsMax)));
  const fleet = made.on(await startDundun(devices));
  await untilSettled(fleet.server, dataDir);
  const counts = judgeCounts([{ sent: datapoints, acknowledged: datapoints }], await fleet.count());
  await fleet.server.stop();
  const bytes = bytesOnDisk(dataDir) / datapoints;
  console.error(`disk: ${data.name}: ${shown(bytes)} bytes a datapoint`);
  return {
    row: [data.name, shown(datapoints), shown(bytes), shown(beforeBytes / 1024)],
    verdict: {
      target: `kept, ${data.name}: ${shown(bytes)} bytes a datapoint, target at most ${bytesMax}`,
      outcome: bytes <= bytesMax ? 'reached' : 'missed',
    },
    faults: counts.faults,
  };
}

/** Stores all of them; how many there were. */
async function fill(dataDir: string, batches: ReturnType<typeof liveBatches>): Promise<number> {
  const store = await openEmbeddedEngine(dataDir);
  let datapoints = 0;
  for (const batch of batches) {
    await store.commitLog.append(batch);
    datapoints += countRows(batch);
  }
  await store.close();
  return datapoints;
}

interface WrittenOptions {
  readonly options: BenchOptions;
  readonly dataDir: string;
  readonly sensors: number;
}

async function measureWritten(door: 'REST' | 'MQTT', { options, dataDir, sensors }: WrittenOptions): Promise<Measured> {
  const fleet = await Fleet.start({ dataDir, ...Fleet.shapeOf(sensors), profile: undefined });
  try {
    await untilSealed(fleet.server);
    const before = fleet.server.writtenBytes();
    const result = await (door === 'REST' ? sendArrays : publish)(fleet, options);
    await untilSettled(fleet.server, dataDir);
    const bytes = (fleet.server.writtenBytes() - before) / result.acknowledged;
    const counts = judgeCounts([result], await fleet.count());
    const [p99 = Number.NaN] = result.latencies.percentiles(99);
    const rate = result.acknowledgedInTime / result.elapsedS;
    const name = `${door}, ${shown(sensors)} sensors`;
    console.error(`disk: ${name}: ${shown(bytes)} bytes written a datapoint`);
    return {
      row: [name, shown(result.acknowledged), shown(rate), shown(p99), shown(bytes)],
      verdict: {
        target: `written, ${name}: ${shown(bytes)} bytes a datapoint, target at most ${writtenMax}`,
        // Fewer at once are dearer, more cheaper: it must be the rate that was asked for.
        outcome: rate < perS * rateMin ? 'doubtful' : bytes <= writtenMax ? 'reached' : 'missed',
      },
      faults: counts.faults,
    };
  } finally {
    await fleet.server.stop();
  }
}

async function sendArrays(fleet: Fleet, { diskSeconds }: BenchOptions): Promise<LoadResult> {
  const token = await fleet.token();
  let turn = 0;
  const next = () => {
    const body = `[${Array.from({ length: restDatapointsEach }, currentReadingText).join(',')}]`;
    const sensor = fleet.sensors[turn++ % fleet.sensors.length] as string;
    return pushHead(sensor, { token, length: body.length }) + body;
  };
  const port = fleet.server.httpPort;
  return new HttpLoad({ port, connections: restConnections, next, weight: restDatapointsEach, perS }).run(diskSeconds);
}

function publish(
  fleet: Fleet,
  { mqttClients: clients, mqttWindow: window, diskSeconds }: BenchOptions,
): Promise<LoadResult> {
  const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
  const { mqttPort: port } = fleet.server;
  const load = { port, clients, window, topics, login: Fleet.login, perS, reading: currentReadingText };
  return new MqttLoad(load).run(diskSeconds);
}
